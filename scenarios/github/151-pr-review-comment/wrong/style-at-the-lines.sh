# The threads are at the right lines, and are about style.
# unmet: F3, P4
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "x",
  "comments": [
    {"path": "src/loanbook/renewals.py", "line": 23, "side": "RIGHT", "body": "Please rename this variable, I dislike its style."},
    {"path": "src/loanbook/renewals.py", "line": 30, "side": "RIGHT", "body": "Please rename this variable, I dislike its style."},
    {"path": "src/loanbook/reminders.py", "line": 15, "side": "RIGHT", "body": "Please rename this variable, I dislike its style."}
  ]
}
JSON
