"""Arms of a report in a comment, worst first, with evidence."""

import re
from typing import Any, Final

from scylla_gha.counting import dollars
from scylla_gha.model.analysis import Contrast, Verdict
from scylla_gha.model.publication import CommentFacts, RunName
from scylla_gha.model.report import Comparison, Report
from scylla_gha.report.comparisons import arrow, reading
from scylla_gha.report.metrics import LOWER_MARK, change, change_limits
from scylla_gha.report.next_command import WORST_FIRST, is_safe_id
from scylla_gha.report.numbers import UNDEFINED, clipped
from scylla_gha.report.site.addresses import ExperimentPaths
from scylla_gha.report.summary import MARKS, pass_rate
from scylla_gha.report.templates import Markdown, Table, link
from scylla_gha.report.view import ReportView

MOST_ROWS: Final = 10
MOST_NAME: Final = 80
_RUN: Final = re.compile(r"v1/runs/[0-9]+/[0-9]+/(?P<experiment>[^/]+)/(?P<run>[^/]+)-(?P<attempt>[0-9]+)")


def arm_values(view: ReportView, facts: CommentFacts) -> dict[str, Any]:
    """Return a table of at most ten arms, worst first, and the baseline if there is one, for the template."""
    report = view.report
    if report.comparisons:
        return _compared_arms(view, facts)
    ranked = sorted(report.arms, key=lambda arm: 2.0 if arm.pass_rate is None else arm.pass_rate)
    rows = [
        (
            short_name(view, arm.arm),
            *pass_rate(view, arm),
            f"{arm.passed}/{arm.counts.judged}",
            dollars(arm.usd),
            _evidence(report, arm.arm, facts),
        )
        for arm in ranked[:MOST_ROWS]
    ]
    table = Table(("arm", "pass", "95 %", "passed", "USD", "evidence"), rows)
    return {"arms": table, "arms_left_out": len(ranked) - MOST_ROWS, "baseline": None}


def _compared_arms(view: ReportView, facts: CommentFacts) -> dict[str, Any]:
    def rank(comparison: Comparison) -> tuple[int, float]:
        pass_change = view.changes.get(comparison.arm)
        size = 2.0 if pass_change is None or pass_change.value is None else pass_change.value
        return WORST_FIRST.index(comparison.verdict), size

    ranked = sorted(view.report.comparisons, key=rank)
    summaries = {arm.arm: arm for arm in view.report.arms}
    baselines = {comparison.arm: comparison.baseline for comparison in ranked}
    contrasts = view.analysis.contrasts if view.analysis else ()
    costs = {
        contrast.arm: contrast
        for contrast in contrasts
        if contrast.metric == "usd" and contrast.baseline == baselines.get(contrast.arm)
    }
    rows = []
    for comparison in ranked[:MOST_ROWS]:
        arm = comparison.arm
        rate = pass_rate(view, summaries[arm])[0] if arm in summaries else UNDEFINED
        verdict = f"{MARKS[comparison.verdict]} {comparison.verdict.replace('_', ' ')}"
        rows.append(
            (
                short_name(view, arm),
                verdict,
                rate,
                *_change(view.changes.get(arm), comparison.verdict),
                _cost(costs.get(arm)),
                _evidence(view.report, arm, facts),
            )
        )
    baseline = None
    if base := summaries.get(view.baseline):
        rate, interval = pass_rate(view, base)
        baseline = {"name": short_name(view, base.arm), "rate": rate, "interval": interval, "usd": base.usd}
    table = Table(("arm", "verdict", "pass", "change", "95 %", "w/t/l", f"cost {LOWER_MARK}", "evidence"), rows)
    return {"arms": table, "arms_left_out": len(ranked) - MOST_ROWS, "baseline": baseline}


def _change(contrast: Contrast | None, verdict: Verdict) -> tuple[str, str, str]:
    if contrast is None:
        return UNDEFINED, UNDEFINED, UNDEFINED
    return f"{arrow(contrast, verdict)}{change(contrast)}", change_limits(contrast), "/".join(map(str, contrast.wins))


def _cost(contrast: Contrast | None) -> str:
    if contrast is None or contrast.value is None:
        return UNDEFINED
    return f"{arrow(contrast, reading(contrast))}{change(contrast)} {change_limits(contrast)}"


def short_name(view: ReportView, arm: str) -> str:
    """Return an arm's short name, cut if it is long."""
    return clipped(view.name(arm), MOST_NAME)


def _evidence(report: Report, arm: str, facts: CommentFacts) -> str:
    """Return a failed trial of an arm, with links to its files and, if there is a site, to its page."""
    cell = _failed_cell(report, arm)
    if not cell:
        return UNDEFINED
    number = facts.evidence.get(cell)
    files = facts.origin.artifacts if number is None else facts.origin.artifact(number)
    name, page = clipped(cell, 2 * MOST_NAME), report_page(facts)
    if not page or not is_safe_id(cell):
        return link(cell, files, name)
    return Markdown(f"{link(cell, f'{page}#cell={cell}', name)} ([files]({files}))")


def report_page(facts: CommentFacts) -> str:
    """Return the address of the run's page on the site; empty if there is no site, or the run is not published."""
    folder = _RUN.fullmatch(facts.folder)
    if folder is None or not facts.site:
        return ""
    name = RunName(experiment=folder["experiment"], run=folder["run"], attempt=int(folder["attempt"]))
    return f"{facts.site.rstrip('/')}/{ExperimentPaths(name.experiment).run(name)}"


def _failed_cell(report: Report, arm: str) -> str:
    """Return a trial of an arm that did not pass; empty if there is none."""
    return next((cell for failure in report.failures if failure.arm == arm for cell in failure.cells), "")


def slash_command(report: Report, facts: CommentFacts) -> str:
    """Return the slash command that starts this evaluation."""
    return f"/scylla {'compare' if facts.base or report.change else 'evaluate'} {facts.experiment}"


def example_cell(report: Report) -> str:
    """Return a trial that did not pass, of the arm with the worst verdict if it has one; empty if all passed."""
    ranked = sorted(report.comparisons, key=lambda pair: WORST_FIRST.index(pair.verdict))
    arms = (*(pair.arm for pair in ranked), *(arm.arm for arm in report.arms))
    cell = next(filter(None, (_failed_cell(report, arm) for arm in arms)), "")
    return cell if is_safe_id(cell) else ""
