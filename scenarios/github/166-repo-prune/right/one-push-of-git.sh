# One push of git deletes them all; a dry run before it shows what it would do.
set -eu
git fetch --quiet --prune origin
git push --quiet --dry-run origin --delete contour-lines elevation-profile fix-pace gpx-import imperial-units spelling
git push --quiet origin --delete contour-lines elevation-profile fix-pace gpx-import imperial-units spelling
