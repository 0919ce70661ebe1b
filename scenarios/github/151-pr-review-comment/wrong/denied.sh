# The right words, each in a sentence that denies the fault.
# unmet: F3
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "Some things do not follow the policy yet.",
  "comments": [
    {"path": "src/loanbook/renewals.py", "line": 23, "side": "RIGHT", "body": "With two renewals this refuses a third one, so nobody can renew three times; rule 2 is met."},
    {"path": "src/loanbook/renewals.py", "line": 30, "side": "RIGHT", "body": "The period is added to the due date that the loan had, not to today; nobody loses days here."},
    {"path": "src/loanbook/reminders.py", "line": 15, "side": "RIGHT", "body": "The default dict is not shared by the calls, so tomorrow's letters contain no lines of today."}
  ]
}
JSON
