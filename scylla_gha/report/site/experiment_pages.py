"""Build the pages on an experiment's latest run: answer and history, comparison of arms, tiers, judges, scenarios."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from scylla_gha.model.analysis import Contrast, Slice
from scylla_gha.model.report import Comparison, Report, Shift
from scylla_gha.report import outcomes
from scylla_gha.report.charts.history import history, readiness_history
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.document import (
    UNDEFINED,
    Bullets,
    Columns,
    Markdown,
    Section,
    Table,
    more,
    p_value,
    percent,
    section,
    table_after,
    table_of,
)
from scylla_gha.report.metrics import change, change_limits, limits
from scylla_gha.report.page import key_figures
from scylla_gha.report.page.trials import TrialRow, TrialTable, trial_columns
from scylla_gha.report.sections import (
    NOT_COMPARED,
    Headline,
    arm_table,
    combinations,
    counts_note,
    headline,
    judges,
    matrix_blocks,
    questions,
    tier_results,
    verdict_bullets,
    warnings,
)
from scylla_gha.report.site import (
    GLOSSARY,
    SiteFile,
    SitePage,
    SiteSection,
    page_files,
    page_link,
    site_section,
)
from scylla_gha.report.site.site_data import SiteExperiment, SiteRun, readiness_table, run_facts, run_table
from scylla_gha.report.view import MOST_COLUMNS, PASS, ReportView, report_view

_MOST_RUNS: Final = 200
_INDEX: Final = "the index of the results branch"
_MOST_VERDICTS: Final = 10
_MOST_PAIRED: Final = 200  # arms
_MOST_EARLIER_RUNS: Final = 30
_ANY_TWO: Final = Markdown(
    "Counts of two arms side by side. They are not a verdict: test a pair that you chose after a look at the numbers "
    "with a new experiment, or use `scylla-gha compare`."
)
_NO_ROWS: Final = "The results of this run cannot be read, so its trials are not shown."
_ONE_RUN: Final = "Not enough data: only one run has a readable report."


@dataclass(frozen=True, slots=True)
class LatestRun:
    """The run that an experiment's pages show, and its charts by name."""

    experiment: SiteExperiment
    run: SiteRun
    report: Report
    view: ReportView
    charts: dict[str, Chart]

    @property
    def trail(self) -> list[tuple[str, str]]:
        """Name and path of the experiment's main page, for breadcrumbs."""
        return [(self.experiment.name, self.experiment.paths.home)]

    @property
    def answer(self) -> Headline:
        """The run's answer."""
        return headline(self.view, _MOST_VERDICTS)

    @property
    def lead(self) -> str:
        """Sentence that names the run from which the page's numbers come."""
        return f"The numbers are from {run_facts(self.run)}."


def latest_run(experiment: SiteExperiment, charts: Sequence[Chart]) -> LatestRun | None:
    """Return the latest run with its view; None if no run has a readable report with measurements."""
    run = experiment.latest
    if run is None or run.report is None:
        return None
    return LatestRun(experiment, run, run.report, report_view(run.report), {chart.name: chart for chart in charts})


def no_report(experiment: SiteExperiment) -> str:
    """Return why an experiment has no answer."""
    return f"Not enough data: none of the {experiment.source} has a readable report with measurements."


def experiment_files(experiment: SiteExperiment, latest: LatestRun | None) -> Iterator[SiteFile]:
    """Yield the pages of an experiment, except the pages of its runs and scenarios."""
    yield from page_files(_home(experiment, latest))
    if latest is not None:
        yield from page_files(_arms(latest))
        yield from page_files(_tiers(latest))
        yield from page_files(_judges(latest))


def _home(experiment: SiteExperiment, latest: LatestRun | None) -> SitePage:
    page = experiment.paths.home
    parts = [
        site_section(_readiness(experiment, page), _readiness_chart(experiment)),
        *(_latest_parts(latest, page) if latest else [site_section(section("Answer", no_report(experiment)))]),
        site_section(_history(experiment), history(experiment.history) if experiment.history else None),
        *_details(latest, page),
        *map(site_section, _runs(experiment, page)),
    ]
    return SitePage(
        page,
        latest.report.question if latest else experiment.name,
        experiment.name,
        parts,
        lead=latest.lead if latest else "",
        banner=latest.answer.banner if latest else "",
    )


