"""Comparison of two result sets: which arms belong together, and whether a gate on the verdicts holds."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from scylla_gha.compare.result_set import LoadedResults
from scylla_gha.config.load import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GateError
from scylla_gha.model.comparison import Metric, ResultComparison

FailOn = Literal["worse", "not_better", "not_equivalent"]
ArmPairs = Sequence[tuple[str, str]]  # an arm of A and an arm of B
_LISTED: Final = 10


def compare(a: LoadedResults, b: LoadedResults, pairs: ArmPairs, metric: Metric, margin: float) -> ResultComparison:
    """Compare two result sets, arm by arm.

    Args:
        a: the first set.
        b: the set that is compared with it.
        pairs: arms that belong together; empty: arms of the same name, or the only arm of each set.
        metric: what the verdict is about.
        margin: largest difference that counts as none.

    Raises:
        ConfigError: an arm does not exist, or nothing says which arms belong together.
    """
    from scylla_gha.analysis.side_by_side import confounders, side_by_side

    arms = _paired(a, b, pairs)
    return ResultComparison(
        a=a.name, b=b.name, metric=metric, margin=margin, pairs=side_by_side(a.rows, b.rows, arms, metric, margin),
        warnings=(*_notes(a, b), *_unpaired(a, b, arms, is_chosen=bool(pairs)), *confounders(a.rows, b.rows, arms)),
    )  # fmt: skip


def require_verdicts(comparison: ResultComparison, gate: FailOn) -> None:
    """Check that no arm has the verdict that a gate refuses.

    Raises:
        GateError: an arm has it, or nothing was compared.
    """
    if not comparison.pairs:
        raise GateError(f"--fail-on {gate}: nothing was compared, so nothing is shown to hold")
    verdict, is_negated = gate.removeprefix("not_"), gate.startswith("not_")
    arms = [pair.b_arm for pair in comparison.pairs if (pair.ruling.verdict == verdict) != is_negated]
    if arms:
        total = counted(len(comparison.pairs), "arm")
        raise GateError(f"--fail-on {gate}: {len(arms)} of {total}: {', '.join(arms[:_LISTED])}")


def _paired(a: LoadedResults, b: LoadedResults, pairs: ArmPairs) -> tuple[tuple[str, str], ...]:
    if not a.rows or not b.rows:
        return ()
    for a_arm, b_arm in pairs:
        _require_arm(a, a_arm)
        _require_arm(b, b_arm)
    if pairs:
        return tuple(dict.fromkeys(pairs))
    if len(a.arms) == len(b.arms) == 1:
        return ((a.arms[0], b.arms[0]),)
    b_arms = set(b.arms)
    shared = tuple((arm, arm) for arm in a.arms if arm in b_arms)
    if not shared:
        raise ConfigError("A and B have no arm of the same name; say which belong together: --arms A_ARM=B_ARM; "
                          f"A has {_listed(a.arms)}; B has {_listed(b.arms)}")  # fmt: skip
    return shared


def _require_arm(results: LoadedResults, arm: str) -> None:
    if arm not in results.arms:
        hint = did_you_mean(arm, results.arms)
        raise ConfigError(f"{results.name}: has no arm {arm!r}{hint}; its arms are: {_listed(results.arms)}")


def _notes(a: LoadedResults, b: LoadedResults) -> Iterator[str]:
    for letter, results in (("A", a), ("B", b)):
        yield from (f"{letter} ({results.name}): {note}" for note in results.notes)
    if a.toolkit and b.toolkit and a.toolkit != b.toolkit:
        yield (f"A and B were reported on by different versions of the toolkit: {a.toolkit} and {b.toolkit}. "
               "What a row means may differ.")  # fmt: skip


def _unpaired(a: LoadedResults, b: LoadedResults, pairs: ArmPairs, *, is_chosen: bool) -> Iterator[str]:
    """Warn of sets without a row, and of arms that were left out although nobody chose the pairs."""
    for letter, results in (("A", a), ("B", b)):
        if not results.rows:
            yield f"{letter} ({results.name}) has no row: nothing can be compared."
    if is_chosen or not pairs:
        return
    for letter, results, compared in (("A", a, {pair[0] for pair in pairs}), ("B", b, {pair[1] for pair in pairs})):
        arms = [arm for arm in results.arms if arm not in compared]
        if arms:
            yield f"Not compared: {counted(len(arms), 'arm')} in {letter} alone: {_listed(arms)}."


def _listed(arms: Sequence[str]) -> str:
    return ", ".join(arms[:_LISTED]) + (f" and {len(arms) - _LISTED} more" if len(arms) > _LISTED else "")
