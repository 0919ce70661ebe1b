"""Pages of one experiment's latest run: answer and history, arm against arm, tiers, judges, and its scenarios."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from scylla_gha.model.analysis import Contrast, Slice
from scylla_gha.model.report import Report
from scylla_gha.report import outcomes, tiers
from scylla_gha.report.charts.history import history, readiness_history
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.metrics import change, change_limits, limits
from scylla_gha.report.numbers import UNDEFINED, percent
from scylla_gha.report.page.answer import key_figures
from scylla_gha.report.page.page import banner
from scylla_gha.report.page.trial_table import TrialRow, TrialTable, trial_columns
from scylla_gha.report.questions import five_answers
from scylla_gha.report.site.addresses import GLOSSARY, page_link
from scylla_gha.report.site.site_data import SiteExperiment, SiteRun, readiness_table, run_facts, run_table
from scylla_gha.report.site.site_page import SiteFile, SitePage, Widget, page_files, sections
from scylla_gha.report.summary import (
    COUNTS_NOTE,
    HEADINGS,
    LOWER_IS_BETTER,
    arm_row,
    hypothesis_line,
    verdict_counts,
    verdict_lines,
)
from scylla_gha.report.templates import Markdown, Table
from scylla_gha.report.view import MOST_COLUMNS, ReportView, note_text, notes, report_view
from scylla_gha.stats import format_p

_MOST_RUNS: Final = 200
_INDEX: Final = "the index of the results branch"
_MOST_VERDICTS: Final = 10
_MOST_PAIRED: Final = 200  # arms
_MOST_EARLIER_RUNS: Final = 30


@dataclass(frozen=True, slots=True)
class LatestRun:
    """The run that an experiment's pages are about, and its charts by name."""

    experiment: SiteExperiment
    run: SiteRun
    report: Report
    view: ReportView
    charts: dict[str, Chart]

    @property
    def trail(self) -> list[tuple[str, str]]:
        """Link to the experiment's own page."""
        return [(self.experiment.name, self.experiment.paths.home)]

    @property
    def lead(self) -> str:
        """Sentence that names the run of the numbers."""
        return f"Of {run_facts(self.run)}."


def latest_run(experiment: SiteExperiment, charts: Sequence[Chart]) -> LatestRun | None:
    """Return the latest run with its view; None if no run measured anything that can be read."""
    run = experiment.latest
    if run is None or run.report is None:
        return None
    return LatestRun(experiment, run, run.report, report_view(run.report), {chart.name: chart for chart in charts})


def experiment_files(experiment: SiteExperiment, latest: LatestRun | None) -> Iterator[SiteFile]:
    """Yield the pages of an experiment, except those of its runs and scenarios."""
    yield from page_files(_home(experiment, latest))
    if latest is not None:
        yield from page_files(_arms(latest))
        yield from page_files(_tiers(latest))
        yield from page_files(_judges(latest))


def _home(experiment: SiteExperiment, latest: LatestRun | None) -> SitePage:
    page = experiment.paths.home
    values: dict[str, Any] = {
        "experiment": experiment,
        "latest": latest,
        "history": experiment.history,
        "readiness": readiness_table(experiment, page, _MOST_RUNS),
        "runs": run_table(experiment.runs, page, _MOST_RUNS, _INDEX),
        "pulls": run_table(experiment.pulls, page, _MOST_RUNS, _INDEX),
    }
    charts: dict[str, list[Chart | None]] = {
        "History": [history(experiment.history) if experiment.history else None],
        "Readiness": [_readiness_chart(experiment)],
    }
    if latest is not None:
        values |= _answer(latest, page)
        charts["Answer"] = [latest.charts.get("forest"), latest.charts.get("cost_pass")]
    parts = sections("site_experiment.md.j2", values, charts)
    figures = tuple(key_figures(latest.view)) if latest else ()
    parts = [replace(part, figures=figures) if part.title == "Answer" else part for part in parts]
    return SitePage(
        page,
        latest.report.question if latest else experiment.name,
        experiment.name,
        parts,
        lead=latest.lead if latest else "",
        banner=banner(latest.report) if latest else "",
    )


def _readiness_chart(experiment: SiteExperiment) -> Chart | None:
    runs = reversed(experiment.readiness)
    return readiness_history([(run.label, run.readiness) for run in runs if run.readiness])


