"""Pages of made runs: three arms with conversations, and runs in which every text is an attack."""

import base64
import datetime
import gzip
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scylla_gha.evaluate.report_run import render_report
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.model.readiness import REPORT_FILE, ReadinessReport
from scylla_gha.model.report import Report
from scylla_gha.model.result import AttemptRecord, Result
from scylla_gha.model.traffic import RequestRecord, ResponseRecord, Tokens
from scylla_gha.model.trial import DiffStat, Step, ToolCall, Trajectory, Usage
from scylla_gha.store import write_lines, write_record, write_text
from scylla_gha.store.run_folder import RunFolder
from tests.support.dossiers import answered, asked, conversation, judgment, traffic
from tests.support.panel import answer, score
from tests.support.records import (
    WHEN,
    make_attempt,
    make_check,
    make_experiment,
    make_judgment,
    make_plan,
    make_score,
    make_trial,
)
from tests.support.reports import REPETITIONS, VARIANTS, arm_of, cells, full_report, planned_arm, rows

HOSTILE = (
    "</script><script>document.title='owned'</script>"
    "<img src=https://evil.example/x onerror=\"document.title='owned'\">"
    "<svg onload=\"document.title='owned'\"></svg><a href=\"javascript:document.title='owned'\">x</a> \u202edrawkcab"
)


PATCH = "--- a/hello.py\n+++ b/hello.py\n@@ -1 +1 @@\n-old\n+new\n@@ -9,2 +9,3 @@\n keep\n+++ b/odd\n last\n"


def turns() -> tuple[RequestRecord | ResponseRecord, ...]:
    """Traffic in which two requests are the two turns of `conversation`."""
    tokens = Tokens(input=1_200, output=50, cache_read=800)
    later = datetime.timedelta(seconds=7)
    first, second = (asked(number).model_copy(update={"turn": number - 3}) for number in (4, 5))
    return (
        *traffic(),
        first,
        answered(4, tokens=tokens, usd=0.0123, seconds=3.2),
        second.model_copy(update={"at": WHEN + later}),
        answered(5, tokens=tokens, usd=None),
    )


def passed_judgment() -> Judgment:
    """The judgment of a trial that passed, though a condition does not hold."""
    failed: Judgment = judgment()
    met = {"holds": True, "value": 1.0, "evidence": "as expected"}
    checks = (check if check.role == "condition" else check.model_copy(update=met) for check in failed.checks)
    items = (item if item.value is None else item.model_copy(update={"value": 1.0}) for item in failed.items)
    return failed.model_copy(
        update={"checks": tuple(checks), "items": tuple(items), "answers": (), "result": make_score()}
    )


def full_plan() -> Plan:
    experiment = make_experiment(question="Does the skill help, and what does it cost?", repetitions=REPETITIONS,
                                 baseline=arm_of(VARIANTS[0]))  # fmt: skip
    return make_plan(*cells(), experiment=experiment, arms=tuple(planned_arm(variant) for variant in VARIANTS))


def write_run(root: Path, readiness: ReadinessReport | None = None) -> Path:
    """Write a run of three arms with the records of all its trials, and a measurement; return the path of its page."""
    folder, plan, results = RunFolder(root), full_plan(), list(rows())
    write_record(folder.plan, plan)
    write_lines(folder.results, results)
    for result in results:
        work = AttemptRecord(number=1, trajectory=conversation(), patch=PATCH)
        write_trial(
            folder,
            plan,
            result,
            work,
            judgment() if result.passed is False else passed_judgment() if result.passed else None,
        )
    if readiness is not None:
        write_record(folder.root / REPORT_FILE, readiness)
    return write_page(full_report(), folder)


def write_page(report: Report, folder: RunFolder) -> Path:
    write_record(folder.report("json"), report)
    render_report(report, folder)
    return folder.report("html")


