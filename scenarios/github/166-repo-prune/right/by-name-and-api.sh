set -eu
for branch in contour-lines elevation-profile fix-pace gpx-import imperial-units spelling; do
  gh api --silent -X DELETE "repos/fellside-walkers/walklog/git/refs/heads/$branch"
done
