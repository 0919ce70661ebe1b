"""Render the report as a comment on a pull request, within GitHub's limit: the answer first, most sections folded.

Untrusted text (names, reasons, warnings) is escaped and cut; links lead only to GitHub and to the site. The first line
is the marker by which the comment is found, the second line its state; no untrusted text precedes them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model import Sha
from scylla_gha.model.analysis import Contrast, Verdict
from scylla_gha.model.publication import CommentFacts, PastVerdict
from scylla_gha.model.report import ArmSummary, Comparison, Excluded, Report
from scylla_gha.report.comparisons import arrow, reading
from scylla_gha.report.document import (
    UNDEFINED,
    Block,
    Bullets,
    Markdown,
    Table,
    blocks_markdown,
    clipped,
    code,
    escape,
    folded,
    link,
    more,
    number,
    render,
    render_parts,
    tidy,
)
from scylla_gha.report.metrics import LOWER_MARK, change, change_limits
from scylla_gha.report.outcomes import ALPHA_FAIR, NO_TRIAL, scenario_matrix
from scylla_gha.report.sections import headline, matrix_blocks
from scylla_gha.report.site import report_page
from scylla_gha.report.summary import (
    MARKS,
    WORST_FIRST,
    Overall,
    VerdictLine,
    is_safe_id,
    leading_verdict,
    marked,
    narrowed_command,
    next_command,
    pass_rate,
    title,
)
from scylla_gha.report.view import ReportView, note_text, notes, report_view

MOST_BYTES: Final = 60_000  # GitHub accepts 65,536
_MOST_VERDICTS: Final = 3
_MOST_CELLS: Final = 5
_MOST_ENTRANTS: Final = 20
_MOST_REASON: Final = 200
_ALERTS: Final[dict[Overall, str]] = {
    "worse": "CAUTION",
    "not_enough_data": "WARNING",
    "no_baseline": "NOTE",
    "equivalent": "NOTE",
    "better": "TIP",
}
# Sections that can be left out, in the order in which they are
_LEAVE_OUT: Final = (
    "matrix",
    "entrants",
    "warnings",
    "costs",
    "method",
    "better",
    "judges",
    "infrastructure",
    "missing",
    "worse",
    "chart",
    "arms",
)
MOST_ROWS: Final = 10
MOST_NAME: Final = 80


def marker(suite: str) -> str:
    """Return the first line of a suite's comment."""
    return f"<!-- scylla:v1 suite={suite} -->"


def pointer(suite: str, url: str) -> str:
    """Return the text that replaces a superseded comment; it no longer has the suite's marker."""
    return f"<!-- scylla:old suite={suite} -->\nThe verdict has changed: [see the newer comment]({url}).\n"


def comment(
    report: Report,
    facts: CommentFacts,
    *,
    newest: Sha | None = None,
    past: Sequence[PastVerdict] = (),
    state: str = "",
) -> str:
    """Render the comment without untrusted HTML, mentions, links or keywords; at most 60,000 bytes of UTF-8.

    Args:
        report: the report to render.
        facts: the run, pull request and commits.
        newest: the pull request's head when the comment is posted.
        past: earlier verdicts, latest first.
        state: the comment's second line; empty: none.
    """
    view = report_view(report)
    values = {**_values(report, facts, view), "newest": newest, "past": _past(past, facts)}
    parts = render_parts("comment.md.j2", values)
    top = "\n".join(filter(None, (marker(facts.suite), state, parts["top"])))
    return _fitted(top, list(_sections(view, facts)), parts["bottom"], facts)


@dataclass(frozen=True, slots=True)
class CommentSection:
    """A section of the comment; it is hidden if `content` is empty, and listed as `label` if it is left out."""

    name: str
    content: str
    label: str


def _values(report: Report, facts: CommentFacts, view: ReportView) -> dict[str, object]:
    """Return the template values of the comment's top and bottom that do not depend on other runs."""
    return {
        "report": report,
        "facts": facts,
        "title": title(report),
        "alert": _alert(report, facts),
        "command": slash_command(report, facts),
        "headline": headline(view, _MOST_VERDICTS),
        "verdicts": _further_verdicts(report, view),
        "facts_line": Markdown(" · ".join(_facts(report, facts))),
        "again": next_command(report),
        "narrowed": narrowed_command(report),
        "next_scenarios": 2 * len(report.scenarios),
        "failed_cell": example_cell(report),
    }


