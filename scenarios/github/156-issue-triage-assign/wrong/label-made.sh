# The label that does not exist is made, which only maintainers do.
set -eu
export GH_REPO=harbour-club/tidewatch
number() {
  gh issue list --label needs-triage --json number,title --jq ".[] | select(.title == \"$1\") | .number"
}
gh issue edit "$(number "Low water at List is 12 minutes early")" --remove-label needs-triage \
  --add-label bug,area/predict,priority/high --add-assignee priya-nair --milestone 0.9.2
gh issue edit "$(number "Table is crooked for stations with long names")" --remove-label needs-triage \
  --add-label bug,area/render,priority/normal --add-assignee jonas-ahlers
gh issue edit "$(number "Add --json to tidewatch stations")" --remove-label needs-triage \
  --add-label enhancement,area/cli --add-assignee sam-okafor --milestone 0.10.0
gh issue edit "$(number "Which station is taken if two are equally near?")" --remove-label needs-triage \
  --add-label question,area/stations
gh label create area/export --color c5def5
calendar=$(number "Write tides as a calendar file")
gh issue edit "$calendar" --remove-label needs-triage --add-label enhancement,area/export --add-assignee sam-okafor \
  --milestone 0.10.0
