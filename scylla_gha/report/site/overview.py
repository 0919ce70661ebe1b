"""The overview: the latest verdict of each experiment, its history, and its runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.comparison import History
from scylla_gha.report.badges import badge_values, decisive_arm
from scylla_gha.report.charts.history import history
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.markdown import glossary
from scylla_gha.report.numbers import UNDEFINED
from scylla_gha.report.page.page import banner
from scylla_gha.report.readiness_text import headline
from scylla_gha.report.site.addresses import GLOSSARY, OVERVIEW, page_link
from scylla_gha.report.site.site_data import SiteExperiment, SiteRun, run_facts, run_table
from scylla_gha.report.site.site_page import HOME, SiteFile, SitePage, SiteSection, page_files, sections
from scylla_gha.report.summary import VerdictLine, verdict_lines
from scylla_gha.report.templates import Markdown, Table
from scylla_gha.report.view import report_view

_MOST_RUNS: Final = 5
_MOST_VERDICTS: Final = 3
_MOST_CHARTS: Final = 12  # experiments; the others have theirs on their own page
_HEADINGS: Final = ("experiment", "verdict", "pass rate", "USD/pass ↓", "latest run", "runs")


@dataclass(frozen=True, slots=True)
class _Card:
    """Part of the overview about one experiment."""

    experiment: SiteExperiment
    home: Markdown
    latest: SiteRun | None
    facts: str
    banner: str
    question: str
    verdicts: Sequence[VerdictLine]
    left_out: int
    badges: dict[str, str]
    runs: Table
    readiness: str = ""


def overview_files(experiments: Sequence[SiteExperiment], branch: str) -> Iterator[SiteFile]:
    """Yield the overview and the glossary.

    Args:
        experiments: in the order in which they are shown.
        branch: name of the results branch.
    """
    cards = [_card(experiment) for experiment in experiments]
    values = {
        "cards": cards,
        "branch": branch,
        "table": Table(_HEADINGS, [_row(card) for card in cards]),
        "glossary": page_link("What the words mean", GLOSSARY, OVERVIEW),
    }
    charts = {card.experiment.name: (_chart(card.experiment),) for card in cards[:_MOST_CHARTS]}
    counts = f"{counted(len(cards), 'experiment')}, {counted(sum(len(card.experiment.runs) for card in cards), 'run')}"
    pulls = sum(len(card.experiment.pulls) for card in cards)
    lead = f"{counts}, and {counted(pulls, 'run')} of pull requests, of the branch {branch}" if cards else ""
    parts = sections("site_overview.md.j2", values, charts)
    yield from page_files(SitePage(OVERVIEW, "Evaluation results", HOME, parts, lead=lead))
    text = glossary().partition("\n\n")[2]
    yield from page_files(SitePage(GLOSSARY, "Glossary", "Glossary", [SiteSection("Words and signs", text)]))


def _card(experiment: SiteExperiment) -> _Card:
    latest, home = experiment.latest, page_link(experiment.name, experiment.paths.home, OVERVIEW)
    runs = run_table(experiment.runs, OVERVIEW, _MOST_RUNS, "the page of the experiment")
    report = latest.report if latest else None
    if latest is None or report is None:
        return _Card(experiment, home, None, "", "", "", (), 0, {}, runs)
    lines = list(verdict_lines(report_view(report), _MOST_VERDICTS))
    return _Card(
        experiment,
        home,
        latest,
        run_facts(latest),
        banner(report),
        report.question,
        lines,
        len(report.answer) - len(lines),
        badge_values(report),
        runs,
        headline(latest.readiness) if latest.readiness else "",
    )


def _row(card: _Card) -> tuple[str, ...]:
    count = str(len(card.experiment.runs))
    if card.latest is None:
        return card.home, "not enough data", UNDEFINED, UNDEFINED, UNDEFINED, count
    run = page_link(card.latest.label, card.experiment.paths.run(card.latest.entry.name), OVERVIEW)
    badges = card.badges
    return card.home, card.readiness or badges["verdict"], badges["pass-rate"], badges["cost-of-pass"], run, count


def _chart(experiment: SiteExperiment) -> Chart | None:
    """Return the history of the arm that decides the verdict, and of its baseline."""
    latest = experiment.latest
    if experiment.history is None or latest is None or latest.report is None:
        return None
    arm = decisive_arm(latest.report)
    baselines = {comparison.baseline for comparison in latest.report.comparisons if arm and comparison.arm == arm.arm}
    shown = {*baselines, *((arm.arm,) if arm else ())}
    series = [one_arm for one_arm in experiment.history.series if one_arm.arm in shown] or experiment.history.series[:2]
    return history(
        History(baseline=experiment.history.baseline, margin=experiment.history.margin, series=tuple(series))
    )
