set -eu
original=$(octo list issues --if title="A pause is counted as a straight line" --show number,id)
duplicate=$(octo list issues --if title="Ascent is much too high" --if user.login=kees-v --show number)
octo create "issues/$duplicate/comments" --show html_url \
  body="Thank you, Kees. The cable car is the line between two segments, which #$(echo "$original" | cut -f 1) is about."
octo edit "issues/$duplicate" state=closed state_reason=duplicate duplicate_issue_id:="$(echo "$original" | cut -f 2)" \
  --show state
