set -eu
call() { mcp-call "$1" "{\"owner\": \"harbour-club\", \"repo\": \"tidewatch\", $2}"; }
issues=$(call list_issues '"labels": ["needs-triage"], "state": "OPEN"')
number() {
  printf '%s' "$issues" | python3 -c '
import json, sys
print(next(issue["number"] for issue in json.load(sys.stdin)["issues"] if issue["title"] == sys.argv[1]))' "$1"
}
# The tool takes a milestone's number; issues that have it say which.
milestone() {
  call search_issues "\"query\": \"repo:harbour-club/tidewatch milestone:$1\"" | python3 -c '
import json, sys
print(json.load(sys.stdin)["items"][0]["milestone"]["number"])'
}
triage() { call update_issue "\"issue_number\": $(number "$1"), $2"; }
triage "Low water at List is 12 minutes early" "\"labels\": [\"bug\", \"area/predict\", \"priority/high\"],
  \"assignees\": [\"priya-nair\"], \"milestone\": $(milestone 0.9.2)"
triage "Table is crooked for stations with long names" '"labels": ["bug", "area/render", "priority/normal"],
  "assignees": ["jonas-ahlers"]'
triage "Add --json to tidewatch stations" "\"labels\": [\"enhancement\", \"area/cli\"],
  \"assignees\": [\"sam-okafor\"], \"milestone\": $(milestone 0.10.0)"
triage "Which station is taken if two are equally near?" '"labels": ["question", "area/stations"]'
calendar="Write tides as a calendar file"
call add_issue_comment "\"issue_number\": $(number "$calendar"),
  \"body\": \"The label \`area/export\` does not exist, so I left it out. Helene, please make it.\""
triage "$calendar" "\"labels\": [\"enhancement\"], \"assignees\": [\"sam-okafor\"], \"milestone\": $(milestone 0.10.0)"
