"""Rates of many rows over many columns, each drawn towards the whole as far as its own data leave it open.

`y[t, s] ~ Bin(n[t, s], logit^-1(mu + a_t + b_s))` with `a_t ~ N(0, sd_a^2)` and `b_s ~ N(0, sd_b^2)`: rows and columns
are samples, and their spread is estimated (empirical Bayes). By Laplace's approximation: Newton steps to the mode, then
the spreads from the mode and its curvature, until they rest (where EM would, too). The row that looks best in raw rates
is mostly the luckiest one; here its luck is taken off. The limits take the spreads as known, so they are a little too
narrow: with six rows and six columns 95 % limits hold the truth in some 88 % of cases, with twenty in 94 %.

Source: Breslow & Clayton 1993, JASA 88:9; the model is the two-level one of HiBayES, arXiv:2505.05602.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from scylla_gha.stats.arrays import Floats

FEWEST: Final = 6  # levels of a factor from which its spread can be told: with 3 one finds .07 for a true .6
_ROUNDS: Final = 200
_STEPS: Final = 50
_TOLERANCE: Final = 1e-4  # of an sd, on the scale of logits
_SMALL: Final = 1e-3  # an sd below is no difference
_LARGE: Final = 10.0  # an sd above means that the data are separated
_LONGEST: Final = 5.0  # a Newton step, on the scale of logits


@dataclass(frozen=True, slots=True)
class Levels:
    """One factor, one place per level. `effect` is on the scale of logits, 0 the average; `sd` is its posterior's.

    `rate` is the mean chance over all levels of the other factor, those included that this level was not tried on;
    `low` and `high` are its limits.
    """

    spread: float
    effect: Floats
    sd: Floats
    rate: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The fit. `rates`: the chance in each cell, shape (rows, columns). Not `converged`: do not print it."""

    mean: float
    rows: Levels
    columns: Levels
    rates: Floats
    converged: bool


