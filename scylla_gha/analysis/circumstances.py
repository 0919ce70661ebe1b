"""What else differs between two sets of results than what is asked about: each such difference may be the effect."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.model.result import Result

_MOST: Final = 5


def circumstances(a: Sequence[Result], b: Sequence[Result], arms: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Warnings of different sandboxes, agent versions, models and starts.

    Args:
        a: rows of the one set.
        b: rows of the other.
        arms: A's arm and B's arm of each pair.
    """
    yield from _differ("sandboxes", _box, a, b)
    yield from _of_arms("agent versions", lambda row: row.agent_version, a, b, arms)
    same = [(one, other) for one, other in arms if one == other]  # of others, the model may be what is asked about
    yield from _of_arms("models", lambda row: row.model, a, b, same)
    changed = sorted(_starts(a, b))
    if changed:
        more = f" and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
        yield (f"{len(changed)} scenarios did not start from the same state in A and in B: "
               f"{', '.join(changed[:_MOST])}{more}. Their difference may be one of their starts.")  # fmt: skip
    yield from _differ("thresholds", _threshold, a, b)


def _box(row: Result) -> str | None:
    gave = [f"{name}: {value}" for name in ("network", "keys", "files") if (value := getattr(row, name))]
    return f"{row.sandbox} ({', '.join(gave)})" if gave else row.sandbox


def _threshold(row: Result) -> str | None:
    return None if row.threshold is None else f"{row.threshold:g}"


def _differ(
    what: str, told: Callable[[Result], str | None], a: Iterable[Result], b: Iterable[Result], whose: str = ""
) -> Iterator[str]:
    """Only what both sides tell can differ."""
    one, other = ({value for row in rows if (value := told(row)) is not None} for rows in (a, b))
    if one and other and one != other:
        yield (f"{whose}A and B have different {what}: {', '.join(sorted(one))} and {', '.join(sorted(other))}. "
               "A difference between them may be one of these.")  # fmt: skip


def _of_arms(
    what: str,
    told: Callable[[Result], str | None],
    a: Iterable[Result],
    b: Iterable[Result],
    arms: Sequence[tuple[str, str]],
) -> Iterator[str]:
    firsts, seconds = _by_arm(a), _by_arm(b)
    for one, other in arms:
        yield from _differ(what, told, firsts[one], seconds[other], f"{other}: ")


def _by_arm(rows: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        found[row.arm].append(row)
    return found


def _starts(a: Iterable[Result], b: Iterable[Result]) -> set[str]:
    """Scenarios of both whose workspaces had other digests."""
    sides: tuple[dict[str, set[str]], dict[str, set[str]]] = (defaultdict(set), defaultdict(set))
    for side, rows in zip(sides, (a, b), strict=True):
        for row in rows:
            if row.workspace_digest:
                side[row.scenario].add(row.workspace_digest)
    one, other = sides
    return {name for name in one.keys() & other.keys() if one[name] != other[name]}
