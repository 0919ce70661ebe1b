"""Draw conclusions from a report: verdicts in words, title, gate, rows of the main table, and the next command.

All renderers use them. The cost of the command that measures more is estimated from the trials measured so far.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.counting import counted, dollars
from scylla_gha.errors import GateError
from scylla_gha.model.analysis import FAMILIES, OVERALL, Ruling, Verdict
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.publication import CommentFacts
from scylla_gha.model.report import ArmSummary, Comparison, Report
from scylla_gha.report.document import (
    UNDEFINED,
    bounds,
    cost_of_pass,
    counts,
    grades,
    interval,
    number,
    percent,
    seconds,
    tokens,
)
from scylla_gha.report.metrics import INFINITE, limits, value
from scylla_gha.report.view import PASS, ReportView, report_view

MARKS: Final[dict[Verdict, str]] = {"better": "✓", "worse": "✗", "equivalent": "≈", "not_enough_data": "?"}
_NOUNS: Final[dict[Verdict, str]] = {
    "better": "better",
    "worse": "worse",
    "equivalent": "equivalent",
    "not_enough_data": "without enough data",
}
WORST_FIRST: Final[tuple[Verdict, ...]] = ("worse", "not_enough_data", "equivalent", "better")
_LEAST_REPETITIONS: Final = 5
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,300}")  # id of an arm or a cell in a command


def marked(verdict: str | None, text: str) -> str:
    """Return `text` after the mark of a verdict; without a mark if the verdict is unknown."""
    mark = next((mark for known, mark in MARKS.items() if known == verdict), "")
    return f"{mark} {text}".strip()


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """A verdict, the statement in words, and the numbers behind it."""

    verdict: Verdict
    statement: str
    why: str

    @property
    def mark(self) -> str:
        """Sign of the verdict, such as ✓."""
        return MARKS[self.verdict]

    def __str__(self) -> str:
        """Return the verdict in one line."""
        return f"{self.mark} {self.statement}: {self.why}"


def verdict_lines(view: ReportView, most: int) -> Iterator[VerdictLine]:
    """Yield at most `most` verdicts, the clearest first."""
    ranked = sorted(view.report.answer, key=lambda comparison: _clarity(view, comparison))
    for comparison in ranked[:most]:
        yield VerdictLine(comparison.verdict, _statement(view, comparison), _why(view, comparison))


def verdict_counts(view: ReportView, most: int) -> str:
    """Return the number of verdicts of each kind if there are more than `most`; else an empty text."""
    comparisons, report = view.report.answer, view.report
    if len(comparisons) <= most:
        return ""
    kinds = Counter(comparison.verdict for comparison in comparisons)
    parts = ", ".join(f"{kinds[kind]} {noun}" for kind, noun in _NOUNS.items())
    if report.family != FAMILIES["baseline"]:
        return f"Of {counted(len(comparisons), 'comparison')}, {report.family}: {parts}."
    baseline = view.name(view.baseline) or "the version before each change"
    return f"Of {counted(len(comparisons), 'arm')} against {baseline}: {parts}."


def _clarity(view: ReportView, comparison: Comparison) -> tuple[int, float, float]:
    change = view.answers.get((comparison.arm, comparison.baseline))
    p = 1.0 if change is None or change.p_adjusted is None else change.p_adjusted
    size = 0.0 if change is None else abs(change.value or 0.0)
    return list(MARKS).index(comparison.verdict), p, -size


def _statement(view: ReportView, comparison: Comparison) -> str:
    arm, baseline = view.name(comparison.arm), view.name(comparison.baseline)
    if comparison.verdict == "not_enough_data":
        return f"not enough data to tell {arm} from {baseline}"
    if comparison.verdict == "equivalent":
        return f"{arm} and {baseline} are equivalent"
    return f"{arm} is {comparison.verdict} than {baseline}"


def _why(view: ReportView, comparison: Comparison) -> str:
    rates = [view.measure(arm, PASS) for arm in (comparison.arm, comparison.baseline)]
    known = [value(rate) for rate in rates if rate is not None and rate.value is not None]
    passes = f"passes {known[0]} against {known[1]}, " if len(known) == len(rates) else ""
    change = view.answers.get((comparison.arm, comparison.baseline))
    dropped = counted(change.dropped, "scenario") if change and change.dropped else ""
    return f"{passes}{comparison.why}{f'; left out: {dropped} that only one arm has' if dropped else ''}"


def hypothesis_line(report: Report) -> str:
    """Return the hypothesis and whether the verdicts support it, in one line; empty if there is no hypothesis."""
    reading = report.hypothesis
    if reading is None:
        return ""
    status = "not tested" if reading.status == "not_declared" else reading.status.replace("_", " ")
    return f"Hypothesis, {status}: {reading.text.rstrip('.')} ({reading.why})"


def main_chart(report: Report) -> str:
    """Return the name of the chart that shows the comparisons of the answer."""
    return "tier_ladder" if report.family == FAMILIES["tiers"] else "forest"


Overall = Verdict | Literal["no_baseline"]
_CONCLUSIONS: Final[dict[Overall, Literal["success", "failure", "neutral"]]] = {
    "worse": "failure",
    "not_enough_data": "neutral",
    "no_baseline": "neutral",
    "better": "success",
    "equivalent": "success",
}
_MOST_FAULTS: Final = 5  # arms named in the message of a failed gate
NO_BASELINE: Final = "There is no baseline to compare with yet"


def overall(report: Report) -> Overall:
    """Return one verdict on all comparisons: worse if any is worse; better or equivalent only if none lacks data."""
    verdicts = {comparison.verdict for comparison in report.answer}
    if report.family == FAMILIES["models"]:  # the order of two models has no meaning, so neither is worse
        verdicts = {"better" if verdict == "worse" else verdict for verdict in verdicts}
    return next((verdict for verdict in OVERALL if verdict in verdicts), "no_baseline")


def conclusion(report: Report, facts: CommentFacts) -> Literal["success", "failure", "neutral"]:
    """Return the conclusion of a check: by the experiment's gate if it has one, else by the verdict."""
    if facts.has_gate:
        return "failure" if facts.gate_fault else "success"
    return _CONCLUSIONS[overall(report)]