def _answer(latest: LatestRun, page: str) -> dict[str, Any]:
    view, paths = latest.view, latest.experiment.paths
    lines = list(verdict_lines(view, _MOST_VERDICTS))
    matrix = outcomes.scenario_matrix(view, len(latest.report.scenarios))
    linked = [(page_link(name, paths.scenario(name), page), *cells) for name, *cells in matrix.table.rows]
    more = {
        "arm against arm": paths.arms,
        "tiers": paths.tiers,
        "judges": paths.judges,
        "all trials of this run": paths.run(latest.run.entry.name),
        "glossary": GLOSSARY,
    }
    return {
        "verdicts": lines,
        "left_out": len(latest.report.answer) - len(lines),
        "hypothesis": hypothesis_line(latest.report),
        "mode_by_model": tiers.mode_by_model_line(latest.view),
        "verdict_counts": verdict_counts(view, _MOST_VERDICTS),
        "arms": _arm_table(view),
        "counts_note": COUNTS_NOTE,
        "matrix": matrix,
        "scenarios": replace(matrix.table, rows=linked),
        "links": Markdown(", ".join(page_link(name, target, page) for name, target in more.items())),
        "notes": [note_text(view, note) for note in notes(view)],
    }


def _arm_table(view: ReportView) -> Table:
    headings = [f"{name} ↓" if name in LOWER_IS_BETTER else name for name in HEADINGS]
    return Table(headings, [arm_row(view, arm, wide=True) for arm in view.arms], view.left_out, "arm")


def _arms(latest: LatestRun) -> SitePage:
    paired = _paired(latest.view)
    rates = [{arm: list(counts) for arm, counts in row.passed.items()} for row in latest.report.scenarios]
    arms = [arm.arm for arm in latest.report.arms]
    data = {
        "arms": [latest.view.name(arm) for arm in arms],
        "scenarios": [row.scenario for row in latest.report.scenarios],
        "passed": [[row[arm] for arm in arms] for row in rates],
        "first": max(0, next((at for at, arm in enumerate(arms) if arm in latest.view.baselines), 0)),
    }
    widgets: dict[str, Widget] = {"Any two arms": "pairs"} if len(arms) > 1 else {}
    parts = sections(
        "site_arms.md.j2",
        {"paired": paired, "is_pair": len(arms) > 1},
        {"Against the baseline": [latest.charts.get("forest")], "Scenarios": [latest.charts.get("scenario_map")]},
        widgets,
    )
    return _page(latest, latest.experiment.paths.arms, "Arm against arm", parts, data if widgets else None)


def _paired(view: ReportView) -> Table:
    """Return the change of each arm's pass rate against its baseline, paired by scenario, with its verdict."""
    compared = view.report.comparisons
    rows = []
    for comparison in compared[:_MOST_PAIRED]:
        contrast = view.changes.get(comparison.arm)
        # The numbers before the first semicolon have columns of their own.
        why = comparison.why.partition("; ")[2] if contrast and contrast.p_adjusted is not None else comparison.why
        rows.append(
            (
                view.name(comparison.arm),
                view.name(comparison.baseline),
                *_contrast_cells(contrast),
                comparison.verdict.replace("_", " "),
                why,
            )
        )
    headings = (
        "arm",
        "against",
        "change of the pass rate",
        "95 %",
        "won/tied/lost",
        "scenarios",
        "adjusted p",
        "verdict",
        "why",
    )
    return Table(headings, rows, len(compared) - _MOST_PAIRED, "arm")


def _contrast_cells(contrast: Contrast | None) -> tuple[str, ...]:
    if contrast is None or contrast.value is None:
        return (UNDEFINED,) * 5
    p = UNDEFINED if contrast.p_adjusted is None else format_p(contrast.p_adjusted)
    return change(contrast), change_limits(contrast), "/".join(map(str, contrast.wins)), str(contrast.scenarios), p


def _tiers(latest: LatestRun) -> SitePage:
    view = latest.view
    values = {
        "tiers": tiers.tiers(view),
        "steps": tiers.tier_steps(view),
        "best": tiers.best_subtests(view),
        "tokens": tiers.tier_tokens(view),
        "treatments": tiers.tier_treatments(view),
        "wholes": tiers.wholes(view),
        "answers": five_answers(view),
    }
    parts = sections("site_tiers.md.j2", values, {"Ladder": [latest.charts.get("tier_ladder")]})
    return _page(latest, latest.experiment.paths.tiers, "Tiers", parts)


