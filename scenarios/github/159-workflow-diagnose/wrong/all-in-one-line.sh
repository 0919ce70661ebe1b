# All that failed is listed in each line.
set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
gh issue comment "$issue" --body "Job: Timetable, Links
Step: Convert the seasons, Render the pages, Check the links
Error: data/summer.csv, line 135: '24:05' is not a time of day; timetable.json is not written; 170 broken links"