def leading_verdict(report: Report) -> Overall:
    """Return the verdict that the title begins with: a winner comes first if no arm is worse."""
    verdict = overall(report)
    has_winner = any(comparison.verdict == "better" for comparison in report.answer)
    if verdict == "worse" or report.family == FAMILIES["models"]:
        return verdict
    return "better" if has_winner else verdict


def title(report: Report) -> str:
    """Return the verdict in one line: of a single comparison, or the number of verdicts of each kind.

    If no arm is worse, the winner with the lowest adjusted p comes first. Winners are compared with the baseline, not
    with each other.
    """
    verdict = leading_verdict(report)
    if verdict == "no_baseline":
        return NO_BASELINE
    view = report_view(report)
    counts_of_all, clearest = verdict_counts(view, 1), next(verdict_lines(view, 1))
    if not counts_of_all:
        return str(clearest)
    if verdict != "better" or report.family == FAMILIES["models"]:
        return f"{MARKS[verdict]} {counts_of_all}"
    return f"{clearest}. {counts_of_all}"


def require_gate(experiment: Experiment, report: Report) -> None:
    """Check the experiment's gate: the verdict against the baseline that every arm must reach.

    Without the statistics only the verdict `better` passes, for both kinds of gate.

    Raises:
        GateError: an arm does not reach the gate.
    """
    failed = list(_gate_faults(experiment, report)) if experiment.gate != "none" else []
    if failed:
        others = len(failed) - _MOST_FAULTS
        more = f"; and {counted(others, 'more arm')}" if others > 0 else ""
        raise GateError(
            f"gate {experiment.gate} does not hold: {'; '.join(failed[:_MOST_FAULTS])}{more}; "
            "the report, which is written, lists all arms"
        )


def _gate_faults(experiment: Experiment, report: Report) -> Iterator[str]:
    if not report.comparisons:
        yield f"there is no arm besides the baseline {experiment.baseline}"
    rulings = {ruling.arm: ruling for ruling in report.analysis.rulings} if report.analysis else {}
    for comparison in report.comparisons:
        ruling = rulings.get(comparison.arm)
        passes = _passes(experiment, ruling) if ruling else not report.analysis and comparison.verdict == "better"
        if not passes:
            yield f"{comparison.arm}: {comparison.verdict}: {comparison.why}{_gate_limit(experiment, ruling)}"


def _passes(experiment: Experiment, ruling: Ruling) -> bool:
    """Return whether an arm is better, or for the gate `not_worse`, its lower one-sided 95 % limit lies above -margin.

    All arms must pass, so the limit needs no adjustment for their number: each arm is another chance to fail.
    """
    if ruling.verdict == "better":
        return True
    if experiment.gate == "better" or ruling.verdict == "worse":
        return False
    low = None if ruling.is_withheld else ruling.contrast.inner_low
    return low is not None and low > -ruling.margin


