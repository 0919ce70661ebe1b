"""The noncentral t distribution, by an integral that holds in the far tails, where library functions give NaN."""

import math
from typing import Final

import numpy as np
from scipy.special import gammainc, gammainccinv, gammaincinv, gammaln, ndtr

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_FAR: Final = 9.0  # standard deviations: what lies beyond has a chance below 1e-18
_TAIL: Final = 1e-18


def noncentral_t_sf(t: float, df: float, nc: float) -> float:
    """P(T > t) for T = (Z + nc) / sqrt(chi2(df) / df); NaN where df is not above 0 or an argument is not finite.

    It is the mean of Phi(nc - t u) over u = sqrt(chi2(df) / df). Where t u is so far below nc that Phi is 1, the mean
    is a gamma function; the rest is a smooth integral over a short way.
    """
    if not (df > 0 and math.isfinite(t) and math.isfinite(nc) and math.isfinite(df)):
        return math.nan
    if t < 0:
        return 1 - noncentral_t_sf(-t, df, -nc)
    if t == 0:
        return float(ndtr(nc))
    half = df / 2
    # u in [least, most] but for a chance of 1e-18 on either side.
    least = math.sqrt(float(gammaincinv(half, _TAIL)) / half)
    most = math.sqrt(float(gammainccinv(half, _TAIL)) / half)
    start = min(max((nc - _FAR) / t, least), most)
    end = max(min((nc + _FAR) / t, most), start)
    sure = float(gammainc(half, half * start * start)) if (nc - _FAR) / t > least else 0.0
    u = start + (end - start) * (_NODES + 1) / 2
    density = np.exp(math.log(2) + half * math.log(half) - gammaln(half) + (df - 1) * np.log(u) - half * u * u)
    rest = float((_WEIGHTS * density * ndtr(nc - t * u)).sum()) * (end - start) / 2
    return min(1.0, max(0.0, sure + rest))
