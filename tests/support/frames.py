"""Rows for statistics, told by what matters of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from scylla_gha.analysis.frame import Frame, build_frame
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from tests.support.records import make_cell, make_result


def row(arm: str, scenario: str, repetition: int, **given: Any) -> Result:
    """A judged row; `passed` tells its score too, where none is given."""
    passed = given.get("passed", True)
    cell = make_cell(arm, repetition, scenario)
    return make_result(cell, **{"score": 1.0 if passed else 0.0, "grade": "A" if passed else "F", **given})


def group(arm: str, scenario: str, passed: str, **given: Any) -> list[Result]:
    """A row for each letter: `P` passed, anything else failed."""
    return [row(arm, scenario, at, passed=letter == "P", **given) for at, letter in enumerate(passed, start=1)]


def table(arms: Mapping[str, Sequence[str]], **given: Any) -> list[Result]:
    """Of each arm one string of letters per scenario, `-` for a scenario that it has not tried."""
    return [
        one
        for arm, groups in arms.items()
        for number, passed in enumerate(groups)
        if passed != "-"
        for one in group(arm, f"{number:03d}-s", passed, **given)
    ]


def fault(arm: str, scenario: str, repetition: int) -> Result:
    """A row that does not measure the agent."""
    nothing = {"measures_agent": False, "judged": False, "passed": None, "score": None, "grade": None, "progress": None}
    return row(arm, scenario, repetition, outcome=Outcome.PROVIDER_ERROR, **nothing)


def frame(rows: list[Result], *arms: str) -> Frame:
    """The rows as columns."""
    return build_frame(rows, arms)
