"""Index a report for rendering: the arms to show, their short names and measures, and numbered warnings."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.analysis import Analysis, Contrast, Measure
from scylla_gha.model.report import ArmSummary, Report
from scylla_gha.report.document import link, short_names

MOST_ARMS: Final = 20
MOST_COLUMNS: Final = 8  # arms beside each other
PASS: Final = "pass_rate"  # noqa: S105 no password


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report with indexes for rendering.

    Attributes:
        report: the complete report.
        arms: arms that tables show: all in the report's order if they fit, else a selection by pass rate, best first.
        names: short names of all arms, by arm.
        shared: part of the id that all arms share and that short names leave out.
        measures: by arm and metric; only the pass rate for tiers, and for hidden arms other than a baseline.
        changes: changes of the pass rate against the baseline, by arm.
        answers: changes of the pass rate that answer the question, by arm and baseline.
        trial: function that shows the trial of a cell id: a link, or plain text for imported rows.
    """

    report: Report
    arms: tuple[ArmSummary, ...]
    names: dict[str, str]
    shared: str
    measures: dict[str, dict[str, Measure]]
    changes: dict[str, Contrast]
    answers: dict[tuple[str, str], Contrast]
    trial: Callable[[str], str]

    @property
    def analysis(self) -> Analysis | None:
        """The statistics; None if they are not installed."""
        return self.report.analysis

    @property
    def baseline(self) -> str:
        """The arm that all others are compared with; empty if there is no baseline or more than one."""
        return next(iter(self.baselines)) if len(self.baselines) == 1 else ""

    @property
    def baselines(self) -> frozenset[str]:
        """All arms that other arms are compared with."""
        return _baselines(self.report)

    @property
    def baseline_text(self) -> str:
        """Text that names the other side of the comparisons."""
        if self.baseline:
            return self.name(self.baseline)
        return "the baseline's mode" if self.report.paired_by == "modes" else "the version before each change"

    @property
    def left_out(self) -> int:
        """Number of arms that tables do not show."""
        return len(self.report.arms) - len(self.arms)

    @property
    def is_wide(self) -> bool:
        """True if a table has room for a column per arm."""
        return len(self.report.arms) <= MOST_COLUMNS

    def name(self, arm: str) -> str:
        """Return an arm's short name; other names, such as a tier's, are returned unchanged."""
        return self.names.get(arm, arm)

    def measure(self, arm: str, metric: str) -> Measure | None:
        """Return a measure of an arm; None if it is unknown."""
        return self.measures.get(arm, {}).get(metric)


def report_view(report: Report, most: int = MOST_ARMS, artifacts: str = "") -> ReportView:
    """Choose the arms to show, and index their measures.

    Args:
        report: the report.
        most: maximum number of arms in tables.
        artifacts: URL of the artifacts that contain the trials; empty: the trials' folders lie beside the report.
    """
    analysis = report.analysis
    measures = (
        {arm.arm: {measure.metric: measure for measure in arm.measures} for arm in analysis.measures}
        if analysis
        else {}
    )
    baselines = _baselines(report)

    def rate(arm: ArmSummary) -> float:
        known = measures.get(arm.arm, {}).get(PASS)
        value = arm.pass_rate if known is None else known.value
        return -1.0 if value is None else value

    arms = _chosen(report.arms, rate, baselines, most)
    names, shared = short_names([arm.arm for arm in report.arms])
    complete = {arm.arm for arm in arms} | baselines
    return ReportView(
        report=report,
        arms=arms,
        names=names,
        shared=shared,
        measures={
            arm: metrics if arm in complete else {name: metrics[name] for name in (PASS,) if name in metrics}
            for arm, metrics in measures.items()
        }
        | _tier_rates(report),
        changes={ruling.arm: ruling.contrast for ruling in analysis.rulings} if analysis else {},
        answers={(ruling.arm, ruling.baseline): ruling.contrast for ruling in analysis.answers or analysis.rulings}
        if analysis
        else {},
        trial=(lambda cell: cell) if report.imported else (lambda cell: link(cell, artifacts or f"{cell}/")),
    )


def _tier_rates(report: Report) -> dict[str, dict[str, Measure]]:
    parts = report.analysis.slices if report.analysis else ()
    return {part.name: {PASS: part.rate} for part in parts if part.by == "tier"}


def _baselines(report: Report) -> frozenset[str]:
    return frozenset(comparison.baseline for comparison in report.comparisons)


def _chosen(
    arms: Sequence[ArmSummary], rate: Callable[[ArmSummary], float], baselines: Set[str], most: int
) -> tuple[ArmSummary, ...]:
    """Return all arms if they fit; else the best three quarters, the worst quarter, and a single baseline."""
    if len(arms) <= most:
        return tuple(arms)
    ranked = sorted(arms, key=rate, reverse=True)
    worst = max(1, most // 4)
    chosen = [*ranked[: most - worst], *ranked[-worst:]]
    if len(baselines) == 1 and all(arm.arm not in baselines for arm in chosen):
        baseline = [arm for arm in ranked if arm.arm in baselines]
        chosen = [*chosen[: most - worst - 1], *baseline, *chosen[most - worst :]]
    return tuple(chosen)


_NAMED: Final = 3  # arms that a note names before it counts the others


@dataclass(frozen=True, slots=True)
class ReportNote:
    """A warning and its arms; no arms: it concerns the whole report."""

    number: int
    arms: tuple[str, ...]
    text: str


def notes(view: ReportView) -> list[ReportNote]:
    """Return numbered warnings, general ones first; equal warnings of several arms are merged."""
    names = {arm.arm for arm in view.report.arms}
    arms_of: dict[str, list[str]] = {}
    general: list[str] = []
    for warning in view.report.warnings:
        arm, colon, text = warning.partition(": ")
        if colon and arm in names:
            arms_of.setdefault(text, []).append(arm)
        else:
            general.append(warning)
    texts: list[tuple[str, list[str]]] = [(text, []) for text in dict.fromkeys(general)]
    return [ReportNote(number, tuple(arms), text) for number, (text, arms) in enumerate([*texts, *arms_of.items()], 1)]


def note_text(view: ReportView, note: ReportNote) -> str:
    """Return a note, after the names of its arms, in one line."""
    if not note.arms:
        return note.text
    if len(note.arms) > 1 and len(note.arms) == len(view.report.arms):
        return f"all arms: {note.text}"
    names = ", ".join(view.name(arm) for arm in note.arms[:_NAMED])
    others = len(note.arms) - _NAMED
    return f"{names}{f' and {others:,} more' if others > 0 else ''}: {note.text}"


def marks(numbered_notes: Sequence[ReportNote]) -> dict[str, str]:
    """Return each arm's note numbers, joined by commas."""
    numbers: dict[str, list[str]] = {}
    for note in numbered_notes:
        for arm in note.arms:
            numbers.setdefault(arm, []).append(str(note.number))
    return {arm: ", ".join(arm_numbers) for arm, arm_numbers in numbers.items()}
