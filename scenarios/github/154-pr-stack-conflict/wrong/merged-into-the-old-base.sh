# The pull request is merged as it is, into the branch that nobody uses any more.
set -eu
repo=sunny-lane-coop/meterlog
pull=$(gh pr list -R "$repo" --head feature/report --json number --jq ".[0].number")
gh pr merge "$pull" -R "$repo" --squash
git push -q origin --delete feature/report feature/files
