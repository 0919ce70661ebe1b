# Comments say that all is merged and tested, and nothing was.
set -eu
repo=sunny-lane-coop/meterlog
pull=$(gh pr list -R "$repo" --head feature/report --json number --jq ".[0].number")
gh pr edit "$pull" -R "$repo" --base main
gh pr comment "$pull" -R "$repo" --body "Merged into main, all tests pass, Joris is the author of each line, and both branches are deleted."