def _sections(view: ReportView, facts: CommentFacts) -> Iterator[CommentSection]:
    """Yield the sections between the top and the bottom, the most important first."""
    report = view.report
    arms = counted(len(report.arms), "arm")
    verdicts = counted(len(report.comparisons), "verdict") if report.comparisons else arms
    yield CommentSection("arms", blocks_markdown(_arms(view, facts)), verdicts)
    yield CommentSection("chart", _chart(facts), "chart")
    yield _flips(view, is_worse=True)
    missing = [cell for cell in report.excluded if cell.outcome in NO_TRIAL]
    others = [cell for cell in report.excluded if cell.outcome not in NO_TRIAL]
    yield _cells("missing", "Missing", missing, "planned, but not run")
    meaning = "not caused by the agent, or not judged"
    yield _cells("infrastructure", "Not in the rates", others, meaning)
    yield CommentSection("judges", _poor_agreement(report), "judges that disagree")
    yield _flips(view, is_worse=False)
    yield _warnings(view)
    matrix = folded("All scenarios", blocks_markdown(matrix_blocks(scenario_matrix(view))))
    yield CommentSection("matrix", matrix, f"matrix of {counted(len(report.scenarios), 'scenario')} and {arms}")
    entrants = folded("Models and versions", blocks_markdown(_entrants(view, facts)))
    yield CommentSection("entrants", entrants, f"models and versions of {counted(len(facts.entrants), 'arm')}")
    yield CommentSection("costs", folded("Costs", _costs(view)), f"costs of {arms}")
    values = {"margin": facts.margin, "analysis": report.analysis}
    method = folded("How the verdict was computed", render("comment_method.md.j2", values))
    yield CommentSection("method", method, "how the verdict was computed")


def _fitted(top: str, sections: Sequence[CommentSection], bottom: str, facts: CommentFacts) -> str:
    """Return the comment with all sections that fit; the least important are left out and listed."""
    most_left_out = len(_LEAVE_OUT)
    for round_ in range(most_left_out + 1):
        left_out = _LEAVE_OUT[:round_]
        shown = [part.content for part in sections if part.name not in left_out]
        labels = [part.label for part in sections if part.name in left_out and part.content]
        cut = (
            (
                f"**Cut**: a comment has at most {MOST_BYTES:,} bytes. Left out: {escape('; '.join(labels))}. "
                f"All of it is in [the run]({facts.origin.url})."
            )
            if labels
            else ""
        )
        text = tidy("\n\n".join((top, *shown, cut, bottom)))
        if len(text.encode()) <= MOST_BYTES or round_ == most_left_out:
            return text
    raise AssertionError("the last round returns")


def _facts(report: Report, facts: CommentFacts) -> Iterator[str]:
    yield f"**{code(facts.experiment)}**"
    head = f"head {code(facts.head[:7])}" if facts.head else ""
    base = " ".join(filter(None, (escape(clipped(facts.base_name, 80)), code(facts.base[:7]) if facts.base else "")))
    if head or base:
        yield " against ".join(filter(None, (head, base)))
    counts = report.counts
    yield f"**{counts.planned:,} planned, {counts.ran:,} ran, {counts.judged:,} judged, {counts.scored:,} scored**"
    known = [arm.usd for arm in report.arms if arm.usd is not None]
    agents = sum(known) if len(known) == len(report.arms) else None
    yield f"agents {dollars(agents)}, judges {dollars(report.judge_usd)}"
    if facts.minutes is not None:
        yield f"{facts.minutes:.0f} min"
    yield f"[run]({facts.origin.url})"
    if page := report_page(facts):
        yield f"[report page]({page})"
    if facts.branch:
        yield f"[results]({facts.origin.results(facts.branch, facts.folder)})"


