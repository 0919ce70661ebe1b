"""What cells may cost and take: from history where there are trials, else from priors by the scenario's size.

The priors are turns of conversation; each turn is taken to read 25,000 tokens from the cache, to write 1,500 to it,
and to produce 400. They are a first guess with a wide range, and no measurement.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.config.library import ScenarioFolder
from scylla_gha.model.experiment import Limits
from scylla_gha.model.plan import Arm, Estimate, Range
from scylla_gha.model.pricing import Model
from scylla_gha.model.scenario import Size
from scylla_gha.model.traffic import Tokens

_TURNS: Final[dict[Size, tuple[float, float, float]]] = {
    "small": (3, 10, 30),
    "medium": (8, 25, 80),
    "large": (20, 60, 200),
}
_MINUTES_PER_TURN: Final = 0.2
_BUILT_IN_MINUTES: Final = 0.01
Guess = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one earlier trial cost, in USD (None: unknown) and seconds."""

    usd: float | None
    seconds: float


def estimate(
    groups: Iterable[tuple[ScenarioFolder, Arm, int]],
    limits: Limits,
    models: Mapping[str, Model],
    history: Mapping[tuple[str, str], Sequence[Spent]],
) -> Estimate:
    """Sum the guesses of all groups and their numbers of cells; USD is unknown where one price is unknown."""
    usd: list[tuple[Guess | None, int]] = []
    minutes: list[tuple[Guess | None, int]] = []
    planned = measured = 0
    for folder, arm, count in groups:
        past = history.get((folder.scenario.id, arm.id), ())
        planned += count
        measured += count if past else 0
        usd.append((_usd(folder, arm, models, past), count))
        minutes.append((_minutes(folder, arm, limits, past), count))
    basis = f"history for {measured} of {planned} cells, priors by size for the others"
    return Estimate(usd=_sum(usd), minutes=_sum(minutes), basis=basis)


def _usd(folder: ScenarioFolder, arm: Arm, models: Mapping[str, Model], past: Sequence[Spent]) -> Guess | None:
    if arm.model is None:
        return 0.0, 0.0, 0.0
    known = [spent.usd for spent in past if spent.usd is not None]
    if known:
        return min(known), sum(known) / len(known), max(known)
    model = models.get(arm.model)
    if model is None or model.price is None:
        return None
    price = model.price.usd(Tokens(output=400, cache_read=25_000, cache_write_5m=1_500))
    low, likely, high = _TURNS[folder.scenario.size]
    return low * price, likely * price, high * price


def _minutes(folder: ScenarioFolder, arm: Arm, limits: Limits, past: Sequence[Spent]) -> Guess:
    if past:
        seconds = [spent.seconds for spent in past]
        return min(seconds) / 60, sum(seconds) / len(seconds) / 60, max(seconds) / 60
    if arm.model is None:
        return _BUILT_IN_MINUTES, _BUILT_IN_MINUTES, _BUILT_IN_MINUTES
    limit = (limits.timeout_seconds or folder.scenario.task.timeout_seconds) / 60
    low, likely, high = _TURNS[folder.scenario.size]
    return (
        min(limit, low * _MINUTES_PER_TURN),
        min(limit, likely * _MINUTES_PER_TURN),
        min(limit, high * _MINUTES_PER_TURN),
    )


def _sum(guesses: Sequence[tuple[Guess | None, int]]) -> Range:
    known = [(guess, count) for guess, count in guesses if guess is not None]
    if len(known) < len(guesses):
        return Range(low=None, likely=None, high=None)
    low, likely, high = (sum(guess[part] * count for guess, count in known) for part in range(3))
    return Range(low=low, likely=likely, high=high)
