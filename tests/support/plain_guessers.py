"""Guessers that draw and grade one list after the other: the numbers that the fast ones must give."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from scylla_gha.model.readiness import ANSWER_FIELDS, ItemPart, ItemSet
from scylla_gha.readiness.guessers import answer_of, named_in

Grade = Callable[[ItemPart, object], float]


def plain_level(
    items: ItemSet, form: str, grade: Grade, size: int, weights: Mapping[str, float] | None, draws: int
) -> float:
    """The mean of a guesser whose lists have one size, by weights of the candidates' files; None: all alike."""
    asked = [(item, part) for item in items.items for part in item.parts if part.form == form and part.candidates]
    means = []
    for number, (item, part) in enumerate(asked):
        rng = np.random.default_rng([items.seed, number])
        limits = np.array([(weights or {}).get(name.partition("::")[0], 1.0) for name in part.candidates]).cumsum()
        named = named_in(item.prompt, part.candidates)
        lists = (within_ends(part, named, drawn(part.candidates, limits, size, rng)) for _ in range(draws))
        shares = [grade(part, answer_of(part, texts)) for texts in lists]
        means.append(sum(shares) / len(shares))
    return sum(means) / len(means)


def drawn(candidates: Sequence[str], limits: np.ndarray, size: int, rng: np.random.Generator) -> list[str]:
    """Distinct candidates."""
    texts: dict[str, None] = {}
    while len(texts) < min(size, len(limits)):
        places = np.searchsorted(limits, rng.random(2 * size) * limits[-1], side="right")
        texts.update(dict.fromkeys(candidates[min(int(place), len(limits) - 1)] for place in places))
    return list(texts)[:size]


def within_ends(part: ItemPart, named: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
    """A chain between the functions that the prompt names."""
    if part.id not in ANSWER_FIELDS or not named:
        return texts
    return [named[0], *(name for name in texts if name not in named), named[-1]]