def _further_verdicts(report: Report, view: ReportView) -> list[VerdictLine]:
    """Return the clearest of several verdicts, without the verdict that the title states."""
    lines = headline(view, _MOST_VERDICTS).verdicts if len(report.answer) > 1 else ()
    return [line for line in lines if str(line) not in title(report)]


def _alert(report: Report, facts: CommentFacts) -> str:
    """Return the kind of alert for the leading verdict; WARNING instead of TIP or NOTE if the gate fails."""
    kind = _ALERTS[leading_verdict(report)]
    return "WARNING" if facts.gate_fault and kind in {"TIP", "NOTE"} else kind


def _chart(facts: CommentFacts) -> str:
    if not facts.has_chart:
        return ""
    address = facts.origin.picture(facts.branch, facts.folder + "/forest.svg")
    return f"![Change of the pass rate of each arm, with its 95 % interval]({address})"


def _flips(view: ReportView, *, is_worse: bool) -> CommentSection:
    """Return the scenarios that an arm passes less (or more) often than its baseline, greatest change first."""
    flips = []
    for row in view.report.scenarios:
        for comparison in view.report.comparisons:
            before, judged = row.passed.get(comparison.baseline, (0, 0))
            after, judged_after = row.passed.get(comparison.arm, (0, 0))
            difference = after / judged_after - before / judged if judged_after and judged else 0.0
            if (difference < 0) if is_worse else (difference > 0):
                counts = f"{before}/{judged}", f"{after}/{judged_after}"
                flips.append((-abs(difference), row.scenario, comparison.arm, *counts))
    rows = [
        (clipped(scenario, MOST_NAME), short_name(view, arm), before_text, after_text)
        for _, scenario, arm, before_text, after_text in sorted(flips)[:MOST_ROWS]
    ]
    name = "worse" if is_worse else "better"
    heading, others = f"Scenarios that went {name}: {len(flips):,}", len(flips) - len(rows)
    table = Table(("scenario", "arm", "baseline", "arm passes"), rows)
    left_out = f"and {others:,} more in the report" if others else ""
    content = blocks_markdown((table, left_out)) if flips else ""
    if is_worse and content:
        return CommentSection(name, f"**{heading}** (passed of judged)\n\n{content}", heading)
    return CommentSection(name, folded(heading, content), heading)


def _cells(name: str, title: str, cells: Sequence[Excluded], meaning: str) -> CommentSection:
    """Return a section with the first of `cells`, and the number of cells of each outcome."""
    rows = [
        (clipped(cell.cell, 2 * MOST_NAME), clipped(cell.outcome, MOST_NAME), clipped(cell.reason, _MOST_REASON))
        for cell in cells[:_MOST_CELLS]
    ]
    table = Table(("cell", "outcome", "reason"), rows, len(cells) - _MOST_CELLS, "cell", "the report")
    by_outcome = Counter(cell.outcome for cell in cells).most_common(10)
    counts = ", ".join(f"{count:,} {clipped(outcome, MOST_NAME)}" for outcome, count in by_outcome)
    heading = f"{title}: {len(cells):,}"
    intro = Markdown("**{}**, {}: {}.").fill(heading, meaning, counts)
    return CommentSection(name, blocks_markdown((intro, table)) if cells else "", heading)


def _poor_agreement(report: Report) -> str:
    agreement = report.analysis.agreement if report.analysis else None
    if agreement is None or agreement.alpha is None or agreement.alpha >= ALPHA_FAIR:
        return ""
    return (
        f"**The judges disagree**: Krippendorff's alpha is {number(agreement.alpha)} over "
        f"{counted(agreement.trials, 'trial')}; scores depend on the judge."
    )


def _warnings(view: ReportView) -> CommentSection:
    numbered = notes(view)
    shown = numbered[:MOST_ROWS]
    items = Bullets([clipped(note_text(view, note), _MOST_REASON) for note in shown], [note.number for note in shown])
    left_out = more(len(numbered) - MOST_ROWS, "warning", "the report")
    content = folded(f"Warnings: {len(numbered):,}", blocks_markdown((items, left_out)))
    return CommentSection("warnings", content, counted(len(numbered), "warning"))


