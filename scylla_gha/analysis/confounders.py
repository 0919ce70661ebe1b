"""Confounders: what else differs between two sets of results and may explain their difference."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.result import Result

_MOST: Final = 5


def confounders(a: Sequence[Result], b: Sequence[Result], arms: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield warnings of different sandboxes, agent versions, models, workspaces and thresholds.

    Args:
        a: rows of the one set.
        b: rows of the other.
        arms: A's arm and B's arm of each pair.
    """
    yield from _differ("sandboxes", _sandbox, a, b)
    yield from _of_arms("agent versions", lambda row: row.agent_version, a, b, arms)
    same = [(one, other) for one, other in arms if one == other]  # in other pairs, the model may be the question
    yield from _of_arms("models", lambda row: row.model, a, b, same)
    changed = sorted(_starts(a, b))
    if changed:
        more = f" and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
        yield (f"{counted(len(changed), 'scenario')} did not start from the same state in A and in B: "
               f"{', '.join(changed[:_MOST])}{more}. The difference may be one of starts.")  # fmt: skip
    yield from _differ("thresholds", _threshold, a, b)


def _sandbox(row: Result) -> str | None:
    isolation = [f"{name}: {value}" for name in ("network", "keys", "files") if (value := getattr(row, name))]
    return f"{row.sandbox} ({', '.join(isolation)})" if isolation else row.sandbox


def _threshold(row: Result) -> str | None:
    return None if row.threshold is None else f"{row.threshold:g}"


def _differ(
    what: str, value_of: Callable[[Result], str | None], a: Iterable[Result], b: Iterable[Result], whose: str = ""
) -> Iterator[str]:
    """Warn if both sides have values and these differ."""
    one, other = ({value for row in rows if (value := value_of(row)) is not None} for rows in (a, b))
    if one and other and one != other:
        yield (f"{whose}A and B have different {what}: {', '.join(sorted(one))} and {', '.join(sorted(other))}. "
               "A difference between them may be one of these.")  # fmt: skip


def _of_arms(
    what: str,
    value_of: Callable[[Result], str | None],
    a: Iterable[Result],
    b: Iterable[Result],
    arms: Sequence[tuple[str, str]],
) -> Iterator[str]:
    firsts, seconds = _by_arm(a), _by_arm(b)
    for one, other in arms:
        yield from _differ(what, value_of, firsts[one], seconds[other], f"{other}: ")


def _by_arm(rows: Iterable[Result]) -> dict[str, list[Result]]:
    by_arm: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        by_arm[row.arm].append(row)
    return by_arm


def _starts(a: Iterable[Result], b: Iterable[Result]) -> set[str]:
    """Return the scenarios of both whose workspaces had different digests."""
    sides: tuple[dict[str, set[str]], dict[str, set[str]]] = (defaultdict(set), defaultdict(set))
    for side, rows in zip(sides, (a, b), strict=True):
        for row in rows:
            if row.workspace_digest:
                side[row.scenario].add(row.workspace_digest)
    one, other = sides
    return {name for name in one.keys() & other.keys() if one[name] != other[name]}