def write_trial(
    folder: RunFolder, plan: Plan, result: Result, work: AttemptRecord, verdict: Judgment | None = None
) -> None:
    """Write the records of one trial, as the toolkit stores them."""
    cell = next(cell for cell in plan.cells if cell.id == result.cell)
    diff = DiffStat(files=("hello.py",), added=1, deleted=1, sha256="0" * 64)
    usage = Usage.model_validate({name: getattr(result, name) for name in Usage.model_fields})
    attempt = make_attempt(
        outcome=result.outcome,
        reason=result.reason,
        started_at=WHEN,
        diff=diff,
        usage=usage,
        seconds=result.seconds or 0.0,
    )
    paths = folder.cell(cell.id)
    write_record(paths.trial, make_trial(cell, attempt))
    verdict = verdict or make_judgment(cell, checks=(make_check(evidence="as expected"),))
    write_record(paths.judgment, verdict.model_copy(update={"cell": cell.id, "trial_key": cell.key}))
    write_record(paths.attempt(1).file("attempt.json"), attempt)
    write_text(paths.attempt(1).file("prompt.md"), work.prompt or "")
    write_record(paths.attempt(1).file("trajectory.json"), work.trajectory or Trajectory())
    write_text(paths.attempt(1).file("diff.patch"), work.patch or "")
    write_lines(paths.attempt(1).file("traffic.jsonl"), turns())


def write_hostile_run(root: Path) -> Path:
    """Write a run of one failed trial in which each text that an agent, a check or a judge can write is an attack.

    One text has 10 MB, one line has 1 MB.
    """
    folder, plan = RunFolder(root), full_plan().model_copy(update={"cells": cells()[:1]})
    result = next(iter(rows())).model_copy(update={"reason": HOSTILE, "passed": False})
    call = ToolCall(id="a", name=HOSTILE, arguments={HOSTILE: HOSTILE}, result="x" * 1_000_000 + HOSTILE, failed=True)
    steps = (Step(source="user", text=HOSTILE), Step(source="agent", text=f"{HOSTILE}\n" * 40_000, tool_calls=(call,)))
    work = AttemptRecord(number=1, trajectory=Trajectory(steps=steps, final_message=HOSTILE), patch=f"+{HOSTILE}\n")
    evidence = score(0.0, evidence=HOSTILE)
    checks = (make_check(id=HOSTILE, holds=False, evidence=HOSTILE),)
    verdict = make_judgment(plan.cells[0], checks=checks, answers=(answer("m", evidence, excess=HOSTILE),))
    write_record(folder.plan, plan)
    write_lines(folder.results, [result])
    write_trial(folder, plan, result, work, verdict)
    report = full_report()
    hostile_texts = {"question": HOSTILE, "warnings": (HOSTILE,), "experiment": HOSTILE}
    failure = report.failures[0].model_copy(update={"kind": HOSTILE, "cells": (result.cell, HOSTILE)})
    excluded = report.excluded[0].model_copy(update={"reason": HOSTILE})
    return write_page(
        report.model_copy(update={**hostile_texts, "failures": (failure,), "excluded": (excluded,)}), folder
    )


def write_large_run(root: Path, size: int) -> Path:
    """Write a run of so many rows, without records of trials."""
    folder, results = RunFolder(root), list(rows())
    many = [_numbered(results[number % len(results)], number) for number in range(size)]
    write_record(folder.plan, full_plan())
    write_lines(folder.results, many)
    return write_page(full_report(), folder)


def _numbered(result: Result, number: int) -> Result:
    scenario = f"{number // 9:04d}-{result.scenario}"
    names = {"scenario": scenario, "cell": f"{scenario}--{result.arm}--r{number % 9:02d}", "repetition": number % 9}
    return result.model_copy(update=names)


def data(html: str, pattern: str) -> list[Any]:
    """The decoded data of the script elements whose attributes match."""
    scripts: Iterable[str] = re.findall(rf'<script type="application/gzip" {pattern}>([^<]*)</script>', html)
    unpack: Callable[[str], Any] = lambda text: json.loads(gzip.decompress(base64.b64decode(text)))  # noqa: E731
    return [unpack(text) for text in scripts]


def trial_rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table of trials, which is stored by columns, as the page's script makes them."""
    columns = table["numbers"] | {name: [column["texts"][at] for at in column["rows"]]
                                  for name, column in table["texts"].items()}  # fmt: skip
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    usual = [f"{row['scenario']}--{row['arm']}--r{row['repetition']:02d}" for row in rows]
    return [row | {"cell": cell or name} for row, cell, name in zip(rows, table["cells"], usual, strict=True)]