def _entrants(view: ReportView, facts: CommentFacts) -> tuple[Block, ...]:
    rows = [
        (short_name(view, entrant.arm), entrant.agent, entrant.version or "?", entrant.model or UNDEFINED)
        for entrant in facts.entrants[:_MOST_ENTRANTS]
    ]
    if not rows:
        return ()
    shared = Markdown("All arms: {}.").fill(code(clipped(view.shared, MOST_NAME))) if view.shared else ""
    left_out = more(len(facts.entrants) - len(rows), "arm", "the report")
    return Table(("arm", "agent", "version", "model"), rows), shared, left_out


def _costs(view: ReportView) -> str:
    """Return the costs of arms and judges; empty if nothing was paid."""
    ranked = sorted(view.report.arms, key=lambda arm: -(arm.usd or 0.0))
    rows = [(short_name(view, arm.arm), dollars(arm.usd)) for arm in ranked[:MOST_ROWS]]
    rows.append(("judges and their controls", dollars(view.report.judge_usd)))
    is_paid = bool(view.report.judge_usd) or any(arm.usd is None or arm.usd > 0 for arm in ranked)
    table = Table(("", "USD"), rows, len(ranked) - MOST_ROWS, "arm", "the report")
    return blocks_markdown((table,)) if is_paid else ""


def _past(past: Sequence[PastVerdict], facts: CommentFacts) -> Table:
    rows = []
    for verdict in past:
        word = marked(verdict.verdict, verdict.verdict.replace("_", " "))
        run = facts.origin.model_copy(update={"run": verdict.run})
        rows.append(
            (
                f"{verdict.at:%Y-%m-%d %H:%M}",
                code(verdict.head[:7]) if verdict.head else UNDEFINED,
                word,
                verdict.said,
                Markdown(f"[run]({run.url})"),
            )
        )
    return Table(("when", "head", "verdict", "what", "run"), rows)


def _arms(view: ReportView, facts: CommentFacts) -> tuple[Block, ...]:
    """Return a table of at most ten arms, worst first, and a line on the baseline if there is a single baseline."""
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
    return table, more(len(ranked) - MOST_ROWS, "arm", "the report")


def _compared_arms(view: ReportView, facts: CommentFacts) -> tuple[Block, ...]:
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
        pass_change = _change(view.changes.get(arm), comparison.verdict)
        cost, evidence = _cost(costs.get(arm)), _evidence(view.report, arm, facts)
        rows.append((short_name(view, arm), verdict, rate, *pass_change, cost, evidence))
    table = Table(("arm", "verdict", "pass", "change", "95 %", "w/t/l", f"cost {LOWER_MARK}", "evidence"), rows)
    left_out = more(len(ranked) - MOST_ROWS, "arm", "the report")
    return _family_words(view.report), table, _baseline_words(view, summaries.get(view.baseline)), left_out


def _family_words(report: Report) -> str:
    if report.answer != report.comparisons:
        return "Each arm against the baseline; the verdict above is based on other comparisons:"
    if report.paired_by == "modes":
        return "Each arm against the arm of the baseline's mode with the same variant, agent and model:"
    return ""


def _baseline_words(view: ReportView, baseline: ArmSummary | None) -> str:
    if baseline is None:
        return ""
    rate, interval = pass_rate(view, baseline)
    return Markdown(
        "Baseline {}: passes {} {}, {}. w/t/l: scenarios won, tied, lost; cost: per trial, against the baseline "
        "(↓ lower is better)."
    ).fill(short_name(view, baseline.arm), rate, interval, dollars(baseline.usd))


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
    """Return a failed trial of an arm, with links to its files and, if there is a site, to its view there."""
    cell = _failed_cell(report, arm)
    if not cell:
        return UNDEFINED
    number = facts.evidence.get(cell)
    files = facts.origin.artifacts if number is None else facts.origin.artifact(number)
    name, page = clipped(cell, 2 * MOST_NAME), report_page(facts)
    if not page or not is_safe_id(cell):
        return link(cell, files, name)
    return Markdown(f"{link(cell, f'{page}#cell={cell}', name)} ([files]({files}))")


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
