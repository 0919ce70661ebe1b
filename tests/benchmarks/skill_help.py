"""Simulated suites of evals: false verdicts between two equal versions, and coverage of the interval where it was used.

python -m tests.benchmarks.skill_help
"""

from collections.abc import Iterator

import numpy as np

from scylla_gha.analysis.skill_help import HelpData, contrast_of
from scylla_gha.model.skill_help import AssertionText, EvalTrial, SkillArm
from scylla_gha.stats.resampling import Resampling

SUITES = 500
SHOWN = 1_000  # suites that show the effect where the skill was used
EVALS = (3, 4, 6, 10, 20)
REPETITIONS = 3
HOW = Resampling(draws=999)
EFFECT = 0.3
_ALIKE = 0.5  # share of trials in which all assertions hold or fail together
ARMS: tuple[SkillArm, ...] = ("with", "without")


def suite(evals: int, rng: np.random.Generator, effect: float = 0.0, uptake: float = 1.0) -> HelpData:
    """Return the trials of a suite; the skill adds `effect` to the rate of each assertion in trials that use it."""
    trials, texts = [], []
    for number in range(evals):
        name = f"{number:03d}-eval"
        rates = rng.beta(0.5, 0.5, rng.integers(1, 6))
        texts += [AssertionText(eval=name, id=f"A{at}", text="it holds", by_code=True) for at in range(rates.size)]
        arms: tuple[SkillArm, ...] = ("with", "base")
        trials += [one_trial(name, arm, rates, rng, effect, uptake) for arm in arms for _ in range(REPETITIONS)]
    return HelpData(trials, texts, HOW)


def one_trial(
    name: str, arm: SkillArm, rates: np.ndarray, rng: np.random.Generator, effect: float, uptake: float
) -> EvalTrial:
    """Return a trial; in a part of them, all assertions have the same luck."""
    used = arm == "with" and rng.random() < uptake
    luck = np.full(rates.size, rng.random()) if rng.random() < _ALIKE else rng.random(rates.size)
    held = luck < np.clip(rates + (effect if used else 0.0), 0, 1)
    items: dict[str, float | None] = {f"A{at}": float(value) for at, value in enumerate(held)}
    return EvalTrial(eval=name, arm=arm, items=items, usd=1.0, seconds=1.0, tokens=1, used=used)


def false_verdicts(evals: int, suites: int = SUITES, seed: int = 0) -> tuple[float, float]:
    """Return the shares of suites with a false verdict on these evals, and with one in either claim."""
    rng = np.random.default_rng([seed, evals])
    here = either = 0
    for _ in range(suites):
        contrast = contrast_of(suite(evals, rng), "base")
        first = contrast.here is not None and contrast.here.verdict in {"better", "worse"}
        second = contrast.alike is not None and contrast.alike.verdict in {"better", "worse"}
        here, either = here + first, either + (first or second)
    return here / suites, either / suites


def where_used(evals: int, uptake: float, shown: int = SHOWN, seed: int = 0) -> tuple[float, float]:
    """Return the share of suites that show the effect where the skill was used, and of these that hold the truth.

    Few suites with a low uptake show it, so suites are drawn until `shown` of them do: the error of a coverage of 95 %
    is then 0.7 points.
    """
    rng = np.random.default_rng([seed, evals, int(100 * uptake)])
    suites = 0
    covered: list[bool] = []
    while len(covered) < shown:
        suites += 1
        effect = contrast_of(linear_suite(evals, rng, uptake), "without").where_used
        if effect is not None:
            covered.append(effect.low <= EFFECT <= effect.high)
    return shown / suites, sum(covered) / shown


def linear_suite(evals: int, rng: np.random.Generator, uptake: float) -> HelpData:
    """Return a suite in which use adds exactly `EFFECT` to each rate, with an uptake of its own for each eval."""
    trials, texts = [], []
    for number in range(evals):
        name, rate = f"{number:03d}-eval", rng.uniform(0.1, 0.9 - EFFECT)
        own = rng.beta(4 * uptake, 4 * (1 - uptake))
        texts += [AssertionText(eval=name, id=f"A{at}", text="it holds", by_code=True) for at in range(4)]
        for arm in ARMS:
            trials += [one_trial(name, arm, np.full(4, rate), rng, EFFECT, own) for _ in range(REPETITIONS)]
    return HelpData(trials, texts, Resampling(draws=9))


def lines() -> Iterator[str]:
    """Yield the table of false verdicts."""
    for evals in EVALS:
        here, either = false_verdicts(evals)
        yield f"{evals:2} evals: {here:.1%} false on these evals, {either:.1%} in either claim ({SUITES} suites)"
    for evals in (6, 10, 20):
        for uptake in (0.25, 0.5, 0.8):
            shown, covered = where_used(evals, uptake)
            yield f"{evals:2} evals, uptake {uptake:.0%}: where used shown in {shown:.1%}, coverage {covered:.1%}"


if __name__ == "__main__":
    for line in lines():
        print(line)
