"""A plain table: columns as wide as they must be, two spaces apart; the first to the left, all others to the right."""

from collections.abc import Sequence

from scylla_gha.render.text import UNDEFINED, plain


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of the table, without spaces at their ends."""
    table = [tuple(plain(cell) for cell in row) for row in (headings, *rows)]
    widths = [max(len(row[at]) for row in table) for at in range(len(headings))]
    return ["  ".join(cell.rjust(width) if at else cell.ljust(width)
                      for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in table]  # fmt: skip


def share(part: float | None) -> str:
    """A fraction in percent, with one digit."""
    return UNDEFINED if part is None else f"{100 * part:.1f} %"
