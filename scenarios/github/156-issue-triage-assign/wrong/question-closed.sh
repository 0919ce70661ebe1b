# The question is answered, assigned and closed.
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
calendar=$(number "Write tides as a calendar file")
gh issue comment "$calendar" --body 'The label `area/export` does not exist, so I left it out. Helene, please make it.'
gh issue edit "$calendar" --remove-label needs-triage --add-label enhancement --add-assignee sam-okafor \
  --milestone 0.10.0
question=$(gh issue list --label question --json number --jq ".[0].number")
gh issue edit "$question" --add-assignee priya-nair
gh issue close "$question" --comment "It is the first one by name."
