# Job and step are right, and the error is the last one of the step.
set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
gh issue comment "$issue" --body "Job: Timetable
Step: Convert the seasons
Error: convert: error: timetable.json is not written: 2 errors"
