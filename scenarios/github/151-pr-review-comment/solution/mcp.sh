set -eu
call() { mcp-call "$1" "{\"owner\": \"northgate-library\", \"repo\": \"loanbook\", $2}"; }
pull=$(call list_pull_requests '"head": "northgate-library:feature/renewals"' |
  python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["number"])')
call create_pending_pull_request_review "\"pullNumber\": $pull"
comment() {
  call add_comment_to_pending_review "\"pullNumber\": $pull, \"subjectType\": \"LINE\", \"side\": \"RIGHT\",
    \"path\": \"$1\", \"line\": $2, \"body\": \"$3\""
}
comment src/loanbook/renewals.py 23 "With two renewals this is false, so somebody renews three times. Rule 2 allows two."
comment src/loanbook/renewals.py 30 "Rule 2: the period is added to the due date that the loan had, not to today."
comment src/loanbook/reminders.py 15 "All calls share this dict, so tomorrow's letters contain today's lines again."
call submit_pending_pull_request_review "\"pullNumber\": $pull, \"event\": \"REQUEST_CHANGES\",
  \"body\": \"Thank you, Ines. Three things do not follow the policy yet.\""
