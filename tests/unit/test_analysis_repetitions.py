import numpy as np

from scylla_gha.analysis.frame import passes_by_repetition
from tests.support.frames import fault, frame, group, row


def test_the_repetitions_of_a_scenario_stand_in_a_row_in_their_order() -> None:
    rows = [row("arm", "002-b", 2, passed=False), row("arm", "002-b", 1), *group("arm", "001-a", "PFP"),
            *group("other", "003-c", "P"), fault("arm", "001-a", 9)]  # fmt: skip
    found = passes_by_repetition(frame(rows), 0)
    np.testing.assert_array_equal(found, [[1, 0, 1], [1, 0, np.nan], [np.nan] * 3])


def test_an_arm_without_a_row_has_no_column() -> None:
    assert passes_by_repetition(frame(group("arm", "001-a", "P"), "arm", "none"), 1).shape == (1, 0)
    assert passes_by_repetition(frame([], "arm"), 0).shape == (0, 0)
