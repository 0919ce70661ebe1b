"""Settings of Hypothesis's property tests on variants of a tree; nothing of the toolkit is used."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from hypothesis import settings as Settings  # noqa: N812 it is a class

_SETTINGS: Final = "_hypothesis_internal_use_settings"  # where Hypothesis keeps them; there is no public way
_AFTER_FAILURE: Final = frozenset({"shrink", "explain"})


class PropertySettings:
    """Plug-in of pytest: property tests draw the same examples in each run, and are not judged by their speed.

    Where no outputs are wanted, failing examples are not made smaller, which takes most of a failing test's time.
    """

    def __init__(self, *, has_outputs: bool) -> None:
        self.has_outputs = has_outputs

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        """Change the settings of the tests that have some."""
        for item in items:
            function = getattr(item, "function", None)
            original = getattr(function, _SETTINGS, None)
            if original is not None:
                setattr(function, _SETTINGS, self._steady(original))

    def _steady(self, original: "Settings") -> "Settings":
        from hypothesis import settings

        phases = [phase for phase in original.phases if self.has_outputs or phase.name not in _AFTER_FAILURE]
        return settings(original, derandomize=True, database=None, deadline=None, phases=phases)