def _readiness(experiment: SiteExperiment, page: str) -> Section:
    words = (
        "0 is the level of guessing, 100 is the full score. Only scores of the same code base, agent and model can be "
        "compared."
    )
    return section("Readiness", *table_after(words, readiness_table(experiment, page, _MOST_RUNS)))


def _latest_parts(latest: LatestRun, page: str) -> Iterator[SiteSection]:
    """Yield the sections of the answer and the arms."""
    answer, paths = latest.answer, latest.experiment.paths
    addresses = {
        "arm against arm": paths.arms,
        "tiers": paths.tiers,
        "judges": paths.judges,
        "all trials of this run": paths.run(latest.run.entry.name),
        "glossary": GLOSSARY,
    }
    links = Markdown(", ".join(page_link(name, target, page) for name, target in addresses.items()))
    content = section(
        "Answer",
        answer.counts,
        verdict_bullets(answer.verdicts) if answer.verdicts else NOT_COMPARED,
        more(answer.left_out, "verdict", "the page that compares arms").strip(),
        answer.hypothesis,
        answer.mode_by_model,
        Markdown("More: {}.").fill(links),
    )
    charts = (latest.charts.get("forest"), latest.charts.get("cost_pass"))
    yield replace(site_section(content, *charts), figures=tuple(key_figures(latest.view)))
    yield site_section(section("Arms", arm_table(latest.view), counts_note(latest.view, is_marked=False)))


def _history(experiment: SiteExperiment) -> Section:
    """Return the section on the history, with its changes and notes."""
    if experiment.history is None:
        words = f"Not enough data: a history needs two complete runs; there are fewer complete {experiment.source}."
        return section("History", words)
    source = experiment.source.capitalize()
    words = f"{source}, oldest first, without runs of pull requests, replays and incomplete runs."
    shifts = [_shift(series.arm, shift) for series in experiment.history.series for shift in series.shifts]
    return section("History", words, Bullets([*shifts, *experiment.history.notes]))


def _shift(arm: str, shift: Shift) -> str:
    rates = ""
    if shift.before is not None and shift.metric == PASS:
        rates = f", from {percent(shift.before)} to {percent(shift.after)}"
    drift = " (a slow drift)" if shift.kind == "drift" else ""
    metric, verb = shift.metric.replace("_", " "), "rises" if shift.side == "up" else "falls"
    return f"{arm}: {metric} {verb} at {shift.run}{rates}{drift}"


def _details(latest: LatestRun | None, page: str) -> Iterator[SiteSection]:
    """Yield the sections of the scenarios, with links to their pages, and of the warnings."""
    if latest is None:
        return
    paths, matrix = latest.experiment.paths, outcomes.scenario_matrix(latest.view, len(latest.report.scenarios))
    linked = [(page_link(name, paths.scenario(name), page), *cells) for name, *cells in matrix.table.rows]
    blocks = matrix_blocks(replace(matrix, table=replace(matrix.table, rows=linked)))
    yield site_section(section("Scenarios", *blocks))
    yield site_section(warnings(latest.view, len(latest.report.warnings)))


def _runs(experiment: SiteExperiment, page: str) -> tuple[Section, Section]:
    runs, pulls = (run_table(rows, page, _MOST_RUNS, _INDEX) for rows in (experiment.runs, experiment.pulls))
    none = "" if experiment.runs else "There are only runs of pull requests."
    words = "These runs change neither the verdict above nor the history." if experiment.pulls else ""
    return section("Runs", runs, none), section("Pull requests", pulls, words)


def _readiness_chart(experiment: SiteExperiment) -> Chart | None:
    runs = reversed(experiment.readiness)
    return readiness_history([(run.label, run.readiness) for run in runs if run.readiness])


def _arms(latest: LatestRun) -> SitePage:
    rates = [{arm: list(counts) for arm, counts in row.passed.items()} for row in latest.report.scenarios]
    arms = [arm.arm for arm in latest.report.arms]
    data = {
        "arms": [latest.view.name(arm) for arm in arms],
        "scenarios": [row.scenario for row in latest.report.scenarios],
        "passed": [[row[arm] for arm in arms] for row in rates],
        "first": max(0, next((at for at, arm in enumerate(arms) if arm in latest.view.baselines), 0)),
    }
    words = "Each arm's pass rate against its baseline's, paired by scenario: won, tied and lost count scenarios."
    paired = table_after(words, _paired(latest.view)) or (NOT_COMPARED,)
    is_pair = len(arms) > 1
    parts = [
        site_section(section("Against the baseline", *paired), latest.charts.get("forest")),
        site_section(section("Any two arms", _ANY_TWO if is_pair else ""), widget="pairs" if is_pair else ""),
        site_section(section("Scenarios"), latest.charts.get("scenario_map")),
    ]
    return _page(latest, latest.experiment.paths.arms, "Arm against arm", parts, data if is_pair else None)


