"""Times and costs of single trials, by arm, for pictures: quartiles, and as many values as fit."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.model.analysis import Spread, SpreadMetric
from scylla_gha.stats.arrays import Bools, Floats, Ints

_METRICS: Final[tuple[SpreadMetric, ...]] = ("seconds", "usd")
_MOST_VALUES: Final = 1200  # of all arms together, on one metric
_MOST_OF_ARM: Final = 60
_LEAST_OF_ARM: Final = 8
_QUARTILES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_DIGITS: Final = 5  # significant ones


def spreads(frame: Frame) -> Iterator[Spread]:
    """Yield the spread of each metric over the judged trials of each arm; none where no trial knows its value."""
    most = max(_LEAST_OF_ARM, min(_MOST_OF_ARM, _MOST_VALUES // max(1, len(frame.arms))))
    timed_out = np.array([outcome == "timeout" for outcome in frame.outcomes], dtype=np.bool_)
    for metric in _METRICS:
        for at, arm in enumerate(frame.arms):
            rows = frame.rows_of(at)
            values = frame.columns[metric][rows]
            known = ~np.isnan(values)
            if known.any():
                order = np.argsort(values[known], kind="stable")
                yield _spread((arm, metric), values[known][order], timed_out[rows][known][order], most)


def _spread(label: tuple[str, SpreadMetric], values: Floats, timed_out: Bools, most: int) -> Spread:
    """Keep sorted values at equal distances in rank; those of timeouts are listed by themselves."""
    ended, late = values[~timed_out], values[timed_out]
    least, first, median, third, largest = _rounded(np.quantile(values, _QUARTILES))
    return Spread(
        arm=label[0], metric=label[1], n=values.size, timeouts=late.size,
        quartiles=(least, first, median, third, largest),
        values=tuple(_rounded(ended[_ranks(ended.size, most)])), late=tuple(_rounded(late[_ranks(late.size, most)])),
    )  # fmt: skip


def _ranks(size: int, most: int) -> Ints:
    return np.unique(np.linspace(0, max(0, size - 1), min(size, most)).round().astype(np.int64))


def _rounded(values: Floats) -> Iterator[float]:
    return (float(f"{value:.{_DIGITS}g}") for value in values)
