"""Property tests on variants of a tree: the same examples each time, and no search for smaller ones."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scylla_gha.readiness.test_runners.property_tests import PropertySettings


def property_test(seen: list[int], least_failing: int) -> Callable[[], None]:
    @settings(max_examples=40, deadline=1)
    @given(st.integers(0, 10**9))
    def test(number: int) -> None:
        seen.append(number)
        assert number < least_failing

    return test


def examples_of(least_failing: int = 10**10, *, has_outputs: bool = False) -> list[int]:
    seen: list[int] = []
    test = property_test(seen, least_failing)
    items: list[Any] = [SimpleNamespace(function=test), SimpleNamespace(function=print), SimpleNamespace()]
    PropertySettings(has_outputs=has_outputs).pytest_collection_modifyitems(items)
    if least_failing > 10**9:
        test()
    else:
        with pytest.raises(AssertionError):
            test()
    return seen


def test_each_run_draws_the_same_examples_as_many_as_the_test_wants() -> None:
    first = examples_of()
    assert len(first) == 40
    assert examples_of() == first


def test_failing_examples_are_made_smaller_only_for_outputs() -> None:
    seen = examples_of(1000)
    after_failure = seen[next(place for place, number in enumerate(seen) if number >= 1000) :]
    assert set(after_failure) == {after_failure[0]}
    assert 1000 in examples_of(1000, has_outputs=True)
