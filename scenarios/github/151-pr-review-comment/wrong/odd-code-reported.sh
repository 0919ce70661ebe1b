# The odd condition of the reminders is right, and the shared default is not found.
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "Some dates are wrong.",
  "comments": [
    {"path": "src/loanbook/renewals.py", "line": 23, "side": "RIGHT", "body": "This allows three renewals."},
    {"path": "src/loanbook/renewals.py", "line": 30, "side": "RIGHT", "body": "This has to start at `loan.due`."},
    {"path": "src/loanbook/reminders.py", "line": 27, "side": "RIGHT",
     "body": "This reminds every third day. Rule 4 says three days before and on the day itself."}
  ]
}
JSON
