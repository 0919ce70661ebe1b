"""Rubric items, evidence and judges' replies for tests of the panel."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scylla_gha.config.materials import read_prompt_texts
from scylla_gha.judge.prompt import BlindInput, JudgeEvidence
from scylla_gha.model.judgment import CheckResult, JudgeAnswer, JudgeScore
from scylla_gha.model.scenario import Item
from tests.support.provider import Body

WORDING = read_prompt_texts([Path(__file__).parents[2]])
TASK = "Create hello.py that prints Hello, World!"


def make_item(name: str = "Q1", kind: Any = "subjective", text: str = "Idiomatic code", points: float = 1.0) -> Item:
    return Item(id=name, text=text, type=kind, points=points)


def make_blind(
    items: Sequence[Item] = (make_item(),),
    diff: bytes = b"",
    message: str | None = "Done.",
    tree: Sequence[str] = ("hello.py",),
    checks: Sequence[CheckResult] = (),
    steps: Sequence[str] = (),
) -> BlindInput:
    conditions = tuple((check.id, f"what {check.id} means") for check in checks)
    evidence = JudgeEvidence(diff, tuple(tree), tuple(checks), message)
    return BlindInput(TASK, tuple(items), tuple(steps), conditions, evidence)


def patch(name: str, added: Sequence[str], deleted: Sequence[str] = (), context: Sequence[str] = ()) -> bytes:
    """A patch of one existing file, as git writes it: context, then deleted lines, then added ones."""
    body = [*(f" {line}" for line in context), *(f"-{line}" for line in deleted), *(f"+{line}" for line in added)]
    sizes = f"@@ -1,{len(context) + len(deleted)} +1,{len(context) + len(added)} @@"
    head = [f"diff --git a/{name} b/{name}", "index 1111111..2222222 100644", f"--- a/{name}", f"+++ b/{name}"]
    return ("\n".join([*head, sizes, *body]) + "\n").encode()


def raw(name: str = "Q1", **given: Any) -> dict[str, Any]:
    """An item of a reply."""
    return {"id": name, "evidence": "hello.py:1 prints it", "deductions": [], "score": None, "na": None, **given}


def fault(severity: str, points: float) -> dict[str, Any]:
    return {"severity": severity, "points": points, "why": "hello.py:1"}


def reply(*items: dict[str, Any], **top: Any) -> str:
    return json.dumps({"items": items, "steps": [], "excess": None, "instructions_found": None, **top})


def asked_for(body: Body) -> list[str]:
    """The ids of the items that a judge is really asked for."""
    text = body["messages"][0]["content"]
    part = text.partition("# Judge these items")[2].partition("# Progress steps")[0]
    return re.findall(r"^- (\w+) \(", part, re.MULTILINE)


def answer(judge: str, *scores: JudgeScore, **given: Any) -> JudgeAnswer:
    return JudgeAnswer(judge=judge, prompt_digest="0" * 64, items=scores, **given)


def score(value: float | None, name: str = "Q1", **given: Any) -> JudgeScore:
    """A score; of a value None, N/A."""
    state: Any = "na" if value is None else "scored"
    reason = "nothing to judge" if value is None else ""
    return JudgeScore(**{"id": name, "evidence": "seen", "state": state, "value": value, "reason": reason, **given})
