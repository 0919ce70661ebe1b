"""Groups (scenario x arm): what repetitions of one scenario by one arm have in common is told once, as their mean."""

from dataclasses import dataclass

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.stats.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Groups:
    """Of one column over judged rows, each of shape (arms, scenarios); NaN where a group has no known value."""

    n: Ints
    mean: Floats
    within: Floats  # the sum of squared offsets from the mean


def grouped(frame: Frame, values: Floats) -> Groups:
    """Means of groups, over the rows that are judged and whose value is known.

    Args:
        frame: the rows.
        values: of shape (n,).
    """
    known = frame.judged & ~np.isnan(values)
    shape = (len(frame.arms), len(frame.scenarios))
    cells = shape[0] * shape[1]
    place = (frame.arm * shape[1] + frame.scenario)[known]
    x = values[known]
    n = np.bincount(place, minlength=cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(place, weights=x, minlength=cells) / n
    offset = x - mean[place]
    within = np.bincount(place, weights=offset * offset, minlength=cells)
    return Groups(
        n=n.astype(np.int64).reshape(shape),
        mean=np.asarray(mean, dtype=np.float64).reshape(shape),
        within=np.asarray(within, dtype=np.float64).reshape(shape),
    )
