"""Rows as another tool left them, and the outcomes that its exceptions stand for.

Which outcome an exception is: by its type first, then by words of its message.

| exception | outcome |
|---|---|
| `AgentTimeoutError` | timeout |
| type that names the verifier or a reward | judge_error |
| type that names environment, sandbox, container, image or the agent's setup | sandbox_error |
| cancelled task, interrupted run | cancelled |
| rate limit, overload, lost connection, refused key, status 429 or 5xx | provider_error |
| any other, such as an agent's exit code | agent_error |
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.trial import Outcome

Value = object  # of JSON, or a time that a table's own format knows


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row: where it stands, for messages, and its values by column; None is an empty one."""

    where: str
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """All rows of a file or folder, in order, with what had to be left out of it."""

    columns: tuple[str, ...]
    rows: tuple[SourceRow, ...]
    notes: tuple[str, ...] = ()


def table_of(rows: Iterable[SourceRow], notes: Iterable[str] = ()) -> SourceTable:
    """Rows whose columns are those that any of them has, in the order of their first use."""
    held = tuple(rows)
    columns = dict.fromkeys(column for row in held for column in row.values)
    return SourceTable(tuple(columns), held, tuple(notes))


def flat(value: dict[str, Value], prefix: str = "") -> dict[str, Value]:
    """Objects inside objects as columns of their own: `metrics.score`. The object itself stays a column too."""
    found: dict[str, Value] = {}
    for name, each in value.items():
        found[f"{prefix}{name}"] = each
        if isinstance(each, dict):
            found.update(flat(each, f"{prefix}{name}."))
    return found


_BY_TYPE: Final = (
    (re.compile(r"^(AgentTimeout|TimeLimit)", re.IGNORECASE), Outcome.TIMEOUT),
    (re.compile(r"verifier|reward|scorer", re.IGNORECASE), Outcome.JUDGE_ERROR),
    (re.compile(r"environment|sandbox|container|image|agentsetup|docker", re.IGNORECASE), Outcome.SANDBOX_ERROR),
    (re.compile(r"cancel|KeyboardInterrupt", re.IGNORECASE), Outcome.CANCELLED),
)
_PROVIDER: Final = re.compile(
    r"rate.?limit|overloaded|too many requests|service.?unavailable|bad gateway|api.?connection|api.?timeout|"
    r"internal.?server.?error|authentication.?error|api.?status|insufficient.?quota|credit balance|"
    r"\b(error|status|code|http)\W{0,9}(429|5\d\d)\b",
    re.IGNORECASE,
)


def outcome_of_exception(kind: str, message: str) -> Outcome:
    """The outcome of a trial that an exception ended."""
    for pattern, outcome in _BY_TYPE:
        if pattern.search(kind):
            return outcome
    return Outcome.PROVIDER_ERROR if _PROVIDER.search(f"{kind}: {message}") else Outcome.AGENT_ERROR
