"""A repository with one skill and its evals, and a scripted provider: an agent that knows sums only with the skill."""

import json
from pathlib import Path
from typing import Any

from tests.support.git import shell
from tests.support.panel import asked_for, raw, reply
from tests.support.provider import Body, Say

FRONT = "name: tally\ndescription: Sums the columns of a ledger. Use it when the user asks for totals."
ANSWER = "The sums are 3 and 42."
EVALS = [
    {
        "id": number,
        "prompt": "Sum both columns of data/pots.csv",
        "files": ["evals/files/pots.csv"],
        "expected_output": "3 and 42",
        "expectations": [
            "The reply names both sums",
            {"type": "output_contains", "pattern": "42", "text": "The reply has 42"},
            "The reply is in English",
        ],
    }
    for number in (1, 2)
]


def author(root: Path) -> Path:
    """Write a repository with the skill `tally`; return the folder of the skill."""
    skill = root / "skills" / "tally"
    (skill / "evals" / "files").mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\n{FRONT}\n---\nAdd the numbers of each column.\n")
    (skill / "evals" / "evals.json").write_text(json.dumps({"skill_name": "tally", "evals": EVALS}))
    (skill / "evals" / "files" / "pots.csv").write_text("a,b\n1,2\n2,40\n")
    shell(root, "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm tally")
    return skill


def write_evals(skill: Path, *evals: dict[str, Any]) -> None:
    """Replace the evals of a skill."""
    (skill / "evals" / "evals.json").write_text(json.dumps(evals))


def adder(body: Body) -> Say:
    """Answer as agent or as judge: only agents bring tools."""
    if body.get("tools"):
        is_listed = "Sums the columns of a ledger" in json.dumps(body)
        return Say(ANSWER if is_listed else "I cannot tell.")
    holds = {
        name: ANSWER in json.dumps(body) or number == len(asked_for(body)) - 1
        for number, name in enumerate(asked_for(body))
    }
    return Say(reply(*(raw(name, score=float(holds[name])) for name in asked_for(body))))
