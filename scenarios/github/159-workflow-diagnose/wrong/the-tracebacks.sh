# The job is right, the step is the one with the tracebacks.
set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
gh issue comment "$issue" --body "Job: Timetable
Step: Render the pages
Error: FileNotFoundError: [Errno 2] No such file or directory: 'timetable.json'"
