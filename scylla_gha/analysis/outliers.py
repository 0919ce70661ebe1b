"""Outliers: trials that a person should look at. None of them is left out of any number."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.model.analysis import Outlier
from scylla_gha.stats.arrays import Floats, Ints

_FAR: Final = 3.0  # interquartile ranges above the third quartile
_FEWEST: Final = 5
_LEAST_RATIO: Final = 2.0  # to the median: with a narrow interquartile range, a value may be far out and not much more
_MOST: Final = 50
_LOOKED_AT: Final = (("seconds", "s"), ("usd", "USD"), ("turns", "turns"))


def outliers(frame: Frame) -> tuple[Outlier, ...]:
    """Find at most fifty outliers, in the order of cells."""
    found = sorted({(outlier.cell, outlier.what) for outlier in _all(frame)})
    return tuple(Outlier(cell=cell, what=what) for cell, what in found[:_MOST])


def _all(frame: Frame) -> Iterator[Outlier]:
    columns = frame.columns
    idle = frame.judged & (columns["passed"] == 1) & (columns["files_changed"] == 0)
    yield from (Outlier(cell=frame.cells[row], what="passed, and changed nothing") for row in np.flatnonzero(idle))
    for name, unit in _LOOKED_AT:
        yield from _far_out(frame, name, unit, columns[name])


def _far_out(frame: Frame, name: str, unit: str, values: Floats) -> Iterator[Outlier]:
    """Yield trials far above the others of the same scenario and arm. Source: Tukey 1977, the outer fence."""
    known = np.flatnonzero(frame.judged & ~np.isnan(values))
    group = frame.arm[known] * len(frame.scenarios) + frame.scenario[known]
    order = np.lexsort((values[known], group))
    rows, starts = known[order], np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(starts, rows.size))
    starts, sizes = starts[sizes >= _FEWEST], sizes[sizes >= _FEWEST]
    if not starts.size:
        return
    ordered = values[rows]
    low, middle, high = (_quantiles(ordered, starts, sizes, q) for q in (0.25, 0.5, 0.75))
    limits = np.maximum(high + _FAR * (high - low), _LEAST_RATIO * middle)
    far = np.flatnonzero(ordered[starts + sizes - 1] > limits)
    for at in far:
        group_rows = rows[starts[at] : starts[at] + sizes[at]]
        for row in group_rows[values[group_rows] > limits[at]]:
            what = f"{name}: {values[row]:.4g} {unit}, where the median of its group is {middle[at]:.4g}"
            yield Outlier(cell=frame.cells[row], what=what)


def _quantiles(ordered: Floats, starts: Ints, sizes: Ints, q: float) -> Floats:
    """Compute the quantile of each stretch of sorted values, type 7 of Hyndman & Fan 1996."""
    position = q * (sizes - 1)
    under = np.floor(position).astype(np.int64)
    low, high = ordered[starts + under], ordered[starts + np.minimum(under + 1, sizes - 1)]
    return np.asarray(low + (position - under) * (high - low))
