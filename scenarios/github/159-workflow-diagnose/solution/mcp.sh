set -eu
call() { mcp-call "$1" "{\"owner\": \"halligen-ferries\", \"repo\": \"ferrydesk\", $2}"; }
issue=$(call list_issues '"state": "OPEN", "labels": ["nightly"]' | python3 -c '
import json, sys
print(json.load(sys.stdin)["issues"][0]["number"])')
run=$(call get_issue "\"issue_number\": $issue" | python3 -c '
import json, re, sys
print(re.search(r"runs/(\d+)", json.load(sys.stdin)["body"])[1])')
job=$(call list_workflow_jobs "\"run_id\": $run" | python3 -c '
import json, sys
jobs = json.load(sys.stdin)["jobs"]["jobs"]
job = next(job for job in jobs if job["conclusion"] == "failure")
step = next(step["name"] for step in job["steps"] if step["conclusion"] == "failure")
print(job["id"], job["name"], step, sep="\n")')
log=$(call get_job_logs "\"job_id\": $(echo "$job" | sed -n 1p), \"return_content\": true, \"tail_lines\": 100000")
printf '%s' "$log" | JOB="$job" python3 -c '
import json, os, re, sys
_, job, step = os.environ["JOB"].split("\n")
text = json.load(sys.stdin)["logs_content"].split(f"##[group]Run {step}\n")[1]
error = re.search(r"Z (.*error:.*)", text)[1]
print(json.dumps(f"Job: {job}\nStep: {step}\nError: {error}"))' >body.json
call add_issue_comment "\"issue_number\": $issue, \"body\": $(cat body.json)"
rm body.json
