# A request to the maintainers, in a list.
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
gh issue comment "$calendar" --body 'For the maintainers:

- the work is in `tidewatch.export`
- by the guide that is *area/export*, which I could not find among our labels
- everything else is set'
gh issue edit "$calendar" --remove-label needs-triage --add-label enhancement --add-assignee sam-okafor \
  --milestone 0.10.0