def _paired(view: ReportView) -> Table:
    """Return the change of each arm's pass rate against its baseline, paired by scenario, with its verdict."""

    def change_column(text: Callable[[Contrast], str]) -> Callable[[Comparison], str]:
        def cell(comparison: Comparison) -> str:
            contrast = view.changes.get(comparison.arm)
            return UNDEFINED if contrast is None or contrast.value is None else text(contrast)

        return cell

    columns: Columns[Comparison] = {
        "arm": lambda comparison: view.name(comparison.arm),
        "against": lambda comparison: view.name(comparison.baseline),
        "change of the pass rate": change_column(change),
        "95 %": change_column(change_limits),
        "won/tied/lost": change_column(lambda contrast: "/".join(map(str, contrast.wins))),
        "scenarios": change_column(lambda contrast: str(contrast.scenarios)),
        "adjusted p": change_column(lambda contrast: p_value(contrast.p_adjusted)),
        "verdict": lambda comparison: comparison.verdict.replace("_", " "),
        "why": lambda comparison: _reason(view, comparison),
    }
    return table_of(view.report.comparisons, columns, _MOST_PAIRED, "arm")


def _reason(view: ReportView, comparison: Comparison) -> str:
    """Return why a comparison has its verdict, without the numbers that are in other columns."""
    contrast = view.changes.get(comparison.arm)
    has_p = contrast is not None and contrast.p_adjusted is not None
    return comparison.why.partition("; ")[2] if has_p else comparison.why


def _tiers(latest: LatestRun) -> SitePage:
    view = latest.view
    results = tier_results(view)
    if not results.blocks:
        results = section(results.title, "Not enough data: a comparison of tiers needs trials of two tiers.")
    parts = [
        site_section(results, latest.charts.get("tier_ladder")),
        *map(site_section, (combinations(view), questions(view))),
    ]
    return _page(latest, latest.experiment.paths.tiers, "Tiers", parts)


def _judges(latest: LatestRun) -> SitePage:
    agreement = judges(latest.view)
    if not agreement.blocks:
        agreement = section(agreement.title, "Not enough data: agreement needs two judges who scored the same trials.")
    parts = [site_section(agreement, latest.charts.get("judges"))]
    return _page(latest, latest.experiment.paths.judges, "Judges", parts)


def _page(latest: LatestRun, path: str, title: str, parts: Sequence[SiteSection], data: object = None) -> SitePage:
    heading, banner = f"{title}: {latest.experiment.name}", latest.answer.banner
    return SitePage(path, heading, title, parts, latest.trail, latest.lead, banner, data)


def scenario_files(latest: LatestRun, table: TrialTable | None) -> Iterator[SiteFile]:
    """Yield a page for each scenario.

    Args:
        latest: the experiment's latest run.
        table: trials of that run; None: its results cannot be read.
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
                (_rates(latest, scenario.passed, slices.get(name, {})), _earlier_runs(latest, name, earlier)),
                data,
            )
        )


def _scenario_page(latest: LatestRun, name: str, tables: tuple[Table, Table], data: TrialTable | None) -> SitePage:
    path, (rates, earlier) = latest.experiment.paths.scenario(name), tables
    runs = table_after("Passed of judged, newest first:", earlier) if len(earlier.rows) > 1 else (_ONE_RUN,)
    parts = [
        site_section(section("Pass rate by arm", rates)),
        site_section(section("Trials", "" if data else _NO_ROWS), widget="trials" if data else ""),
        site_section(section("Earlier runs", *runs)),
    ]
    columns = trial_columns(data) if data else None
    return SitePage(path, name, name, parts, latest.trail, latest.lead, latest.answer.banner, columns)


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


def _earlier_runs(
    latest: LatestRun, name: str, runs: Sequence[tuple[SiteRun, Mapping[str, Mapping[str, tuple[int, int]]]]]
) -> Table:
    """Return how many judged trials of a scenario passed in each run, for the arms that fit into the table."""
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
