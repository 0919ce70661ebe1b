"""Report readiness: a summary for a terminal, Markdown, a comment, and the sections of the page.

Untrusted text (names of functions and files, reasons) is escaped.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model import one_line
from scylla_gha.model.readiness import (
    DIMENSIONS,
    AnchorChange,
    Association,
    DimensionScore,
    ReadinessReport,
    ReadinessScore,
    ScoreComparison,
    SuiteFacts,
    TwinEffect,
)
from scylla_gha.report.document import (
    Bullets,
    Columns,
    Markdown,
    Section,
    Table,
    blocks_markdown,
    escape,
    folded,
    section,
    section_markdown,
    table_of,
    tidy,
)
from scylla_gha.report.summary import marked

_DIMENSIONS: Final = 4
_MOST_FILES: Final = 3
_MOST_FLIPPED: Final = 10
_MOST_ASSOCIATIONS: Final = 4
_WIDTH: Final = 24
_PERCENT: Final = 100
_HEADINGS: Final = ("dimension", "score", "anchors", "effort, or why there is no score")
_ALERTS: Final = {"worse": "CAUTION", "better": "TIP", "equivalent": "NOTE"}
MARKER: Final = "<!-- scylla:readiness v1 -->"


def readiness_lines(report: ReadinessReport) -> list[str]:
    """Return the summary for a terminal, the verdict first and the limits last."""
    return [
        *_head_lines(report),
        *(_score_lines(report.score) if report.score else _static_lines(report.facts)),
        *_change_lines(report),
        *_twin_lines(report),
        *(_finding_lines(report, report.score) if report.score else ()),
        f"cost: {dollars(report.usd)}" if report.score else f"cost: {dollars(0)}; no agent was asked",
        "limits:",
        *(f"  - {limit}" for limit in report.limits),
    ]


def headline(report: ReadinessReport) -> str:
    """Return the score with its interval, or why there is none."""
    if report.unavailable is not None:
        return f"readiness unavailable: {one_line(report.unavailable)}"
    score = report.score
    if score is None or score.score is None:
        return "readiness n/a: no dimension has enough anchors with a score"
    return f"readiness {round(score.score)}{interval_text(score.low, score.high)}"


def interval_text(low: float | None, high: float | None) -> str:
    """Return a space and the interval; empty if the interval is unknown."""
    return "" if low is None or high is None else f" [{round(low)}, {round(high)}]"


def subject_line(report: ReadinessReport) -> str:
    """Return the extent of the measurement: dimensions, anchors, model and agent; empty without a score."""
    score = report.score
    if score is None:
        return ""
    planned, done = (
        sum(counts) for counts in ([row.planned for row in score.dimensions], [row.anchors for row in score.dimensions])
    )
    return (
        f"{score.applied} of {_DIMENSIONS} dimensions, {done} of {counted(planned, 'anchor')}, "
        f"{score.subject or 'unknown agent'}"
    )


def dimension_cells(row: DimensionScore) -> tuple[str, str, str, str]:
    """Return name, score with interval, number of anchors, and effort or the reason why there is no score."""
    name = DIMENSIONS[row.dimension]
    if row.score is None:
        return name, "n/a", "", row.missing or "there is no score"
    lost = "".join(f", {count} {outcome}" for outcome, count in sorted((row.failed | row.excluded).items()))
    return name, f"{round(row.score)}{interval_text(row.low, row.high)}", str(row.anchors), f"{_effort(row)}{lost}"


def _effort(row: DimensionScore) -> str:
    if not row.solved:
        return "none solved"
    if row.tokens_per_solved is None:
        return "tokens unknown"
    tokens = counted(row.tokens_per_solved, "token", form=",.0f")
    calls = "" if row.calls_per_solved is None else f", {counted(row.calls_per_solved, 'call', form='.0f')}"
    return f"{tokens}{calls} per solved anchor"


def _head_lines(report: ReadinessReport) -> Iterator[str]:
    yield "  ".join(filter(None, (headline(report), subject_line(report))))


def _score_lines(score: ReadinessScore) -> Iterator[str]:
    for row in score.dimensions:
        name, worth, anchors, effort = dimension_cells(row)
        yield f" {name:<{_WIDTH}} {worth:<13} {anchors:>4}  {one_line(effort)}".rstrip()


def _static_lines(facts: Sequence[SuiteFacts]) -> Iterator[str]:
    """Yield how many anchors could be asked about each code base, by dimension."""
    for side in facts:
        if len(facts) > 1:
            yield f"{side.side or 'code'}:"
        reasons = {lack.dimension: lack.reason for lack in side.missing}
        for name, title in DIMENSIONS.items():
            planned = counted(side.planned.get(name, 0), "anchor") + " could be asked"
            yield f" {title:<{_WIDTH}} {one_line(reasons[name]) if name in reasons else planned}"
        yield f" counts: {yields_text(side)}"


def yields_text(side: SuiteFacts) -> str:
    """Return the numbers of items made from a code base, by kind."""
    return ", ".join(f"{name}: {count:,}" for name, count in side.yields.items())


def change_text(comparison: ScoreComparison) -> str:
    """Return the verdict on a change, with its reason."""
    ruling = comparison.ruling
    return f"{marked(ruling.verdict, ruling.verdict.replace('_', ' '))}: {one_line(ruling.why)}"


def flipped_text(change: AnchorChange) -> str:
    """Return an anchor that was gained or lost, with both scores."""
    verb = "gained" if change.after > change.before else "lost"
    code = ", its code changed" if change.code_changed else ""
    return (
        f"{verb}: {one_line(change.anchor)} ({DIMENSIONS[change.dimension]}, "
        f"{_PERCENT * change.before:.0f} to {_PERCENT * change.after:.0f}{code})"
    )


def twin_text(twin: TwinEffect) -> str:
    """Return the effect of a change of the code, measured on a twin, or why it is unknown."""
    if twin.comparison is None:
        return f"{twin.what}: {one_line(twin.missing or 'not measured')}"
    contrast = twin.comparison.ruling.contrast
    points = "no estimate" if contrast.value is None else counted(_PERCENT * contrast.value, "point", form="+.0f")
    if contrast.value is not None and contrast.low is not None and contrast.high is not None:
        points += f" [{_PERCENT * contrast.low:+.0f}, {_PERCENT * contrast.high:+.0f}]"
    return f"{twin.what}: {points}; {change_text(twin.comparison)}"


def feature_text(row: Association) -> str:
    """Return a feature of anchors, after its dimension if it was counted in only one."""
    return f"{DIMENSIONS[row.dimension]}, {row.feature}" if row.dimension else row.feature


def flipped(report: ReadinessReport, most: int, links: Callable[[AnchorChange], str] = lambda _: "") -> Section:
    """Return the anchors that are solved in one of two commits only, lost ones first.

    Args:
        report: the report.
        most: maximum number of anchors.
        links: function that returns Markdown links to the trials of an anchor.
    """
    changes = report.comparison.flipped if report.comparison else ()
    items = [Markdown("{}{}").fill(flipped_text(change), Markdown(links(change))) for change in changes[:most]]
    left_out = len(changes) - len(items)
    if left_out > 0:
        items.append(Markdown(f"and {left_out} more, in readiness.json"))
    return section("Flipped anchors", Bullets(items))


def dimensions(report: ReadinessReport) -> Section:
    """Return the section of dimension scores; without a score, of the reasons why anchors are missing."""
    if report.score is None:
        lacks = [f"{lack.dimension}: {lack.reason}" for side in report.facts for lack in side.missing]
        return section("What could be asked", Bullets(lacks))
    return section("Dimensions", Table(_HEADINGS, [dimension_cells(row) for row in report.score.dimensions]))


def twins(report: ReadinessReport) -> Section:
    """Return the section of effects of code changes, measured on twins."""
    return section("Effects of changes of the code", Bullets([twin_text(twin) for twin in report.twins]))


def worst_files(report: ReadinessReport, most: int | None = None) -> Section:
    """Return the section of files with the most missed anchors."""
    files = report.score.worst_files[:most] if report.score else ()
    lines = [f"{file.file}: {file.missed} of {file.anchors} missed; {file.evidence}" for file in files]
    return section("Worst files", Bullets(lines))


def associations(report: ReadinessReport, most: int | None = None) -> Section:
    """Return the section on features that are more common in missed or in solved anchors."""
    columns: Columns[Association] = {
        "feature": feature_text,
        "missed anchors": lambda row: f"{row.missed} of {row.of_missed}",
        "solved anchors": lambda row: f"{row.solved} of {row.of_solved}",
    }
    rows = report.score.associations[:most] if report.score else ()
    return section("Associations (not causes)", table_of(rows, columns))


def yields(report: ReadinessReport) -> Section:
    """Return the section on the items made from each code base, with notes."""
    counts = [f"{side.side or 'code'}: {yields_text(side)}" for side in report.facts]
    notes = [note for side in report.facts for note in side.notes]
    return section("Items made from the code", Bullets([*counts, *notes]))


def limits(report: ReadinessReport) -> Section:
    """Return the section on the limits of the score."""
    return section("Limits", Bullets(report.limits))


def _change_lines(report: ReadinessReport) -> Iterator[str]:
    if report.comparison is not None:
        yield f"change against the measured commit: {change_text(report.comparison)}"
        yield from (f"  {line}" for line in _items(flipped(report, _MOST_FLIPPED)))


def _twin_lines(report: ReadinessReport) -> Iterator[str]:
    if report.twins:
        yield "effects of changes of the code, measured on twins:"
    yield from (f"  {twin_text(twin)}" for twin in report.twins)


def _finding_lines(report: ReadinessReport, score: ReadinessScore) -> Iterator[str]:
    if files := worst_files(report, _MOST_FILES).blocks:
        yield "worst files:"
        yield from (f"  {one_line(item)}" for block in files if isinstance(block, Bullets) for item in block.items)
    rows = score.associations[:_MOST_ASSOCIATIONS]
    if rows:
        yield "associations (not causes):"
    for row in rows:
        missed = f"{row.missed} of {row.of_missed} missed anchors"
        yield f"  {feature_text(row)}: {missed}, {row.solved} of {row.of_solved} solved ones"
    yield from (f"note: {one_line(note)}" for note in score.notes)


def readiness_markdown(report: ReadinessReport) -> str:
    """Return the whole report as Markdown."""
    subject = escape(subject_line(report))
    change = change_text(report.comparison) if report.comparison else ""
    changed = Markdown("**Change against the measured commit**: {}").fill(change) if change else ""
    parts = [flipped(report, _MOST_FLIPPED), *_details(report)]
    top = (f"# {escape(headline(report))}", subject, changed, blocks_markdown(dimensions(report).blocks))
    return tidy("\n\n".join((*top, *map(_open, parts), _cost(report))))


def readiness_comment(report: ReadinessReport, run_url: str) -> str:
    """Return the comment on a pull request: the verdict and flipped anchors first.

    Args:
        report: the report.
        run_url: address of the workflow run; empty: no link.
    """
    comparison = report.comparison
    verdict = comparison.ruling.verdict if comparison else "equivalent"
    alert = _ALERTS.get(verdict, "WARNING") if report.unavailable is None else "WARNING"
    lines = [f"> [!{alert}]", f"> **{escape(headline(report))}**"]
    if subject := subject_line(report):
        lines.append(f"> {escape(subject)}")
    if comparison is not None:
        lines.append(f"> {escape(change_text(comparison))}")
    details = "\n\n".join((*map(_open, _details(report)), _cost(report)))
    parts = (
        MARKER + "\n" + "\n".join(lines),
        section_markdown(flipped(report, _MOST_FLIPPED), is_open=True, level=3),
        blocks_markdown(dimensions(report).blocks),
        folded("Evidence and limits", details),
        f"[The run]({run_url}) has all sessions." if run_url else "",
    )
    return tidy("\n\n".join(parts))


def _details(report: ReadinessReport) -> tuple[Section, ...]:
    return twins(report), worst_files(report), associations(report), yields(report), limits(report)


def _open(part: Section) -> str:
    return section_markdown(part, is_open=True)


def _cost(report: ReadinessReport) -> str:
    cost = dollars(report.usd if report.score else 0)
    return f"Commit {escape(report.facts[0].commit[:12])}; cost {escape(cost)}."


def _items(part: Section) -> list[str]:
    return [item for block in part.blocks if isinstance(block, Bullets) for item in block.items]
