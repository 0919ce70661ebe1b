# A greeting, the lines in bold, and what followed from the error, in short.
set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
gh issue comment "$issue" --body "Found it, Silke. One departure of the summer is at 24:05, and no clock shows that.

**Job:** Timetable
**Step:** Convert the seasons
**Error:** data/summer.csv, line 135: '24:05' is not a time of day

So no timetable.json came out, the pages could not be rendered, and all links to them are dead: those are symptoms."