def _judges(latest: LatestRun) -> SitePage:
    agreement = latest.view.analysis.agreement if latest.view.analysis else None
    values = (
        {
            "agreement": agreement,
            "measures": outcomes.agreement_measures(agreement),
            "pairs": outcomes.judge_pairs(agreement),
            "alphas": outcomes.scenario_alphas(agreement),
            "alpha_good": outcomes.ALPHA_GOOD,
            "alpha_fair": outcomes.ALPHA_FAIR,
        }
        if agreement
        else {"agreement": None}
    )
    parts = sections("site_judges.md.j2", values, {"Agreement": [latest.charts.get("judges")]})
    return _page(latest, latest.experiment.paths.judges, "Judges", parts)


def _page(latest: LatestRun, path: str, title: str, parts: Sequence[Any], data: object = None) -> SitePage:
    return SitePage(
        path, f"{title}: {latest.experiment.name}", title, parts, latest.trail, latest.lead, banner(latest.report), data
    )


def scenario_files(latest: LatestRun, table: TrialTable | None) -> Iterator[SiteFile]:
    """Yield a page for each scenario.

    Args:
        latest: the experiment's latest run.
        table: its trials; None: its rows cannot be read.
    """
    trials: dict[str, list[TrialRow]] = {}
    for row in table.rows if table else ():
        trials.setdefault(row.scenario, []).append(row)
    slices: dict[str, dict[str, Slice]] = {}
    for part in latest.view.analysis.slices if latest.view.analysis else ():
        if part.by == "scenario":
            slices.setdefault(part.name, {})[part.arm] = part
    earlier = [
        (run, {row.scenario: row.passed for row in run.report.scenarios})
        for run in latest.experiment.followed
        if run.report and run.is_measured and run.report.github in (None, latest.report.github)
    ][:_MOST_EARLIER_RUNS]
    for scenario in latest.report.scenarios:
        name = scenario.scenario
        data = TrialTable(tuple(trials.get(name, ())), table.arms, has_files=False, is_site=True) if table else None
        yield from page_files(
            _scenario_page(
                latest,
                name,
                (_rates(latest, scenario.passed, slices.get(name, {})), _history(latest, name, earlier)),
                data,
            )
        )


def _scenario_page(latest: LatestRun, name: str, tables: tuple[Table, Table], data: TrialTable | None) -> SitePage:
    path = latest.experiment.paths.scenario(name)
    widgets: dict[str, Widget] = {"Trials": "trials"} if data else {}
    values = {"rates": tables[0], "history": tables[1], "has_trials": data is not None}
    parts = sections("site_scenario.md.j2", values, widgets=widgets)
    return SitePage(
        path, name, name, parts, latest.trail, latest.lead, banner(latest.report), trial_columns(data) if data else None
    )


def _rates(latest: LatestRun, passed: Mapping[str, tuple[int, int]], slices: Mapping[str, Slice]) -> Table:
    rows = []
    for arm in latest.view.arms:
        passes, judged = passed[arm.arm]
        rate = slices[arm.arm].rate if arm.arm in slices else None
        rows.append(
            (
                latest.view.name(arm.arm),
                f"{passes}/{judged}",
                percent(passes / judged) if judged else UNDEFINED,
                limits(rate),
            )
        )
    return Table(
        ("arm", "passed of judged", "pass rate", "95 %"), rows, latest.view.left_out, "arm", "the trials below"
    )


def _history(
    latest: LatestRun, name: str, runs: Sequence[tuple[SiteRun, Mapping[str, Mapping[str, tuple[int, int]]]]]
) -> Table:
    """Return the passed of judged trials in each run, newest first, of the arms that there is room for."""
    arms = [arm.arm for arm in latest.view.arms][:MOST_COLUMNS]
    paths = latest.experiment.paths
    rows = []
    for run, by_scenario in runs:
        passed = by_scenario.get(name, {})
        counts = [passed.get(arm, (0, 0)) for arm in arms]
        rows.append(
            (
                page_link(run.label, paths.run(run.entry.name), paths.scenario(name)),
                *(f"{count[0]}/{count[1]}" if count[1] else UNDEFINED for count in counts),
            )
        )
    return Table(("run", *(latest.view.name(arm) for arm in arms)), rows)
