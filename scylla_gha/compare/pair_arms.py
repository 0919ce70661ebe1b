"""Which arm of B is set against which arm of A."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scylla_gha.compare.result_set import LoadedResults
from scylla_gha.config.load import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError


@dataclass(frozen=True, slots=True)
class PairingOptions:
    """What the command line says: arms that both have, and pairs of A's and B's."""

    arms: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


def pair_arms(a: LoadedResults, b: LoadedResults, wanted: PairingOptions) -> tuple[tuple[str, str], ...]:
    """Pairs of A's arm and B's; none where a side has no row.

    Raises:
        ConfigError: an arm is not there, or nothing says who belongs together.
    """
    if not a.rows or not b.rows:
        return ()
    asked = (*((arm, arm) for arm in wanted.arms), *wanted.pairs)
    for one, other in asked:
        _check(a, one)
        _check(b, other)
    if asked:
        return tuple(dict.fromkeys(asked))
    if len(a.arms) == len(b.arms) == 1:
        return ((a.arms[0], b.arms[0]),)
    shared = set(b.arms)
    found = tuple((arm, arm) for arm in a.arms if arm in shared)
    if not found:
        raise ConfigError("A and B have no arm of the same name; say which belong together: --arms A_ARM=B_ARM; "
                          f"A has {_some(a.arms)}; B has {_some(b.arms)}")  # fmt: skip
    return found


def unpaired(
    a: LoadedResults, b: LoadedResults, pairs: Sequence[tuple[str, str]], wanted: PairingOptions
) -> Iterator[str]:
    """Warnings of sides without a row, and of arms that were left out without being asked to."""
    for letter, side in (("A", a), ("B", b)):
        if not side.rows:
            yield f"{letter} ({side.name}) has no row: nothing can be compared."
    if wanted.arms or wanted.pairs or not pairs:
        return
    for letter, side, place in (("A", a, 0), ("B", b, 1)):
        taken = {pair[place] for pair in pairs}
        left = [arm for arm in side.arms if arm not in taken]
        if left:
            yield f"Not compared: {counted(len(left), 'arm')} in {letter} alone: {_some(left)}."


def _check(side: LoadedResults, arm: str) -> None:
    if arm not in side.arms:
        hint = did_you_mean(arm, side.arms)
        raise ConfigError(f"{side.name}: has no arm {arm!r}{hint}; its arms are: {_some(side.arms)}")


def _some(arms: Sequence[str]) -> str:
    return ", ".join(arms[:10]) + (f" and {len(arms) - 10} more" if len(arms) > 10 else "")  # noqa: PLR2004
