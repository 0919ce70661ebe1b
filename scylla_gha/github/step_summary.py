"""The step summary: Markdown on the run's page, at most 1 MiB a step; GitHub shows nothing of a larger one."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted

MAX_BYTES: Final = 1024 * 1024
_NOTICE_BYTES: Final = 2_000  # reserved for the notice of what was left out
_MAX_NAMED: Final = 12
_HEADING: Final = re.compile(r"#{1,3} (.+)")
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")


def add_summary(file: Path, markdown: str, whole: str, limit: int = MAX_BYTES) -> bool:
    """Append a page to this step's summary; return False if it was cut, which the page then says.

    Args:
        file: the runner's GITHUB_STEP_SUMMARY.
        markdown: the page.
        whole: where the whole page is, for readers of a page that was cut.
        limit: bytes of the summary, including what the file contains already.
    """
    used = file.stat().st_size if file.exists() else 0
    page = fit_summary(markdown, max(0, limit - used), whole)
    with file.open("a", encoding="utf-8", newline="") as out:
        out.write(page)
    return page == markdown


def fit_summary(markdown: str, limit: int, whole: str) -> str:
    """Return the page if it fits into `limit` bytes; else its first lines and a notice; empty if neither fits."""
    size = len(markdown.encode())
    if size <= limit:
        return markdown
    lines = markdown.splitlines(keepends=True)
    count = _fitting_lines(lines, limit - _NOTICE_BYTES)
    missing = [heading.group(1).strip() for line in lines[count:] if (heading := _HEADING.match(line))]
    head = "".join(lines[:count])
    page = f"{head}{_closing_marks(head)}\n{_notice(size - len(head.encode()), size, missing, whole)}\n"
    return page if len(page.encode()) <= limit else ""


def _fitting_lines(lines: Sequence[str], limit: int) -> int:
    """Return how many of the first lines fit."""
    used = 0
    for number, line in enumerate(lines):
        used += len(line.encode())
        if used > limit:
            return number
    return len(lines)


def _closing_marks(head: str) -> str:
    """Return the ends of an open code fence and of open `<details>`."""
    fence = ""
    open_details = 0
    for line in head.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and line.strip() == mark.group(1) and mark.group(1).startswith(fence):
            fence = ""
        elif not fence:
            open_details += line.count("<details") - line.count("</details>")
    return (f"{fence}\n" if fence else "") + "\n</details>\n" * max(0, open_details)


def _notice(lost: int, size: int, parts: Sequence[str], whole: str) -> str:
    names = "; ".join(part[:80] for part in parts[:_MAX_NAMED])
    others = f"; and {len(parts) - _MAX_NAMED} more" if len(parts) > _MAX_NAMED else ""
    missing = f" These parts are missing: {names}{others}." if parts else ""
    return (f"> **Cut here**: {lost:,} of {counted(size, 'byte')} did not fit into a step summary of "
            f"{MAX_BYTES:,}.{missing} The whole page is in {whole}.")  # fmt: skip
