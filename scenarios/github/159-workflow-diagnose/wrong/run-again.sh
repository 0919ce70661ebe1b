# The answer is right, but the workflow is run again.
set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
gh issue comment "$issue" --body "Job: Timetable
Step: Convert the seasons
Error: convert: error: data/summer.csv, line 135: '24:05' is not a time of day"
run=$(gh run list --limit 1 --json databaseId --jq ".[0].databaseId")
gh run rerun "$run" --failed
