"""The command that measures more where the data is not enough, and what it costs by the trials measured so far."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.analysis import Verdict
from scylla_gha.model.report import ArmSummary, Report
from scylla_gha.report.summary import overall

WORST_FIRST: Final[tuple[Verdict, ...]] = ("worse", "not_enough_data", "equivalent", "better")
_LEAST_REPETITIONS: Final = 5
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,300}")  # of an arm or a cell, in a command


@dataclass(frozen=True, slots=True)
class NextCommand:
    """Options that measure more, and what that takes.

    Attributes:
        command: `evaluate` on this machine, with the branch if the report compares a change.
        options: of `evaluate` and of the slash commands.
        trials: number of trials that are not stored yet.
        usd: their cost, if each costs as much as the arm's trials so far; None: unknown.
    """

    command: str
    options: str
    trials: int
    usd: float | None

    @property
    def cost(self) -> str:
        """The trials and their cost in words."""
        return f"{counted(self.trials, 'more trial')}, estimated cost {dollars(self.usd)}"


def next_command(report: Report) -> NextCommand:
    """Return the options that repeat all trials more often."""
    return _more_trials(report, [arm.arm for arm in report.arms])


def command_for_more_data(report: Report) -> NextCommand | None:
    """Return the next command if the data is not enough, and more of it can be measured; else None."""
    has_measured = report.analysis is not None and not report.imported and not report.replayed
    return next_command(report) if has_measured and overall(report) == "not_enough_data" else None


def narrowed_command(report: Report) -> NextCommand | None:
    """Return the options that repeat only the arm with the worst verdict and its baseline; None if these are all."""
    worst = min(report.comparisons, key=lambda pair: WORST_FIRST.index(pair.verdict), default=None)
    arms = (worst.arm, worst.baseline) if worst else ()
    if not arms or len(report.arms) <= len(arms) or not all(map(is_safe_id, arms)):
        return None
    return _more_trials(report, arms, " ".join(f"--only '*--{arm}--*'" for arm in arms))


def is_safe_id(name: str) -> bool:
    """Tell whether the id of an arm or a cell can stand in a command."""
    return bool(_ID.fullmatch(name))


def _more_trials(report: Report, arms: Collection[str], only: str = "") -> NextCommand:
    """Plan twice the repetitions of the run, and at least 5: fewer or as many would find all results stored."""
    planned = max((arm.counts.planned for arm in report.arms), default=0)
    done = max(1, math.ceil(planned / max(1, len(report.scenarios))))
    repetitions = max(_LEAST_REPETITIONS, 2 * done)
    chosen = [arm for arm in report.arms if arm.arm in arms]
    missing = [(arm, math.ceil(arm.counts.planned * repetitions / done) - arm.counts.judged) for arm in chosen]
    judging = _mean(report.judge_usd, report.counts.judged)
    costs = [_cost(arm, trials, judging) for arm, trials in missing]
    known = [cost for cost in costs if cost is not None]
    usd = math.fsum(known) if len(known) == len(costs) else None
    options = f"{only} --repetitions {repetitions}".strip()
    command = f"{local_command(report)} {options}"
    return NextCommand(command, options, sum(trials for _, trials in missing), usd)


def local_command(report: Report) -> str:
    """Return the command that makes this report on a machine; the reader puts the branch of a change in its place."""
    return f"scylla-gha evaluate {report.experiment}{' --head BRANCH' if report.change else ''}"


def _cost(arm: ArmSummary, trials: int, judging: float | None) -> float | None:
    mean = _mean(arm.usd, arm.counts.ran)
    return None if mean is None or judging is None else trials * (mean + judging)


def _mean(usd: float | None, trials: int) -> float | None:
    """Return the cost of a trial; None if it is unknown, or nothing was measured."""
    return None if usd is None or not trials else usd / trials
