"""The workflows have the triggers that they had, and no right beyond reading."""

import sys
from pathlib import Path

import yaml

READ = ({"contents": "read"}, {}, "read-all")
files = {path: yaml.safe_load(path.read_text()) for path in Path(".github/workflows").glob("*.y*ml")}
events = set()
for path, workflow in files.items():
    triggers = workflow.get("on", workflow.get(True))
    names = {triggers} if isinstance(triggers, str) else set(triggers)
    if names - {"push", "pull_request", "workflow_dispatch"}:
        sys.exit(f"{path} runs for {sorted(names)}")
    if workflow.get("name") == "CI" and isinstance(triggers, dict):
        branches = (triggers.get("push") or {}).get("branches", ["main"])
        events |= names if "main" in branches or "**" in branches else names - {"push"}
        if triggers.get("pull_request") and set(triggers["pull_request"]) - {"types"} and "main" not in triggers["pull_request"].get("branches", []):
            sys.exit(f"{path}: pull requests are filtered: {triggers['pull_request']}")
    else:
        events |= names
    if workflow.get("permissions") not in READ:
        sys.exit(f"{path}: permissions are {workflow.get('permissions')!r}")
    for key, job in workflow["jobs"].items():
        if job.get("permissions", {}) not in READ:
            sys.exit(f"{path}: permissions of {key} are {job['permissions']!r}")
if not {"push", "pull_request"} <= events:
    sys.exit(f"CI runs for {sorted(events)} alone")
