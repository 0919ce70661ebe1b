set -eu
repo=repos/harbour-club/tidewatch
milestone() { gh api "$repo/milestones" --jq ".[] | select(.title == \"$1\") | .number"; }
triage() {
  number=$(gh api "$repo/issues?labels=needs-triage&per_page=100" --jq ".[] | select(.title | startswith(\"$1\")) | .number")
  gh api --silent -X PATCH "$repo/issues/$number" --input -
}
echo "{\"labels\": [\"bug\", \"area/predict\", \"priority/high\"], \"assignees\": [\"priya-nair\"], \"milestone\": $(milestone 0.9.2)}" |
  triage "Low water"
echo '{"labels": ["bug", "area/render", "priority/normal"], "assignees": ["jonas-ahlers"]}' | triage "Table is"
echo "{\"labels\": [\"enhancement\", \"area/cli\"], \"assignees\": [\"sam-okafor\"], \"milestone\": $(milestone 0.10.0)}" |
  triage "Add --json"
echo '{"labels": ["question", "area/stations"]}' | triage "Which station"
echo "{\"labels\": [\"enhancement\"], \"assignees\": [\"sam-okafor\"], \"milestone\": $(milestone 0.10.0)}" |
  triage "Write tides"
calendar=$(gh api "$repo/issues?state=open&per_page=100" --jq '.[] | select(.title | startswith("Write tides")) | .number')
gh api --silent "$repo/issues/$calendar/comments" -f body="There is no label area/export; the other rules are applied."
