"""The repetitions of an arm side by side: a row for each scenario, a column for each of its trials."""

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.stats.arrays import Floats


def passes(frame: Frame, arm: int) -> Floats:
    """Whether each judged trial of an arm passed: shape (scenarios, most repetitions), NaN where there is none.

    Args:
        frame: the rows.
        arm: its place.
    """
    rows = frame.rows_of(arm)
    rows = rows[np.lexsort((frame.repetition[rows], frame.scenario[rows]))]
    scenario = frame.scenario[rows]
    counts = np.bincount(scenario, minlength=len(frame.scenarios))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if counts.size else counts
    found = np.full((len(frame.scenarios), int(counts.max(initial=0))), np.nan)
    found[scenario, np.arange(rows.size) - starts[scenario]] = frame.columns["passed"][rows]
    return found
