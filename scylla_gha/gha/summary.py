"""The step summary: a page of Markdown on the run, at most 1 MiB a step; above it, the runner shows nothing."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 1024 * 1024
_ROOM: Final = 2_000  # for what says what was left out
_MOST_NAMED: Final = 12
_HEADING: Final = re.compile(r"#{1,3} (.+)")
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")


def add_summary(file: Path, markdown: str, whole: str, most: int = MOST_BYTES) -> bool:
    """Append a page to this step's summary; false where it was cut, which the page then says.

    Args:
        file: the runner's GITHUB_STEP_SUMMARY.
        markdown: the page.
        whole: where all of it is found, for a reader of one that was cut.
        most: bytes of a step's summary, with what the file holds already.
    """
    there = file.stat().st_size if file.exists() else 0
    page = fit(markdown, max(0, most - there), whole)
    with file.open("a", encoding="utf-8", newline="") as out:
        out.write(page)
    return page == markdown


def fit(markdown: str, most: int, whole: str) -> str:
    """The page where it fits into so many bytes; else its first lines, and what was left out. Empty without room."""
    size = len(markdown.encode())
    if size <= most:
        return markdown
    lines = markdown.splitlines(keepends=True)
    kept = _whole_lines(lines, most - _ROOM)
    left = [found.group(1).strip() for line in lines[kept:] if (found := _HEADING.match(line))]
    head = "".join(lines[:kept])
    page = f"{head}{_closing(head)}\n{_said(size - len(head.encode()), size, left, whole)}\n"
    return page if len(page.encode()) <= most else ""


def _whole_lines(lines: Sequence[str], room: int) -> int:
    """How many of the first lines fit."""
    used = 0
    for number, line in enumerate(lines):
        used += len(line.encode())
        if used > room:
            return number
    return len(lines)


def _closing(head: str) -> str:
    """The ends of what is open: a fence, and folded parts."""
    fence = ""
    opened = 0
    for line in head.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and line.strip() == mark.group(1) and mark.group(1).startswith(fence):
            fence = ""
        elif not fence:
            opened += line.count("<details") - line.count("</details>")
    return (f"{fence}\n" if fence else "") + "\n</details>\n" * max(0, opened)


def _said(lost: int, size: int, parts: Sequence[str], whole: str) -> str:
    named = "; ".join(part[:80] for part in parts[:_MOST_NAMED])
    more = f"; and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    which = f" These parts are missing: {named}{more}." if parts else ""
    return (f"> **Cut here**: {lost:,} of {size:,} bytes did not fit into a step summary of {MOST_BYTES:,}.{which} "
            f"All of it is in {whole}.")  # fmt: skip
