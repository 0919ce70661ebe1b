"""Reference cases of intervals, tests, effect sizes, resampling, power and cost: a case's `function` -> our call."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from scylla_gha.stats import (
    binomial,
    bootstrap,
    clusters,
    effect,
    frontier,
    mean,
    multiplicity,
    power,
    proportion,
    pvalue,
    ratio,
    signflip,
    success_cost,
)
from scylla_gha.stats.interval import Interval
from scylla_gha.stats.resampling import Resampling

Registry: TypeAlias = dict[str, Callable[..., Any]]
Models: TypeAlias = dict[str, dict[str, dict[str, list[float]]]]


def floats(limits: Iterable[Any]) -> list[float]:
    return [float(limit) for limit in limits]


def both(found: Interval | None) -> list[float | None]:
    assert found is not None
    return [found.low, found.high]


def p_of(found: pvalue.Test | None) -> float:
    assert found is not None
    return found.p


def wilson(k: int, n: int, conf: float) -> list[float]:
    """The scalar one and that of arrays must agree."""
    assert conf == 0.95
    plain = proportion.wilson(k, n)
    assert plain is not None
    assert np.allclose(floats(binomial.wilson_limits(k, n, conf)), plain, rtol=1e-14)
    return list(plain)


def squares(x: Sequence[float]) -> list[Any]:
    values = np.array(x, dtype=np.float64)
    return [values, values**2]


def resampled(x: Sequence[float], statistic: str, conf: float, *, corrected: bool) -> list[float | None]:
    assert statistic == "plugin_variance"
    how = Resampling(draws=19_999, confidence=conf)
    return both(bootstrap.bootstrap_interval(squares(x), bootstrap.variance_of, how, corrected=corrected))


def sums(models: Models) -> tuple[Any, Any]:
    """Costs and successes, each of shape (models, problems)."""
    found = [[[sum(cell[what]) for cell in problems.values()] for problems in models.values()] for what in
             ("cost", "passed")]  # fmt: skip
    return found[0], found[1]


def paired_lakens(x: Sequence[float], y: Sequence[float]) -> float | None:
    return mean.paired_t(np.subtract(x, y))


def sample_size(*given: float) -> int | None:
    """Variances between and within both arms, repetitions in both, smallest effect, alpha, power."""
    *variances, k_a, k_b, mde, alpha, wanted = given
    return power.sample_size_paired_normal(
        power.Split(*variances).of_difference(int(k_a), int(k_b)), mde, alpha, wanted
    )


def smallest_effect(*given: float) -> float | None:
    """Variances as above, repetitions, clusters, alpha, power."""
    *variances, k, n, alpha, wanted = given
    return power.mde_paired_normal(power.Split(*variances).of_difference(int(k), int(k)), int(n), alpha, wanted)


def by_position(call: Callable[..., Any]) -> Callable[..., Any]:
    """Take a case's inputs in their order, whatever its author calls them."""
    return lambda **inputs: call(*inputs.values())


def acceleration(x: Sequence[float], statistic: str) -> float:
    assert statistic == "plugin_variance"
    return float(bootstrap.acceleration(squares(x), bootstrap.variance_of)[0])


def per_stratum(models: Models, human_baseline: float | None) -> float | None:
    return frontier.strata_frontier(*sums(models), math.inf if human_baseline is None else human_baseline).cost


def pooled(models: Models, human_baseline: float | None) -> float | None:
    return frontier.pooled_frontier(*sums(models), human_baseline).cost


_CALLS: Registry = {
    "bca_acceleration": acceleration,
    "bh": lambda p: multiplicity.benjamini_hochberg(p).tolist(),
    "bh_n_rejected": lambda p, q: multiplicity.rejected(multiplicity.benjamini_hochberg(p), q),
    "bonferroni_n_rejected": lambda p, alpha: multiplicity.rejected(multiplicity.bonferroni(p), alpha),
    "bootstrap_bca": lambda *given: resampled(*given, corrected=True),
    "bootstrap_percentile": lambda *given: resampled(*given, corrected=False),
    "cliffs_delta": effect.cliffs_delta,
    "clopper_pearson_ci": lambda *given: floats(binomial.clopper_pearson_limits(*given)),
    "cohens_d": effect.cohens_d,
    "cohens_dz": effect.cohens_dz,
    "cost_of_pass": success_cost.success_cost,
    "design_effect": clusters.design_effect,
    "fieller_ci": lambda *given: both(ratio.fieller(*given)),
    "frontier_cop_per_task": per_stratum,
    "frontier_cop_pooled": pooled,
    "hedges_correction": effect.hedges_correction,
    "hedges_g": effect.hedges_g,
    "holm": lambda p: multiplicity.holm(p).tolist(),
    "mc_p_value": pvalue.mc_p_value,
    "mde_paired": smallest_effect,
    "mean_difference": effect.mean_difference,
    "paired_t": paired_lakens,
    "paired_t_p": mean.paired_t_p,
    "plugin_variance": mean.plugin_variance,
    "sample_size_paired": sample_size,
    "sample_size_paired_t": power.sample_size_paired_t,
    "sample_size_two_sample_t": power.sample_size_two_sample_t,
    "se_bernoulli": mean.se_bernoulli,
    "sign_flip_count_ge": signflip.sign_flip_count,
    "sign_flip_test_exact": lambda *given: p_of(signflip.sign_flip_test(*given)),
    "upper_bound_zero_events": binomial.zero_events_upper,
    "vargha_delaney_a": effect.vargha_delaney_a,
    "wilson_ci": wilson,
}
CASES: Registry = {name: by_position(call) for name, call in _CALLS.items()}
