"""Simulated suites of evals: false verdicts between two equal versions, and coverage of the interval where it was used.

python -m tests.benchmarks.skill_help
"""

from collections.abc import Iterator

import numpy as np

from scylla_gha.analysis.skill_help import HelpData, contrast_of
from scylla_gha.model.skill_help import AssertionText, EvalTrial, SkillArm
from scylla_gha.stats.resampling import Resampling

SUITES = 500
EVALS = (3, 4, 6, 10, 20)
REPETITIONS = 3
HOW = Resampling(draws=999)


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
    """Return a trial; its assertions share a part of their luck."""
    used = arm == "with" and rng.random() < uptake
    luck = 0.5 * rng.random() + 0.5 * rng.random(rates.size)
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


def lines() -> Iterator[str]:
    """Yield the table of false verdicts."""
    for evals in EVALS:
        here, either = false_verdicts(evals)
        yield f"{evals:2} evals: {here:.1%} false on these evals, {either:.1%} in either claim ({SUITES} suites)"


if __name__ == "__main__":
    for line in lines():
        print(line)
