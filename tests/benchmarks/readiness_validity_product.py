"""Runs of `scylla-gha readiness` for the validity table, as a user starts it, and what their records say."""

import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from scylla_gha.model.plan import Plan
from scylla_gha.model.readiness import DIMENSIONS, ItemSet, ObservedTrial, ReadinessReport
from scylla_gha.model.trial import Outcome
from scylla_gha.readiness.observed import observed_trials
from scylla_gha.readiness.suite import SUITE, items_file
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import RunFolder
from tests.benchmarks.readiness_validity_sources import Source
from tests.support.readiness_solver import readiness_solver

ORACLE: Final = "oracle"
CLAUDE: Final = "claude-code@2.1.197"
_SECONDS: Final = 7200.0
_KEY: Final = "sk-ant-scripted-0123456789"


class UnmeasuredError(Exception):
    """Measurement that ended without a score; its text is the reason."""


@dataclass(frozen=True)
class Measured:
    """Figures of one run of the command.

    Attributes:
        agent: its name and version.
        planned: sessions by dimension.
        completed: sessions that ended with an answer.
        full_parts: parts for which all points were earned.
        parts: parts that were graded.
        faults: sessions or parts without all points, in words.
        calls: median of the tool calls of a session.
        tokens: median of the tokens of a session; None: no model was asked.
        seconds: median length of a session.
    """

    agent: str
    score: float | None
    scores: dict[str, float]
    planned: dict[str, int]
    completed: int
    full_parts: int
    parts: int
    faults: list[str]
    calls: float
    tokens: float | None
    seconds: float

    @property
    def sessions(self) -> int:
        """All planned sessions."""
        return sum(self.planned.values())


def measure(source: Source, root: Path, folder: Path, agent: str, anchors: int, sandbox: str) -> dict[str, Any]:
    """Run the command on a code base, or go on with its interrupted run, and return the figures (`Measured`).

    Raises:
        UnmeasuredError: the command measured nothing.
    """
    runs = folder / "runs"
    with readiness_solver(runs / SUITE) if agent.startswith(CLAUDE) else nullcontext() as url:
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": _KEY} if url else {}
        tests = [word for pattern in source.tests for word in ("--tests", pattern)]
        sample = ["--anchors", str(anchors), "--sandbox", sandbox]
        reason = _run([str(root), "--agent", agent, "--runs", str(runs), *sample, *tests], env, folder)
    report = read_record(runs / SUITE / "readiness.json", ReadinessReport)
    if report is None or report.score is None:
        raise UnmeasuredError((report.unavailable if report else None) or reason or "no score was written")
    return asdict(_figures(report, stored_items(folder), RunFolder(runs / SUITE)))


def _run(options: Sequence[str], env: Mapping[str, str], folder: Path) -> str:
    """Run the command; return why it failed, "" if it did not."""
    argv = [sys.executable, "-m", "scylla_gha", "readiness", *options, "--yes", "--json", "--budget", "50"]
    log = folder / "command.log"
    with log.open("w", encoding="utf-8") as lines:
        done = subprocess.run(
            argv, cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=lines, timeout=_SECONDS, check=False,
        )  # fmt: skip
    last = [line for line in log.read_text(encoding="utf-8").splitlines() if line.strip()][-1:]
    return f"`scylla-gha readiness` ended with {done.returncode}: {' '.join(last)[:300]}" if done.returncode else ""


def stored_items(folder: Path) -> ItemSet:
    """Return the items of a code base's run.

    Raises:
        UnmeasuredError: the run has none.
    """
    items = read_record(items_file(folder / "runs" / SUITE / "suite", ""), ItemSet)
    if items is None:
        raise UnmeasuredError("no items were made")
    return items


def stored_report(folder: Path) -> ReadinessReport:
    """Return the report of the last run.

    Raises:
        UnmeasuredError: there is none.
    """
    report = read_record(folder / "runs" / SUITE / "readiness.json", ReadinessReport)
    if report is None:
        raise UnmeasuredError("no suite was made")
    return report


def _figures(report: ReadinessReport, items: ItemSet, run: RunFolder) -> Measured:
    plan = read_record(run.plan, Plan)
    trials = observed_trials(run, plan.cells if plan else (), items.items, "")
    rows = report.score.dimensions if report.score else ()
    shares = [share for trial in trials for share in trial.parts.values()]
    tokens = [trial.tokens for trial in trials if trial.tokens]
    return Measured(
        agent=f"{report.agent.partition('@')[0]} {report.agent_version or ''}".strip(),
        score=report.score.score if report.score else None,
        scores={row.dimension: row.score for row in rows if row.score is not None},
        planned=dict(Counter(item.dimension for item in items.items)),
        completed=sum(trial.outcome is Outcome.COMPLETED for trial in trials),
        full_parts=sum(share == 1 for share in shares),
        parts=len(shares),
        faults=[fault for trial in trials for fault in _faults(trial)],
        calls=statistics.median([trial.calls or 0 for trial in trials] or [0]),
        tokens=statistics.median(tokens) if tokens else None,
        seconds=statistics.median([trial.seconds or 0 for trial in trials] or [0]),
    )


def _faults(trial: ObservedTrial) -> list[str]:
    if trial.outcome is not Outcome.COMPLETED:
        return [f"{trial.item} ended as {trial.outcome.value}: {trial.reason[:120]}"]
    if not trial.parts:
        return [f"{trial.item} could not be judged"]
    return [f"{trial.item} {part} {share:.2f}" for part, share in trial.parts.items() if share != 1]


def measured_from(figures: Mapping[str, Any]) -> Measured:
    """Return the figures as `measure` stored them."""
    return Measured(**figures)


def facts_of(report: ReadinessReport) -> dict[str, Any]:
    """Return yields and reasons of the measured commit, as JSON."""
    side = next(side for side in report.facts if not side.side)
    reasons = {DIMENSIONS[lack.dimension]: lack.reason for lack in side.missing}
    return {
        "language": side.language,
        "yields": side.yields,
        "planned": dict(side.planned),
        "missing": reasons,
        "notes": list(side.notes),
    }
