"""Render the comment on a pull request about its Agent Skills: a row per skill, changed and worse skills first."""

from typing import Final

from scylla_gha.counting import counted, first_of
from scylla_gha.model.skill_measurement import SkillMeasurement, SkillRow
from scylla_gha.report.document import clipped, escape

MARKER: Final = "<!-- scylla:skills v1 -->"
_MOST_ROWS: Final = 50
_LONGEST: Final = 1_500  # characters of a cell of the table
_MOST_NAMED: Final = 5


def skills_comment(measurement: SkillMeasurement, run_url: str) -> str:
    """Return the comment as Markdown.

    Args:
        measurement: measurement of the pull request's head.
        run_url: address of the run; empty: unknown.
    """
    rows = sorted(measurement.rows, key=_order)
    table = ["| skill | answer | checks |", "|---|---|---|", *map(_line, rows[:_MOST_ROWS])]
    parts = [
        f"{MARKER}\n> [!{_alert(measurement)}]\n> **{escape(_headline(measurement))}**",
        "\n".join(table) if rows else "",
        f"The run shows {len(rows) - _MOST_ROWS} more skills." if len(rows) > _MOST_ROWS else "",
        f"[The run]({run_url}) has all trials." if run_url else "",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _order(row: SkillRow) -> tuple[bool, bool, bool, int, str]:
    return not (row.is_changed or row.is_new), not row.is_worse, not row.sentences, -row.errors, row.name


def _alert(measurement: SkillMeasurement) -> str:
    if any(row.is_worse or row.errors for row in measurement.rows):
        return "CAUTION"
    return "WARNING" if measurement.failure else "NOTE"


def _headline(measurement: SkillMeasurement) -> str:
    worse = [row.name for row in measurement.rows if row.is_worse]
    if worse:
        return f"Does worse: {first_of(worse, _MOST_NAMED)}"
    if measurement.failure:
        return f"The measurement ended early: {clipped(measurement.failure, _LONGEST)}"
    changed = [row.name for row in measurement.rows if row.is_changed or row.is_new]
    measured = counted(sum(bool(row.sentences) for row in measurement.rows), "skill was", "skills were")
    if changed and measured.startswith("0 "):
        return f"Changed, but nothing to measure: {first_of(changed, _MOST_NAMED)}"
    return f"{measured} measured; none is shown to do worse"


def _line(row: SkillRow) -> str:
    state = " (new)" if row.is_new else " (changed)" if row.is_changed else ""
    answer = " ".join((*row.sentences, *row.notes)) or "not measured"
    faults = ", ".join(
        counted(number, noun) for number, noun in ((row.errors, "error"), (row.warnings, "warning")) if number
    )
    name = f"**{escape(row.name)}**{state}" if row.is_worse else f"{escape(row.name)}{state}"
    return f"| {name} | {escape(clipped(answer, _LONGEST))} | {faults or 'no faults'} |"
