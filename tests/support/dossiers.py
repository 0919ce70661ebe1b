"""Dossiers of cells, from the barest to one with all that can be stored; and how they look."""

import io
from typing import Any

from rich.console import Console

from scylla_gha.model.judgment import CategoryScore, Deduction, ItemScore
from scylla_gha.model.result import AttemptRecord, CellRecord
from scylla_gha.model.traffic import Component, RequestRecord, ResponseRecord, Role, Tokens
from scylla_gha.model.trial import DiffStat, Outcome, Step, ToolCall, Trajectory, Usage
from scylla_gha.report.trial import TrialViewOptions, trial_text
from tests.support.panel import answer, patch, score
from tests.support.records import (
    WHEN,
    make_attempt,
    make_check,
    make_judgment,
    make_model_arm,
    make_plan,
    make_score,
    make_trial,
)

CELL = make_plan().cells[0]
PAID = Usage(input_tokens=1200, output_tokens=50, cache_read_tokens=0, cache_write_tokens=10, usd=0.0123)


def shown(dossier: CellRecord, view: TrialViewOptions | None = None, **console: Any) -> str:
    """Return what is printed, by default to a file."""
    file = io.StringIO()
    out = Console(**{"file": file, "highlight": False, **console})
    for part in trial_text(dossier, view or TrialViewOptions()):
        out.print(part, soft_wrap=not out.is_terminal)
    return file.getvalue()


def make_dossier(*works: AttemptRecord, **given: Any) -> CellRecord:
    """A cell without anything, unless it is given."""
    return CellRecord.model_validate({"experiment": "demo", "id": CELL.id, "cell": CELL, "works": works, **given})


def asked(number: int, role: Role = "agent", **characters: int) -> RequestRecord:
    parts: dict[Component, int] = {**characters}  # type: ignore[dict-item]
    return RequestRecord(number=number, at=WHEN, role=role, model="m", digest="d", characters=parts)


def answered(number: int, **given: Any) -> ResponseRecord:
    fields = {"number": number, "source": "live", "status": 200, "complete": True, "tokens": Tokens(), "usd": 0.01,
              "seconds": 1.0, **given}  # fmt: skip
    return ResponseRecord.model_validate(fields)


def make_whole() -> CellRecord:
    """A failed trial with two attempts, a conversation, a diff, checks, a panel and traffic."""
    failed = make_attempt(outcome=Outcome.PROVIDER_ERROR, reason="529 overloaded", retryable=True, seconds=0.5)
    stat = DiffStat(files=("hello.py", "notes/a b.txt"), added=2, deleted=1, sha256="0" * 64, skipped=("pipe",))
    last = make_attempt(number=2, usage=PAID, diff=stat, agent_version="2.1.197", turns=2, tool_calls={"Bash": 2},
                        failed_tool_calls=1, first_byte_seconds=0.25, generation_seconds=1.5)  # fmt: skip
    trial = make_trial(CELL, failed, last)
    first = AttemptRecord(
        number=1, attempt=failed, traffic=(asked(1), answered(1, status=529, error="overloaded_error"))
    )
    second = AttemptRecord(
        number=2,
        attempt=last,
        trajectory=conversation(),
        patch=patch("hello.py", ["new"], ["old"]).decode(),
        traffic=traffic(),
        judge_traffic=(asked(1, "judge", system_prompt=5), answered(1)),
    )
    return make_dossier(first, second, arm=make_model_arm(), trial=trial, judgment=judgment())


def traffic() -> tuple[RequestRecord | ResponseRecord, ...]:
    late = answered(2, retries=1, waited_seconds=2.5)
    return (asked(1, tool_schemas=75, conversation=25), asked(2), late, asked(3),
            answered(3, source="refused", status=403, error="budget_exceeded:trial", usd=0.0))  # fmt: skip


def conversation() -> Trajectory:
    fine = ToolCall(id="a", name="Bash", arguments={"command": "ls", "timeout": 3}, result="hello.py", failed=False,
                    seconds=0.2)  # fmt: skip
    bad = ToolCall(id="b", name="Write", arguments={"content": "one\ntwo"}, result="no such folder", failed=True)
    lost = ToolCall(id="c", name="Odd", arguments=["x"])
    steps = (
        Step(source="user", text="Say hello.\n"),
        Step(source="agent", text="I look.", tool_calls=(fine, bad, lost)),
        Step(source="agent", text="Done."),
    )
    return Trajectory(steps=steps, final_message="It is done.")


def judgment() -> Any:
    """Of two judges, who do not agree."""
    checks = (
        make_check(evidence="as expected: Hello", seconds=0.1, what="It greets", role="required"),
        make_check(
            id="kept",
            holds=False,
            value=0.5,
            what="Earlier files are kept",
            role="guard",
            evidence='exit code 1:\n  File "/w/hello.py", line 10\nAssertionError',
        ),
        make_check(id="has-tests", holds=False, value=0.0, evidence="no file", what="It has tests", role="condition"),
    )
    items = (
        ItemScore(
            id="F1",
            category="all",
            points=2.0,
            value=1.0,
            by="check",
            reason="holds: done",
            text="The greeting is printed",
        ),
        ItemScore(
            id="Q1",
            category="all",
            points=1.0,
            value=0.4,
            by="judge",
            reason="median",
            flags=("disagreement",),
            text="The code reads well",
        ),
        ItemScore(id="Q2", category="none", points=1.0, value=None, by="judge", reason="no panel"),
    )
    minor = Deduction(severity="minor", points=0.2, why="a long name")
    seen = "hello.py:1 prints it, hello.py:5 does not"
    scored = score(0.8, evidence=seen, deductions=(minor,), flags=("points_out_of_range",))
    answers = (
        answer("opus", scored, score(None, "Q2"), excess="A second script.", steps=("It runs",), retries=1),
        answer("haiku", score(0.0, evidence="Nothing\nis there."), error="Q2: not answered", unknown=("X1",),
               flags=("unknown_item",)),
    )  # fmt: skip
    result = make_score(score=0.55, grade="C", passed=False, why="kept does not hold", progress=0.5, broken=("kept",))
    category = CategoryScore(id="all", weight=1.0, achieved=2.4, maximum=3.0)
    return make_judgment(CELL, checks=checks, items=items, answers=answers, categories=(category,), usage=PAID,
                         result=result)  # fmt: skip
