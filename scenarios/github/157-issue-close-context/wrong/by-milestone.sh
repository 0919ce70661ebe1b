# The pull request has the milestone 0.9.0, but was merged after its tag.
set -eu
export GH_REPO=white-trail-club/trailbook
issue=$(gh issue list --search "charmap writerows" --json number --jq ".[0].number")
number=$(gh pr list --state merged --search "CSV in UTF-8 in:title" --json number --jq ".[0].number")
release=$(gh pr view "$number" --json milestone --jq .milestone.title)
gh issue close "$issue" --comment "Fixed by #$number, first released in $release."
