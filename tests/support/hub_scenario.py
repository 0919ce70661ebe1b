"""A small scenario with GitHub state: fix a bug on a branch, open a pull request, and label the issue."""

from pathlib import Path

from scylla_gha.prepare.start_state import commit_of
from tests.support.library import write

ID = "001-fix"
GITHUB = """\
begin: 2026-01-05T09:00:00Z
users:
  org: {login: octo-org, kind: Organization}
  author: {login: octocat, name: Octo Cat}
  reader: {login: monalisa, permission: read}
repository: {owner: org, name: demo}
labels: [{name: bug}, {name: docs}]
history:
  - issue: {key: other, title: Another, author: reader}
  - issue: {key: crash, title: add subtracts, author: reader, body: "add(1, 1) is 0"}
  - commit: {branch: main, author: author, message: Add a guide, files: {docs/guide.md: "Guide\\n"}}
"""
SCENARIO = """\
id: 001-fix
title: Fix a bug
category: bug_fixing
size: small
difficulty: easy
source: {fixture: demo, hash: COMMIT}
github:
  identity: author
  may_change:
    - {target: issue.crash, fields: [labels, comments]}
    - {created: pull_requests}
    - {refs: [refs/heads/fix]}
task: {prompt_file: prompt.md, timeout_seconds: 120}
validation: {rubric_file: rubric.yaml, timeout_seconds: 20}
tools: {system: [git]}
tiers: [T0]
checkpoints:
  - id: labelled
    what: The issue has the label alone
    github: {query: issue, target: issue.crash, select: labels, set_equals: [bug]}
  - id: proposed
    what: One pull request from the branch names the issue
    github:
      query: pull_requests
      select: "[?head=='fix' && base=='main' && author=='octocat'].body | join('', @)"
      contains: "#{{ issue.crash.number }}"
  - id: fixed
    what: The program adds
    run: python3 app.py && git log --format=%an -1
    checkout: {ref: fix}
    stdout: "2\\nOcto Cat\\n"
  - id: clean
    what: The branch changes the program alone
    git: {ref: fix, touches_only: [app.py], contains_commit: "start:main", not_forced: true}
progress: [{step: It is labelled, checkpoint: labelled}]
"""
SOLUTION = """\
gh issue edit 2 --add-label bug
git switch --quiet --create fix
echo 'print(1 + 1)' >app.py
git commit --quiet --all --message 'Add instead of subtracting'
git push --quiet --set-upstream origin fix
gh pr create --title Fix --body 'Closes #2' --base main
"""
BY_MCP = """\
if command -v gh; then exit 1; fi
call() { mcp-call "$1" '{"owner": "octo-org", "repo": "demo", '"$2}"; }
if call get_issue '"issue_number": 99'; then exit 1; fi
call update_issue '"issue_number": 2, "labels": ["bug"]'
git switch --quiet --create fix
echo 'print(1 + 1)' >app.py
git commit --quiet --all --message 'Add instead of subtracting'
git push --quiet origin fix
call create_pull_request '"title": "Fix", "body": "Closes #2", "head": "fix", "base": "main"'
"""
FILES = {
    "prompt.md": "Fix #{{ issue.crash.number }} of {{ repo.main.full_name }}.\n",
    "rubric.yaml": "categories: [{id: all, weight: 1.0, items: [{id: F1, text: It is so, type: binary, "
    "checks: [labelled, proposed, fixed, clean]}]}]\n",
    "solution/solution.sh": SOLUTION,
    "solution/mcp.sh": BY_MCP,
    "wrong/careless.sh": f"{SOLUTION}gh issue close 1\n",
    "wrong/no-pull-request.sh": SOLUTION.replace("gh pr create", "true"),
}


def write_hub_scenario(root: Path) -> Path:
    """The scenario and its fixture `demo` in a repository; returns the scenario's folder."""
    fixture = root / "fixtures" / "demo"
    write(fixture / "github.yaml", GITHUB)
    write(fixture / "app.py", "print(1 - 1)\n")
    folder = root / "scenarios" / "core" / ID
    write(folder / "scenario.yaml", SCENARIO.replace("COMMIT", commit_of(fixture)))
    for name, content in FILES.items():
        write(folder / name, content)
    return folder
