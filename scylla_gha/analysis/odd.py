"""Trials out of the ordinary: nothing is left out for it, but a person should look."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.model.analysis import Odd
from scylla_gha.stats.arrays import Floats, Ints

_FAR: Final = 3.0  # times the middle half's width beyond it
_FEWEST: Final = 5
_LEAST_RATIO: Final = 2.0  # of what lies far out by a narrow middle half, but is not much more
_MOST: Final = 50
_LOOKED_AT: Final = (("seconds", "s"), ("usd", "USD"), ("turns", "turns"))


def odd_trials(frame: Frame) -> tuple[Odd, ...]:
    """At most fifty, in the order of cells."""
    found = sorted({(one.cell, one.what) for one in _all(frame)})
    return tuple(Odd(cell=cell, what=what) for cell, what in found[:_MOST])


def _all(frame: Frame) -> Iterator[Odd]:
    columns = frame.columns
    idle = frame.judged & (columns["passed"] == 1) & (columns["files_changed"] == 0)
    yield from (Odd(cell=frame.cells[row], what="passed, and changed nothing") for row in np.flatnonzero(idle))
    for name, unit in _LOOKED_AT:
        yield from _far_out(frame, name, unit, columns[name])


def _far_out(frame: Frame, name: str, unit: str, values: Floats) -> Iterator[Odd]:
    """Far above the others of the same group. Source: Tukey 1977, the outer fence."""
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
        mine = rows[starts[at] : starts[at] + sizes[at]]
        for row in mine[values[mine] > limits[at]]:
            yield Odd(cell=frame.cells[row], what=f"{name}: {values[row]:.4g} {unit}, where the median of its group is "
                      f"{middle[at]:.4g}")  # fmt: skip


def _quantiles(ordered: Floats, starts: Ints, sizes: Ints, q: float) -> Floats:
    """Of each stretch of sorted values, type 7."""
    place = q * (sizes - 1)
    under = np.floor(place).astype(np.int64)
    low, high = ordered[starts + under], ordered[starts + np.minimum(under + 1, sizes - 1)]
    return np.asarray(low + (place - under) * (high - low))
