# Three ranges cover both files.
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "x",
  "comments": [
    {"path": "src/loanbook/renewals.py", "start_line": 1, "start_side": "RIGHT", "line": 24, "side": "RIGHT", "body": "Something in here may be wrong, please check."},
    {"path": "src/loanbook/renewals.py", "start_line": 25, "start_side": "RIGHT", "line": 31, "side": "RIGHT", "body": "Something in here may be wrong, please check."},
    {"path": "src/loanbook/reminders.py", "start_line": 1, "start_side": "RIGHT", "line": 24, "side": "RIGHT", "body": "Something in here may be wrong, please check."}
  ]
}
JSON
