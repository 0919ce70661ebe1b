"""Build tables of scenarios, outcomes of trials, failures, excluded cells, and the agreement of judges."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from scylla_gha.model.analysis import Agreement, Outlier, Slice
from scylla_gha.model.report import ApiUse, Excluded, Excused, Failure, ScenarioRow
from scylla_gha.report.document import UNDEFINED, Columns, Markdown, Table, escape, number, percent, table_of
from scylla_gha.report.metrics import estimate
from scylla_gha.report.view import ReportView

NO_TRIAL: Final = {"missing", "not_started"}  # outcomes of cells without a trial
ALPHA_GOOD: Final = 0.8  # Krippendorff 2004, Content Analysis, 241
ALPHA_FAIR: Final = 0.667  # Krippendorff: the lowest limit for tentative conclusions
_MOST_SCENARIOS: Final = 50
_MOST_EXCLUDED: Final = 50
_MOST_FAILURES: Final = 30
_MOST_OUTLIERS: Final = 20
_MOST_ALPHAS: Final = 10
_OPERATIONS: Final = ("reads", "writes", "git")
_NOUNS: Final = ("pr", "issue", "workflow", "release", "repo", "search", "other")
_BIASED: Final = 0.05  # difference of scores (0 to 1) from which a judge is called more generous


@dataclass(frozen=True, slots=True)
class ScenarioMatrix:
    """Pass rates by scenario: a column for each arm (`is_wide`), or their mean and range."""

    table: Table
    is_wide: bool
    arms: int
    scenarios: int

    @property
    def is_hardest(self) -> bool:
        """True if only the hardest scenarios are shown."""
        return self.table.left_out > 0


def scenario_matrix(view: ReportView, most: int = _MOST_SCENARIOS) -> ScenarioMatrix:
    """Return the pass counts of each scenario; only the `most` hardest if there are more."""
    rows = view.report.scenarios
    ranked = rows if len(rows) <= most else sorted(rows, key=_mean_rate)
    arms = [arm.arm for arm in view.report.arms]
    if view.is_wide:
        headings = ("scenario", *map(view.name, arms))
        cells = [(row.scenario, *(_passed(row.passed[arm]) for arm in arms)) for row in ranked[:most]]
    else:
        headings = ("scenario", "mean", "least", "most", "arms that never pass")
        cells = [(row.scenario, *_range(_rates(row)), _never_pass(row)) for row in ranked[:most]]
    return ScenarioMatrix(Table(headings, cells, len(rows) - most, "scenario"), view.is_wide, len(arms), len(rows))


def _passed(passed: tuple[int, int]) -> str:
    return f"{passed[0]}/{passed[1]}" if passed[1] else UNDEFINED


def _rates(row: ScenarioRow) -> list[float]:
    return [passed / judged for passed, judged in row.passed.values() if judged]


def _mean_rate(row: ScenarioRow) -> float:
    rates = _rates(row)
    return fmean(rates) if rates else 2.0  # scenarios without a judged trial come last


def _never_pass(row: ScenarioRow) -> str:
    rates = _rates(row)
    return f"{sum(rate == 0 for rate in rates):,} of {len(rates):,}" if rates else UNDEFINED


def _range(rates: Sequence[float]) -> tuple[str, str, str]:
    if not rates:
        return (UNDEFINED, UNDEFINED, UNDEFINED)
    return percent(fmean(rates)), percent(min(rates)), percent(max(rates))


def kinds(view: ReportView) -> list[Table]:
    """Return a table of pass rates for category, difficulty and size each, if it has several values."""
    arms = [arm.arm for arm in view.report.arms] if view.is_wide else []
    tables = []
    for by in ("category", "difficulty", "size"):
        slices: dict[str, list[Slice]] = {}
        for part in view.analysis.slices if view.analysis else ():
            if part.by == by:
                slices.setdefault(part.name, []).append(part)
        headings = map(view.name, arms) if arms else ("mean", "least", "most")
        rows = [_kind(name, parts, arms) for name, parts in slices.items()]
        if len(rows) > 1:
            tables.append(Table((by, "scenarios", *headings), rows))
    return tables


def _kind(name: str, slices: Sequence[Slice], arms: Sequence[str]) -> tuple[str, ...]:
    """Return a row with an estimate for each of `arms`; without `arms`, with mean and range."""
    scenarios = str(max(part.rate.scenarios for part in slices))
    if not arms:
        return name, scenarios, *_range([part.rate.value for part in slices if part.rate.value is not None])
    rates = {part.arm: part.rate for part in slices}
    return name, scenarios, *(estimate(rates.get(arm)) for arm in arms)


def outcomes(view: ReportView) -> Table:
    """Return how many trials had each outcome, in all and, with few arms, by arm."""
    total = Counter[str]()
    for arm in view.report.arms:
        total.update(arm.outcomes)
    arms = view.report.arms if view.is_wide else ()
    rows = [
        (outcome, f"{count:,}", *(str(arm.outcomes.get(outcome, 0)) for arm in arms))
        for outcome, count in total.most_common()
    ]
    return Table(("outcome", "all", *(view.name(arm.arm) for arm in arms)), rows)


def not_possible(view: ReportView) -> Table:
    """Return the scenarios that are not possible with the tools of a mode, and why."""
    return Table(
        ("mode", "scenario", "why"), [(task.mode, task.scenario, task.reason) for task in view.report.not_possible]
    )


def api_operations(view: ReportView) -> Table:
    """Return the mean API operations of a trial by arm: by kind, by type of object, failed, and tried again."""
    used = [(view.name(arm.arm), arm.api) for arm in view.arms if arm.api]
    nouns = [noun for noun in _NOUNS if any(_of_noun(api, noun) for _, api in used)]
    rows = [
        (
            name,
            *(number(_of_kind(api, kind), 1) for kind in _OPERATIONS),
            *(number(_of_noun(api, noun), 1) for noun in nouns),
            number(api.failed, 1),
            number(api.repeated, 1),
            str(api.trials),
            str(api.scenarios),
        )
        for name, api in used
    ]
    return Table(("arm", *_OPERATIONS, *nouns, "failed", "tried again", "trials", "scenarios"), rows)


def _of_kind(api: ApiUse, kind: str) -> float:
    """Return the mean number of operations of a kind: reads, writes, or git (any verb)."""
    parts = ((call.partition("."), mean) for call, mean in api.calls.items())
    return sum(mean for (noun, _, verb), mean in parts if kind == (noun if noun == "git" else f"{verb}s"))


def _of_noun(api: ApiUse, noun: str) -> float:
    return sum(mean for call, mean in api.calls.items() if call.startswith(f"{noun}."))


def failures(view: ReportView) -> Table:
    """Return the kinds of failures by arm, with links to some of the trials."""
    columns: Columns[Failure] = {
        "arm": lambda kind: view.name(kind.arm),
        "why": lambda kind: kind.kind,
        "trials": lambda kind: f"{kind.count:,}",
        "such as": lambda kind: Markdown(" ".join(escape(view.trial(cell)) for cell in kind.cells)),
    }
    return table_of(view.report.failures, columns, _MOST_FAILURES, "kind")


def outliers(view: ReportView) -> Table:
    """Return the trials that a person should look at, with what is unusual in them."""
    columns: Columns[Outlier] = {"trial": lambda trial: view.trial(trial.cell), "what": lambda trial: trial.what}
    return table_of(view.analysis.odd if view.analysis else (), columns, _MOST_OUTLIERS, "trial")


def excluded(view: ReportView) -> Table:
    """Return the cells that are excluded from the rates, with reasons; cells with a trial are links."""
    columns: Columns[Excluded] = {
        "cell": lambda cell: cell.cell if cell.outcome in NO_TRIAL else view.trial(cell.cell),
        "outcome": lambda cell: cell.outcome,
        "reason": lambda cell: cell.reason,
    }
    return table_of(view.report.excluded, columns, _MOST_EXCLUDED)


def excused(view: ReportView) -> Table:
    """Return the attempts that do not measure the agent, by arm, including those that were retried."""
    columns: Columns[Excused] = {
        "arm": lambda part: view.name(part.arm),
        "outcome": lambda part: part.outcome,
        "attempts": lambda part: f"{part.attempts:,}",
        "trials": lambda part: f"{part.trials:,}",
        "one reason": lambda part: part.reason,
    }
    return table_of(view.report.excused, columns, _MOST_EXCLUDED)


def alpha_text(agreement: Agreement) -> str:
    """Format Krippendorff's alpha with its 95 % interval, if it has one."""
    if agreement.alpha_low is None or agreement.alpha_high is None:
        return number(agreement.alpha)
    return f"{number(agreement.alpha)} [{number(agreement.alpha_low)}, {number(agreement.alpha_high)}]"


