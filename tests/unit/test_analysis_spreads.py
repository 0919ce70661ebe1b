"""Spreads of times and costs: quartiles of all trials, timeouts by themselves, and never too many values."""

import numpy as np
import pytest

from scylla_gha.analysis.frame import build_frame
from scylla_gha.analysis.metrics import spreads
from scylla_gha.model.trial import Outcome
from tests.support.reports import arm_of, row_of


def test_all_values_of_few_trials_are_kept_and_unknown_ones_left_out() -> None:
    rows = [row_of(0, 0, 1, seconds=10.0, usd=None), row_of(0, 1, 1, seconds=30.123456, usd=None),
            row_of(0, 2, 1, seconds=600.0, usd=None, outcome=Outcome.TIMEOUT, reason="no end after 600 s")]  # fmt: skip
    (times,) = spreads(build_frame(rows))
    assert (times.arm, times.metric, times.n, times.timeouts) == (arm_of("T0/00-empty"), "seconds", 3, 1)
    assert (times.values, times.late) == ((10.0, 30.123), (600.0,))
    assert times.quartiles == (10.0, 20.062, 30.123, 315.06, 600.0)


def test_of_many_trials_quartiles_are_of_all_and_values_are_thinned_out() -> None:
    rows = [row_of(0, at % 8, 1 + at // 8, seconds=float(at), usd=float(at) / 7) for at in range(1, 801)]
    times, costs = spreads(build_frame(rows))
    assert times.quartiles == pytest.approx(np.quantile(np.arange(1, 801), (0, 0.25, 0.5, 0.75, 1)))
    assert (len(times.values), times.values[0], times.values[-1], times.n) == (60, 1.0, 800.0, 800)
    assert np.ptp(np.diff(times.values)) <= 1
    assert costs.metric == "usd"
