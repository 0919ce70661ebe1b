"""What all parts of a report share: which arms there is room for, their short names, and their measures."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.analysis import Analysis, Contrast, Measure
from scylla_gha.model.report import ArmSummary, Report
from scylla_gha.render.text import short_names

MOST_ARMS: Final = 20
MOST_COLUMNS: Final = 8  # arms beside each other
PASS: Final = "pass_rate"  # noqa: S105 no password


@dataclass(frozen=True, slots=True)
class Page:
    """A report, made ready to be looked up.

    Attributes:
        report: the whole of it.
        arms: those that tables show, in the report's order where all of them fit, else by pass rate, best first.
        names: short ones, of all arms.
        shared: the part of their names that all arms share, and that short names leave out.
        measures: by arm and metric; of arms that are neither shown nor the baseline, the pass rate.
        changes: pass rates against the baseline, by arm.
    """

    report: Report
    arms: tuple[ArmSummary, ...]
    names: dict[str, str]
    shared: str
    measures: dict[str, dict[str, Measure]]
    changes: dict[str, Contrast]

    @property
    def analysis(self) -> Analysis | None:
        """The statistics; None where they are not installed."""
        return self.report.analysis

    @property
    def baseline(self) -> str:
        """The arm that all others are compared with; empty where there is none, or not one for all."""
        return next(iter(self.baselines)) if len(self.baselines) == 1 else ""

    @property
    def baselines(self) -> frozenset[str]:
        """All arms that others are compared with."""
        return _baselines(self.report)

    @property
    def left_out(self) -> int:
        """Arms that tables do not show."""
        return len(self.report.arms) - len(self.arms)

    def name(self, arm: str) -> str:
        """The short name; of who is no arm, such as a tier, its own."""
        return self.names.get(arm, arm)

    def measure(self, arm: str, metric: str) -> Measure | None:
        """None where nothing is known of it."""
        return self.measures.get(arm, {}).get(metric)


def page_of(report: Report, most: int = MOST_ARMS) -> Page:
    """Choose the arms, and index what is said of them.

    Args:
        report: the report.
        most: arms that there is room for.
    """
    analysis = report.analysis
    measures = {each.arm: each.measures for each in analysis.measures} if analysis else {}
    rates = {arm: next((one for one in each if one.metric == PASS), None) for arm, each in measures.items()}
    held = _baselines(report)
    known = {arm: rate.value for arm, rate in rates.items() if rate is not None}
    arms = _chosen(report.arms, lambda arm: known.get(arm.arm, arm.pass_rate), held, most)
    names, shared = short_names([arm.arm for arm in report.arms])
    wanted = {arm.arm for arm in arms} | held
    return Page(
        report=report, arms=arms, names=names, shared=shared,
        measures={
            arm: {one.metric: one for one in each if arm in wanted or one is rates[arm]}
            for arm, each in measures.items()
        },
        changes={ruling.arm: ruling.contrast for ruling in analysis.rulings} if analysis else {},
    )  # fmt: skip


def _baselines(report: Report) -> frozenset[str]:
    return frozenset(one.baseline for one in report.comparisons)


def _chosen(
    arms: Sequence[ArmSummary], rate: Callable[[ArmSummary], float | None], held: Set[str], most: int
) -> tuple[ArmSummary, ...]:
    """All where they fit; else the best, a quarter of the room for the worst, and the baseline where there is one."""
    if len(arms) <= most:
        return tuple(arms)
    ranked = sorted(arms, key=lambda arm: -1.0 if (known := rate(arm)) is None else known, reverse=True)
    worst = max(1, most // 4)
    kept = [*ranked[: most - worst], *ranked[-worst:]]
    if len(held) == 1 and all(arm.arm not in held for arm in kept):
        kept = [*kept[: most - worst - 1], *(arm for arm in ranked if arm.arm in held), *kept[most - worst :]]
    return tuple(kept)
