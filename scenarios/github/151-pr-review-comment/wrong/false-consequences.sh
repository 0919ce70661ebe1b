# What the threads say happens does not happen.
# unmet: F3
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "Some things do not follow the policy yet.",
  "comments": [
    {"path": "src/loanbook/renewals.py", "line": 23, "side": "RIGHT", "body": "This refuses the second renewal already, though rule 2 allows two. It has to be `>= 3`."},
    {"path": "src/loanbook/renewals.py", "line": 30, "side": "RIGHT", "body": "The period is added twice here, so a book is lent for 42 days after a renewal."},
    {"path": "src/loanbook/reminders.py", "line": 15, "side": "RIGHT", "body": "This default is None for the second call, which then raises a TypeError."}
  ]
}
JSON