def agreement_measures(agreement: Agreement) -> Table:
    """Return the measures of agreement."""
    rows = (
        ("alpha", alpha_text(agreement)),
        ("ICC(2,1)", number(agreement.icc_single)),
        (f"ICC(2,{len(agreement.judges)})", number(agreement.icc_panel)),
        ("kappa", number(agreement.kappa)),
    )
    return Table(("measure of agreement", "value"), rows)


def judge_pairs(agreement: Agreement) -> Table:
    """Return the differences between the judges."""
    rows = []
    for pair in agreement.pairs:
        generous = f" (the {'first' if pair.bias > 0 else 'second'} is more generous)"
        bias = f"{pair.bias:+.2f}{'' if abs(pair.bias) < _BIASED else generous}"
        rows.append((f"{pair.first} - {pair.second}", bias, number(pair.sd), str(pair.n)))
    return Table(("judges", "difference of scores", "its standard deviation", "trials"), rows)


def scenario_alphas(agreement: Agreement) -> Table:
    """Return the scenarios with the least agreement, lowest alpha first."""
    known = sorted((alpha, name) for name, alpha in agreement.by_scenario.items() if alpha is not None)
    rows = [(name, number(alpha)) for alpha, name in known[:_MOST_ALPHAS]]
    return Table(("scenario", "alpha"), rows, len(known) - _MOST_ALPHAS, "scenario")
