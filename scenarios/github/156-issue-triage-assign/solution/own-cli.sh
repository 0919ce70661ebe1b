set -eu
octo list issues labels=needs-triage --show number,title >issues
octo list milestones --show number,title >milestones
number() { grep -F "$1" issues | cut -f 1; }
triage() {
  issue=$(number "$1")
  octo create "issues/$issue/labels" labels:="$2" --show name
  octo create "issues/$issue/assignees" assignees:="$3" --show number
  if [ -n "${4:-}" ]; then octo edit "issues/$issue" milestone:="$(grep -F "$4" milestones | cut -f 1)" --show number; fi
  octo delete "issues/$issue/labels/needs-triage" --show name
}
triage "Low water at List is 12 minutes early" '["bug", "area/predict", "priority/high"]' '["priya-nair"]' 0.9.2
triage "Table is crooked for stations with long names" '["bug", "area/render", "priority/normal"]' '["jonas-ahlers"]'
triage "Add --json to tidewatch stations" '["enhancement", "area/cli"]' '["sam-okafor"]' 0.10.0
triage "Which station is taken if two are equally near?" '["question", "area/stations"]' '[]'
octo create "issues/$(number "Write tides as a calendar file")/comments" --show html_url \
  body='The label `area/export` does not exist, so I left it out. Helene, please make it.'
triage "Write tides as a calendar file" '["enhancement"]' '["sam-okafor"]' 0.10.0
rm issues milestones
