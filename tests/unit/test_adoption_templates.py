import pytest

from scylla_gha.adoption.templates import filled


def test_every_gap_is_filled() -> None:
    assert "xargs pytest" in filled("run.sh", before="", run="pytest")
    assert "<<" not in filled("experiment.yaml", name="a", scenario="101-b", schema="c")


def test_a_word_that_is_not_given_is_a_fault() -> None:
    with pytest.raises(KeyError, match="before"):
        filled("run.sh", run="pytest")