def shrink(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Shrunk | None:
    """Fit the model.

    Args:
        successes: shape (rows, columns).
        n: tries, same shape; 0 where a cell is missing.
        confidence: of the limits.

    Returns:
        None where all tries succeed or all fail: there is nothing to shrink to.

    Raises:
        ValueError: the shapes differ, not 0 <= successes <= n, or fewer than 6 rows or columns with a try.
    """
    y, tries = _checked(successes, n)
    if not 0 < y.sum() < tries.sum():
        return None
    model = _Model(y, tries)
    fit, sds, converged = model.fitted()
    row, column = model.levels(fit, sds, confidence)
    rates = expit(fit.at[0] + fit.at[1 : 1 + len(y), None] + fit.at[None, 1 + len(y) :])
    return Shrunk(float(fit.at[0]), row, column, rates, converged)


def _checked(successes: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    y, tries = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if y.ndim != 2 or y.shape != tries.shape or not np.all((y >= 0) & (y <= tries)):  # noqa: PLR2004 rows and columns
        raise ValueError("successes and n must be two tables of one shape with 0 <= successes <= n")
    for axis, name in ((1, "rows"), (0, "columns")):
        levels = int((tries.sum(axis=axis) > 0).sum())
        if levels < FEWEST:
            raise ValueError(f"{levels} {name} with a try: their spread cannot be told from fewer than {FEWEST}")
    return y, tries


@dataclass(frozen=True, slots=True)
class _Mode:
    """Where the posterior is highest, (mean, rows, columns), and the covariance there."""

    at: Floats
    covariance: Floats


@dataclass(frozen=True, slots=True)
class _Model:
    y: Floats
    n: Floats

    def fitted(self) -> tuple[_Mode, Floats, bool]:
        """The mode, the two spreads, and whether they came to rest."""
        rows, columns = self.y.shape
        total = self.y.sum() / self.n.sum()
        at = np.zeros(1 + rows + columns)
        at[0] = np.log(total / (1 - total))
        sds, converged = np.array([1.0, 1.0]), False
        mode = self._mode(at, sds)
        parts = 1 + np.flatnonzero(self.n.sum(axis=1)), 1 + rows + np.flatnonzero(self.n.sum(axis=0))
        for _ in range(_ROUNDS):
            left = np.diag(mode.covariance)
            found = [_spread(mode.at[part], left[part], sd) for part, sd in zip(parts, sds, strict=True)]
            new = np.clip(found, _SMALL, _LARGE)
            converged = bool(np.all(np.abs(new - sds) < _TOLERANCE))
            sds = new
            mode = self._mode(mode.at, sds)
            if converged:
                break
        return mode, sds, converged

    def _mode(self, at: Floats, sds: Floats) -> _Mode:
        """Newton's method from `at`; the posterior has one mode, and steps that are too long are cut."""
        rows, columns = self.y.shape
        weight = np.concatenate([[0.0], np.full(rows, sds[0] ** -2), np.full(columns, sds[1] ** -2)])
        covariance = np.eye(at.size)
        for _ in range(_STEPS):
            chance = expit(at[0] + at[1 : 1 + rows, None] + at[None, 1 + rows :])
            covariance = _inverse(self.n * chance * (1 - chance), weight)
            step = np.einsum("ij,j->i", covariance, _margins(self.y - self.n * chance) - weight * at)
            longest = float(np.abs(step).max())
            at = at + step * min(1.0, _LONGEST / max(longest, _TOLERANCE))
            if longest < _TOLERANCE:
                break
        return _Mode(at, covariance)

    def levels(self, mode: _Mode, sds: Floats, confidence: float) -> tuple[Levels, Levels]:
        """Both factors, with limits."""
        rows, columns = self.y.shape
        chance = expit(mode.at[0] + mode.at[1 : 1 + rows, None] + mode.at[None, 1 + rows :])
        slope = chance * (1 - chance)
        own, other = np.diag(slope.mean(axis=1)), slope / columns
        of_rows = np.hstack([slope.mean(axis=1)[:, None], own, other])
        of_columns = np.hstack([slope.mean(axis=0)[:, None], slope.T / rows, np.diag(slope.mean(axis=0))])
        z = float(ndtri((1 + confidence) / 2))
        first, second = slice(1, 1 + rows), slice(1 + rows, None)
        return (
            _levels(mode, first, float(sds[0]), chance.mean(axis=1), of_rows, z),
            _levels(mode, second, float(sds[1]), chance.mean(axis=0), of_columns, z),
        )


def _spread(effects: Floats, left: Floats, spread: float) -> float:
    """The sum of squares over as many effects as the data tell: it rests where EM does, after far fewer rounds.

    Source: MacKay 1992, Neural Computation 4:415.
    """
    told = effects.size - left.sum() / spread**2
    return float(np.sqrt(effects @ effects / max(told, 1e-6)))


def _margins(cells: Floats) -> Floats:
    return np.concatenate([[cells.sum()], cells.sum(axis=1), cells.sum(axis=0)])


def _inverse(information: Floats, weight: Floats) -> Floats:
    """The covariance: of minus the second derivatives (the cells' information by margin, and the priors' weight).

    The larger factor is taken out by its diagonal, so what is left to invert is small; and sums are without BLAS, whose
    threads would change the last digits and, on a busy machine, take far longer than the work.
    """
    rows, columns = information.shape
    if columns > rows:
        turned = np.r_[0, 1 + rows : weight.size, 1 : 1 + rows]
        back = np.argsort(turned)
        return _inverse(information.T, weight[turned])[np.ix_(back, back)]
    of_rows, of_columns = information.sum(axis=1), information.sum(axis=0)
    diagonal = of_rows + weight[1 : 1 + rows]
    coupling = np.hstack([of_rows[:, None], information])
    gains = coupling / diagonal[:, None]
    small = np.diag(np.concatenate([[of_rows.sum()], of_columns + weight[1 + rows :]]))
    small[0, 1:] = small[1:, 0] = of_columns
    rest = np.linalg.inv(small - np.einsum("ij,ik->jk", coupling, gains))
    cross = -np.einsum("ij,jk->ik", gains, rest)
    found = np.empty((weight.size, weight.size))
    first, others = np.arange(1, 1 + rows), np.r_[0, 1 + rows : weight.size]
    found[np.ix_(first, first)] = np.diag(1 / diagonal) - np.einsum("ij,kj->ik", cross, gains)
    found[np.ix_(first, others)], found[np.ix_(others, first)] = cross, cross.T
    found[np.ix_(others, others)] = rest
    return found


def _levels(mode: _Mode, part: slice, spread: float, rate: Floats, gradient: Floats, z: float) -> Levels:
    """Limits by the delta method on the logit of the rate, so that they stay in (0, 1)."""
    sd = np.sqrt((np.einsum("ij,jk->ik", gradient, mode.covariance) * gradient).sum(axis=1))
    odds, half = np.log(rate / (1 - rate)), z * sd / (rate * (1 - rate))
    posterior = np.sqrt(np.diag(mode.covariance)[part])
    return Levels(spread, mode.at[part], posterior, rate, expit(odds - half), expit(odds + half))
