# Questions and suggested changes, friendly, in another order.
set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json number --jq ".[0].number")
gh api "repos/$repo/pulls/$pull/reviews" --silent --input - <<"JSON"
{
  "event": "REQUEST_CHANGES",
  "body": "Nearly there :slightly_smiling_face:",
  "comments": [
    {"path": "src/loanbook/reminders.py", "line": 15, "side": "RIGHT", "body": "Ines, what happens if the nightly job calls this twice without its own `letters`? I tried it: the second day had Monday's mail in it once more. Python makes that `{}` only once."},
    {"path": "src/loanbook/renewals.py", "line": 30, "side": "RIGHT", "body": "Ada came on 10 March with a book that is due on the 24th. She should get 14 April, and gets 31 March.\n\n```suggestion\n    due = calendar.next_open(loan.due + period)\n```"},
    {"path": "src/loanbook/renewals.py", "line": 23, "side": "RIGHT", "body": "Shouldn't somebody who has renewed twice be sent away? I could do it once more.\n\n```suggestion\n    if loan.renewals >= MOST_RENEWALS:\n```"}
  ]
}
JSON
