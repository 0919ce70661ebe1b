"""Pages of the scenarios of an experiment's latest run: pass rate by arm, all trials, and earlier runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scylla_gha.model.analysis import Slice
from scylla_gha.report.metrics import limits
from scylla_gha.report.numbers import UNDEFINED, percent
from scylla_gha.report.page.page import banner
from scylla_gha.report.page.trial_table import TrialRow, TrialTable, trial_columns
from scylla_gha.report.site.addresses import page_link
from scylla_gha.report.site.experiment_pages import LatestRun
from scylla_gha.report.site.site_data import SiteRun
from scylla_gha.report.site.site_page import SiteFile, SitePage, Widget, page_files, sections
from scylla_gha.report.templates import Table
from scylla_gha.report.view import MOST_COLUMNS

_MOST_RUNS: Final = 30


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
    ][:_MOST_RUNS]
    for scenario in latest.report.scenarios:
        name = scenario.scenario
        data = TrialTable(tuple(trials.get(name, ())), table.arms, has_files=False, is_site=True) if table else None
        yield from page_files(
            _page(
                latest,
                name,
                (_rates(latest, scenario.passed, slices.get(name, {})), _history(latest, name, earlier)),
                data,
            )
        )


def _page(latest: LatestRun, name: str, tables: tuple[Table, Table], data: TrialTable | None) -> SitePage:
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
