# Two faults share a thread that covers the whole function.
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "Some things do not follow the policy yet.",
  "comments": [
    {"path": "src/loanbook/renewals.py", "start_line": 17, "start_side": "RIGHT", "line": 31, "side": "RIGHT",
     "body": "This function does not follow rule 2."},
    {"path": "src/loanbook/reminders.py", "line": 15, "side": "RIGHT",
     "body": "All calls share this dict, so tomorrow's letters contain today's lines again."}
  ]
}
JSON
