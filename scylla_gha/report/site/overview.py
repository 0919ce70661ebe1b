"""Build the site's overview (each experiment's latest verdict, history and runs) and its glossary."""

from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.report import History
from scylla_gha.report import glossary
from scylla_gha.report.branch_readme import badge_values, decisive_arm
from scylla_gha.report.charts.history import history
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.document import UNDEFINED, Bullets, Markdown, MarkdownPage, Section, Table, more, section
from scylla_gha.report.readiness_text import headline as readiness_headline
from scylla_gha.report.sections import NOT_COMPARED, headline, verdict_bullets
from scylla_gha.report.site import (
    GLOSSARY,
    HOME,
    OVERVIEW,
    SiteFile,
    SitePage,
    page_files,
    page_link,
    site_section,
)
from scylla_gha.report.site.experiment_pages import no_report
from scylla_gha.report.site.site_data import SiteExperiment, run_facts, run_table
from scylla_gha.report.view import report_view

_MOST_RUNS: Final = 5
_MOST_VERDICTS: Final = 3
_MOST_CHARTS: Final = 12  # experiments with a chart in the overview; all have one on their own page
_HEADINGS: Final = ("experiment", "verdict", "pass rate", "USD/pass ↓", "latest run", "runs")


def overview_files(experiments: Sequence[SiteExperiment], branch: str) -> Iterator[SiteFile]:
    """Yield the files of the overview and the glossary.

    Args:
        experiments: experiments in the order on the page.
        branch: name of the results branch.
    """
    runs = sum(len(experiment.runs) for experiment in experiments)
    pulls = sum(len(experiment.pulls) for experiment in experiments)
    counts = f"{counted(len(experiments), 'experiment')}, {counted(runs, 'run')}"
    lead = f"{counts}, and {counted(pulls, 'run')} of pull requests, on the branch {branch}" if experiments else ""
    cards = [
        site_section(_card(experiment), _chart(experiment) if at < _MOST_CHARTS else None)
        for at, experiment in enumerate(experiments)
    ]
    parts = [site_section(_experiments(experiments, branch)), *cards]
    yield from page_files(SitePage(OVERVIEW, "Evaluation results", HOME, parts, lead=lead))
    words = section("Words and signs", MarkdownPage(glossary().partition("\n\n")[2]))
    yield from page_files(SitePage(GLOSSARY, "Glossary", "Glossary", [site_section(words)]))


def _experiments(experiments: Sequence[SiteExperiment], branch: str) -> Section:
    none = Markdown(
        "There is no run on the branch {} yet. `scylla-gha publish branch` adds one; in GitHub Actions, every report "
        "job does."
    )
    words = Markdown(
        "Verdict, pass rate and cost of a pass belong to the arm that decides the verdict of the latest complete run. "
        "{}."
    )
    if not experiments:
        return section("Experiments", none.fill(branch))
    meaning = words.fill(page_link("What the words mean", GLOSSARY, OVERVIEW))
    return section("Experiments", Table(_HEADINGS, [_row(experiment) for experiment in experiments]), meaning)


def _card(experiment: SiteExperiment) -> Section:
    """Return an experiment's section of the overview."""
    latest, home = experiment.latest, _home_link(experiment)
    runs = run_table(experiment.runs, OVERVIEW, _MOST_RUNS, "the page of the experiment")
    if latest is None or latest.report is None:
        return section(experiment.name, Markdown("{} Its runs: {}.").fill(no_report(experiment), home), runs)
    answer, question = headline(report_view(latest.report), _MOST_VERDICTS), latest.report.question
    readiness = [Markdown("**{}**").fill(readiness_headline(latest.readiness))] if latest.readiness else []
    lines = [*readiness, *verdict_bullets(answer.verdicts).items]
    banner = Markdown("**{}** ").fill(answer.banner) if answer.banner else ""
    facts = Markdown("{}From {}. Charts, tables and all runs: {}.").fill(banner, run_facts(latest), home)
    return section(
        experiment.name,
        Markdown("*{}*").fill(question) if question else "",
        Bullets(lines) if lines else NOT_COMPARED,
        more(answer.left_out, "verdict", "the experiment's page").strip(),
        facts,
        runs,
    )


def _home_link(experiment: SiteExperiment) -> Markdown:
    return page_link(experiment.name, experiment.paths.home, OVERVIEW)


def _row(experiment: SiteExperiment) -> tuple[str, ...]:
    home, count, latest = _home_link(experiment), str(len(experiment.runs)), experiment.latest
    if latest is None or latest.report is None:
        return home, "not enough data", UNDEFINED, UNDEFINED, UNDEFINED, count
    run = page_link(latest.label, experiment.paths.run(latest.entry.name), OVERVIEW)
    badges = badge_values(latest.report)
    verdict = readiness_headline(latest.readiness) if latest.readiness else badges["verdict"]
    return home, verdict, badges["pass-rate"], badges["cost-of-pass"], run, count


def _chart(experiment: SiteExperiment) -> Chart | None:
    """Return the chart of the history of the arm that decides the verdict, and of its baseline."""
    latest = experiment.latest
    if experiment.history is None or latest is None or latest.report is None:
        return None
    arm = decisive_arm(latest.report)
    baselines = {comparison.baseline for comparison in latest.report.comparisons if arm and comparison.arm == arm.arm}
    shown = {*baselines, *((arm.arm,) if arm else ())}
    all_series = experiment.history.series
    series = [arm_series for arm_series in all_series if arm_series.arm in shown] or all_series[:2]
    return history(
        History(baseline=experiment.history.baseline, margin=experiment.history.margin, series=tuple(series))
    )
