"""Speed of the statistics against plain loops, run by hand: `python -m tests.benchmarks.stats_speed [ROUNDS]`.

SciPy is timed on a few comparisons and scaled up; both draw the same number of sign assignments. The guessers of
readiness questions are timed against ones that draw and grade one list after the other; both give the same numbers.
"""

import argparse
import time
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import stats

from scylla_gha.model.readiness import ChangedText, ItemPart, ItemSet, ReadinessItem
from scylla_gha.readiness.graders.answers import grade
from scylla_gha.readiness.guessers import DRAWS as GUESSES
from scylla_gha.readiness.guessers import guess_levels
from scylla_gha.stats.differences import holm, stratified_exact_p
from scylla_gha.stats.resampling import sign_flip_p
from tests.support.plain_guessers import plain_level

DRAWS: Final = 9_999
SAMPLE: Final = 10
RNG: Final = np.random.default_rng(20261122)
PAIRS: Final = RNG.normal(0.1, 1.0, (912, 47))
P: Final = RNG.uniform(size=6_441)
COUNTS: Final = np.column_stack([RNG.binomial(10, 0.6, 47), [10] * 47, RNG.binomial(10, 0.5, 47), [10] * 47])


def milliseconds(work: Callable[[], object], rounds: int = 1) -> float:
    """The least of several rounds."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return 1000 * min(times)


def mean(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(x.mean(axis=axis))


def scipy_flips() -> None:
    for row in PAIRS[:SAMPLE]:
        stats.permutation_test((row,), mean, permutation_type="samples", vectorized=True, n_resamples=DRAWS,
                               rng=np.random.default_rng(0))  # fmt: skip


def questions(count: int = 84) -> ItemSet:
    """Questions that name up to three of 200 functions, one of which is right."""
    names = [f"shop/m{number // 10}.py::step{number}" for number in range(200)]
    items = []
    for number in range(count):
        path, _, name = names[number].partition("::")
        key: dict[str, object] = {"places": {names[number]: {"path": path, "names": [name], "bare": [name]}}}
        part = ItemPart(id="locate", form="locate", weight=1, key=key, candidates=tuple(names))
        items.append(ReadinessItem(
            id=f"{number:03d}-item", dimension="intent-clarity", anchor=names[number], anchor_digest="0" * 64, files=(),
            prompt="Where?", has_shell=False, parts=(part,), solution=(ChangedText(path="ANSWER.json", text="{}"),)
        ))  # fmt: skip
    return ItemSet(tree="a" * 40, seed=0, language="python", items=tuple(items))


def share(part: ItemPart, answer: object) -> float:
    return float(grade(part.id, part.key, answer))


def guessing(rounds: int) -> str:
    items = questions()
    sizes = {f"shop/m{number}.py": 1 + number for number in range(20)}
    (level,) = guess_levels(items, share, sizes=sizes)
    plain = [plain_level(items, "locate", share, 3, weights, GUESSES) for weights in (None, sizes)]
    assert plain == [level.guessers["uniform"], level.guessers["by_size"]]
    ours = milliseconds(lambda: guess_levels(items, share, sizes=sizes), rounds)
    theirs = milliseconds(
        lambda: [plain_level(items, "locate", share, 3, weights, GUESSES) for weights in (None, sizes)]
    )
    return (
        f"guessing levels, 84 questions: {ours:.0f} ms, one list at a time {theirs:.0f} ms, {theirs / ours:.1f} times"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    rounds = parser.parse_args().rounds
    ours, theirs = milliseconds(lambda: sign_flip_p(PAIRS), rounds), milliseconds(scipy_flips) / SAMPLE * len(PAIRS)
    print(f"sign-flip, 912 comparisons of 47 clusters: {ours:.0f} ms, SciPy in a loop {theirs / 1000:.1f} s")
    print(f"Holm of 6,441 p: {milliseconds(lambda: holm(P.tolist()), rounds):.1f} ms")
    print(guessing(rounds))
    print(f"exact stratified test, 47 strata of 10 v 10: {milliseconds(lambda: stratified_exact_p(COUNTS)):.1f} ms")


if __name__ == "__main__":
    main()
