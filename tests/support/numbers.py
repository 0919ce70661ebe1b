"""Numbers for tests of statistics; the same ones in every run."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from scylla_gha.stats import Interval

FIXED = settings(derandomize=True, deadline=None, max_examples=60, database=None)


def values(smallest: int = 0, largest: int = 12) -> SearchStrategy[list[float]]:
    """Few enough that ties and constant samples come up, wide enough that magnitudes do."""
    some = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6, allow_subnormal=False))
    return st.lists(some, min_size=smallest, max_size=largest)


def spread(smallest: int = 2, largest: int = 12) -> SearchStrategy[list[float]]:
    """Values of one magnitude that are not all equal."""
    some = st.integers(-1_000, 1_000).map(lambda i: i / 8)
    return st.lists(some, min_size=smallest, max_size=largest).filter(lambda found: len(set(found)) > 1)


def counts(most: int = 60) -> SearchStrategy[tuple[int, int]]:
    """Successes and trials, at least one trial."""
    return st.integers(1, most).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def known(found: Interval | None) -> tuple[float, float, float]:
    """Lower limit, estimate, upper limit of an interval that has all three."""
    assert found is not None
    assert found.estimate is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.estimate, found.high
