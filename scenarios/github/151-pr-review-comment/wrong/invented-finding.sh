# The three faults are reported, and a fourth one that is none.
# unmet: P4
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "Some things do not follow the policy yet.",
  "comments": [
    {"path": "src/loanbook/renewals.py", "line": 23, "side": "RIGHT", "body": "This lets somebody renew three times: with two renewals `2 > 2` is false. Rule 2 allows two."},
    {"path": "src/loanbook/renewals.py", "line": 30, "side": "RIGHT", "body": "Rule 2: the period is added to the due date that the loan had. Who renews early loses days here."},
    {"path": "src/loanbook/reminders.py", "line": 15, "side": "RIGHT", "body": "All calls share this dict, so tomorrow's letters contain today's lines again."},
    {"path": "src/loanbook/renewals.py", "line": 25, "side": "RIGHT", "body": "A loan that is due today is refused here, though it is not overdue yet. This has to be `<=`."}
  ]
}
JSON
