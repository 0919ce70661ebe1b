set -eu
export GH_REPO=halligen-ferries/ferrydesk
issue=$(gh issue list --label nightly --json number --jq '.[0].number')
run=$(gh issue view "$issue" --json body --jq '.body | capture("runs/(?<id>[0-9]+)").id')
job=$(gh run view "$run" --json jobs --jq '[.jobs[] | select(.conclusion == "failure")][0]')
field() { printf '%s' "$job" | python3 -c "import json, sys; job = json.load(sys.stdin); print($1)"; }
step=$(field 'next(step["name"] for step in job["steps"] if step["conclusion"] == "failure")')
error=$(gh run view "$run" --log-failed --job "$(field 'job["databaseId"]')" | awk -F '\t' -v step="$step" '$2 == step { print $3 }' |
  cut -d ' ' -f 2- | grep -m 1 'error:')
gh issue comment "$issue" --body "Job: $(field 'job["name"]')
Step: $step
Error: $error

The timetable was not written because of that, so there were no pages, and no link led anywhere."