def _gate_limit(experiment: Experiment, ruling: Ruling | None) -> str:
    if experiment.gate == "better" or ruling is None or ruling.is_withheld or ruling.contrast.inner_low is None:
        return ""
    return (
        f"; the lower limit is {100 * ruling.contrast.inner_low:+.1f} points (one-sided 95 %), and must be above "
        f"{-100 * ruling.margin:+.1f}"
    )


HEADINGS = ("arm", "n", "pass", "95 %", "score", "grades", "USD", "USD/pass", "time", "tokens")
LOWER_IS_BETTER: Final = frozenset({"USD", "USD/pass", "time", "tokens"})  # of the headings
COUNTS_NOTE = "n: planned/ran/judged/scored, or one number if the four are equal"


def arm_row(view: ReportView, arm: ArmSummary, *, wide: bool = False) -> tuple[str, ...]:
    """Return the cells of one arm, in the order of `HEADINGS`; means over scenarios if known, else over trials.

    Args:
        view: view with the arm's measures.
        arm: the arm.
        wide: True: include the interval of the cost of a pass.
    """
    score, time = view.measure(arm.arm, "score"), view.measure(arm.arm, "seconds")
    cost, between = pass_cost(view, arm)
    return (
        view.name(arm.arm),
        counts(arm.counts),
        *pass_rate(view, arm),
        number(arm.mean_score) if score is None else value(score),
        grades(arm),
        dollars(arm.usd),
        " ".join(filter(None, (cost, between if wide else ""))),
        seconds(arm.mean_seconds) if time is None else value(time),
        tokens(arm.tokens),
    )


def pass_rate(view: ReportView, arm: ArmSummary) -> tuple[str, str]:
    """Return the texts of an arm's pass rate and of its interval."""
    rate = view.measure(arm.arm, PASS)
    text, between = (percent(arm.pass_rate), interval(arm)) if rate is None else (value(rate), limits(rate))
    return text + bounds(arm), between


def pass_cost(view: ReportView, arm: ArmSummary) -> tuple[str, str]:
    """Return the texts of the cost of a pass and of its interval; the latter is empty if it is unknown."""
    cost = view.measure(arm.arm, "cost_of_pass")
    if cost is None:
        return cost_of_pass(arm), ""
    if value(cost) == INFINITE and not arm.usd:
        return UNDEFINED, ""  # nothing was spent, and nothing passed
    between = limits(cost)
    return value(cost), "" if between == UNDEFINED else between


@dataclass(frozen=True, slots=True)
class NextCommand:
    """Options of a command that measures more, with its number of trials and its cost.

    Attributes:
        command: `evaluate` command for this machine; it names a branch if the report compares a change.
        options: options of `evaluate` and of the slash commands.
        trials: number of trials that are not stored yet.
        usd: cost of these trials in USD, from the mean cost of the arm's trials so far; None: unknown.
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
    """Return the command that repeats all trials more often."""
    return _more_trials(report, [arm.arm for arm in report.arms])


def command_for_more_data(report: Report) -> NextCommand | None:
    """Return the next command if the data is not enough and more can be measured; else None."""
    has_measured = report.analysis is not None and not report.imported and not report.replayed
    return next_command(report) if has_measured and overall(report) == "not_enough_data" else None


def narrowed_command(report: Report) -> NextCommand | None:
    """Return the command that repeats only the arm with the worst verdict and its baseline; None if they are all arms.

    Also None if nothing is compared, or if an id cannot stand in a command.
    """
    worst = min(report.comparisons, key=lambda pair: WORST_FIRST.index(pair.verdict), default=None)
    arms = (worst.arm, worst.baseline) if worst else ()
    if not arms or len(report.arms) <= len(arms) or not all(map(is_safe_id, arms)):
        return None
    return _more_trials(report, arms, " ".join(f"--only '*--{arm}--*'" for arm in arms))


def is_safe_id(name: str) -> bool:
    """Return whether an arm's or a cell's id can be put into a command."""
    return bool(_SAFE_ID.fullmatch(name))


def _more_trials(report: Report, arms: Collection[str], only: str = "") -> NextCommand:
    """Return the command for twice the repetitions, at least 5; repetitions that are stored are not run again."""
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
    """Return the command that makes this report on the reader's machine, with BRANCH for the branch of a change."""
    return f"scylla-gha evaluate {report.experiment}{' --head BRANCH' if report.change else ''}"


def _cost(arm: ArmSummary, trials: int, judging: float | None) -> float | None:
    mean = _mean(arm.usd, arm.counts.ran)
    return None if mean is None or judging is None else trials * (mean + judging)


def _mean(usd: float | None, trials: int) -> float | None:
    """Return the mean cost of a trial in USD; None if the cost is unknown or there was no trial."""
    return None if usd is None or not trials else usd / trials
