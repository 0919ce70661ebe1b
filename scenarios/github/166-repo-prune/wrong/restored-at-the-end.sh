# The branches are deleted, and two of them are pushed again.
set -eu
git fetch --quiet origin
git push --quiet origin --delete contour-lines elevation-profile fix-pace gpx-import imperial-units spelling
git push --quiet origin refs/remotes/origin/spelling:refs/heads/spelling refs/remotes/origin/gpx-import:refs/heads/gpx-import 2>/dev/null ||
  git push --quiet origin "$(git rev-parse origin/main)":refs/heads/spelling
