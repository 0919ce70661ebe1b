# Lines beside the faults, ranges of a few lines, and short sentences.
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "See threads.",
  "comments": [
    {"path": "src/loanbook/renewals.py", "line": 24, "side": "RIGHT", "body": "With `>` a third renewal goes through; the policy allows two, so this has to be `>=`."},
    {"path": "src/loanbook/renewals.py", "start_line": 29, "start_side": "RIGHT", "line": 30, "side": "RIGHT", "body": "The period has to be added to the due date, not to today: who renews early loses days."},
    {"path": "src/loanbook/reminders.py", "start_line": 11, "start_side": "RIGHT", "line": 16, "side": "RIGHT", "body": "The default dict is shared by all calls: the next call sends old lines again."}
  ]
}
JSON
