"""Guard of rows that are counted together: those of the hub and those of github.com are never mixed.

The hub follows GitHub's documentation, answers at once and refuses nobody: a difference between the two says nothing of
agents.
"""

from collections.abc import Iterable, Iterator, Sequence

from scylla_gha.errors import ConfigError
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result


def of_same_github(rows: Iterable[Result], name: str) -> Iterator[Result]:
    """Yield the rows; refuse a mix of rows from the hub and from github.com.

    Args:
        rows: that are counted together.
        name: of the file, run or files that they are from, for the message.

    Raises:
        ConfigError: some rows are of the hub, and some of github.com.
    """
    first: Result | None = None
    for row in rows:
        if row.github is not None:
            first = first or row
            if row.github != first.github:
                raise ConfigError(f"{name}: {_where(first)}, {_where(row)}. Trials of the two are never compared or "
                                  "counted together; choose runs with one value of `github`")  # fmt: skip
        yield row


def _where(row: Result) -> str:
    return f"{row.cell} ran on {'the hub' if row.github == 'hub' else row.github}"


def require_same_github(rows: Iterable[Result], name: str) -> None:
    """Check that rows of the hub and of github.com are not counted together.

    Raises:
        ConfigError: some rows are of the hub, and some of github.com.
    """
    for _ in of_same_github(rows, name):
        pass


def reports_of_same_github(reports: Sequence[tuple[str, Report]]) -> list[tuple[str, Report]]:
    """Return the reports, by name, of the same GitHub as the newest one that has some; they are sorted oldest first."""
    newest = next((report.github for _, report in reversed(reports) if report.github), None)
    return [(name, report) for name, report in reports if report.github in (None, newest)]
