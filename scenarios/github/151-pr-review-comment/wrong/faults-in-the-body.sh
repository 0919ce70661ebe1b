# All faults are named, but none has a thread.
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh pr review "$pull" -R "$repo" --request-changes --body "Three faults:
- renewals.py, line 23: three renewals are possible
- renewals.py, line 30: the period has to be added to the old due date
- reminders.py, line 15: the default is shared by all calls"
