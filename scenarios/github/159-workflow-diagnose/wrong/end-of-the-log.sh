# The job whose log is the last and the loudest is named.
set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
gh issue comment "$issue" --body "Job: Links
Step: Check the links
Error: links: FATAL ERROR: 170 BROKEN LINKS! THE SCREENS WOULD BE EMPTY!"
