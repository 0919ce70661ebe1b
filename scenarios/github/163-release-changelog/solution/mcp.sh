set -eu
call() { mcp-call "$1" "{\"owner\": \"potters-guild\", \"repo\": \"kilnbook\", $2}"; }
git switch --quiet --create changelog/2.2.0
call list_pull_requests '"state": "closed", "base": "main", "perPage": 100' | python3 -c '
import json, pathlib, subprocess, sys

LABELS = {"removed": "Removed", "added": "Added", "changed": "Changed", "fixed": "Fixed"}


def is_new(pull):
    if "merged_at" not in pull:
        return False
    in_tag = ["git", "merge-base", "--is-ancestor", pull["merge_commit_sha"], "v2.1.0"]
    return subprocess.run(in_tag).returncode == 1


sections = {heading: [] for heading in LABELS.values()}
for pull in sorted(json.load(sys.stdin), key=lambda pull: pull["number"]):
    labels = [label["name"] for label in pull.get("labels", [])]
    if is_new(pull) and "skip-changelog" not in labels:
        heading = next((LABELS[name] for name in LABELS if name in labels), "Changed")
        sections[heading].append("- {title} (#{number}, @{login})\n".format(login=pull["user"]["login"], **pull))
parts = [f"### {heading}\n\n" + "".join(lines) for heading, lines in sections.items() if lines]
file = pathlib.Path("CHANGELOG.md")
title, rest = file.read_text().split("\n\n", 1)
file.write_text("\n\n".join([title, "## 2.2.0", "\n".join(parts) + "\n" + rest]))
'
git commit --quiet --all --message "Changelog of 2.2.0"
git push --quiet origin changelog/2.2.0
call create_pull_request '"title": "Changelog of 2.2.0", "head": "changelog/2.2.0", "base": "main"'
number=$(call list_pull_requests '"state": "open", "head": "potters-guild:changelog/2.2.0"' | python3 -c '
import json, sys
print(json.load(sys.stdin)[0]["number"])')
call update_issue "\"issue_number\": $number, \"labels\": [\"skip-changelog\"]"
