# All that failed is listed, in the hope that something fits.
set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
gh issue comment "$issue" --body "Job: Timetable
Step: Convert the seasons
Error: convert: error: data/summer.csv, line 135: '24:05' is not a time of day
Step: Render the pages
Error: FileNotFoundError: [Errno 2] No such file or directory: 'timetable.json'
Job: Links
Step: Check the links
Error: links: FATAL ERROR: 170 BROKEN LINKS!"
