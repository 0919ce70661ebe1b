"""The whole analysis on rows that are as bad as they come: nulls and warnings, no crash, no NaN."""

import json

import pytest

from scylla_gha.analysis.analyse import Question, analyse
from scylla_gha.model.analysis import Analysis
from scylla_gha.model.result import Result
from tests.support.frames import fault, frame, group, table

QUESTION = Question("base", {}, 0.05)
MANY = {f"arm-{at:04d}": ["PF", "FF"] for at in range(250)}


def whole(rows: list[Result], *arms: str) -> Analysis:
    return analyse(frame(rows, *arms), QUESTION)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="no rows"),
        pytest.param(table({"base": ["P"]}), id="one row"),
        pytest.param(table({"base": ["PPF"], "arm": ["PPP"]}), id="one scenario"),
        pytest.param(table({"base": ["PP"] * 3, "arm": ["PP"] * 3}), id="all passes"),
        pytest.param(table({"base": ["FF"] * 3, "arm": ["FF"] * 3}), id="no pass"),
        pytest.param(table({"base": ["PF"] * 3, "arm": ["FP"] * 3}, usd=None), id="all costs unknown"),
        pytest.param(table({"base": ["PF", "P", "FFFF"], "arm": ["P", "PPPP", "F"]}), id="unequal repetitions"),
        pytest.param(table({"base": ["PF", "-", "FF"], "arm": ["-", "PP", "PF"]}), id="scenarios missing in one arm"),
        pytest.param([fault("base", "001-a", 1), fault("arm", "001-a", 1)], id="faults alone"),
        pytest.param(table({"arm": ["PF"] * 3}), id="no baseline"),
        pytest.param(table({"base": ["PF", "FF"], **MANY}), id="more arms than are shrunk"),
    ],
)
def test_bad_rows_are_an_analysis_with_nulls(rows: list[Result]) -> None:
    found = whole(rows, "base")
    assert json.loads(found.model_dump_json(), parse_constant=pytest.fail)
    for ruling in found.rulings:
        assert ruling.verdict == "not_enough_data"
        assert ruling.why
    for arm in found.measures:
        for one in arm.measures:
            assert (one.value is None) == (one.state != "known"), one
            assert one.value is not None or one.note, one


def test_the_same_rows_in_another_order_are_the_same_analysis() -> None:
    rows = table({"base": ["PF", "FF", "PP"], "arm": ["PP", "PF", "PP"]}, usd=0.3)
    assert whole(rows, "base", "arm") == whole(rows[::-1], "base", "arm")


def test_few_scenarios_gaps_and_unequal_repetitions_are_warned_of() -> None:
    warnings = whole(table({"base": ["PF", "P"], "arm": ["PP", "-"]})).warnings
    assert [warning.split(":")[0] for warning in warnings] == [
        "2 scenarios are few",
        "Repetitions differ between groups (1 to 2)",
        "1 of 4 groups have no judged trial",
    ]


def test_one_scenario_is_warned_of() -> None:
    assert whole(group("base", "001-a", "PF")).warnings == (
        "All trials are of one scenario: the results hold for this scenario only, and comparisons have no p value.",
    )


def test_tools_are_sorted_by_number_of_calls() -> None:
    rows = group("base", "001-a", "PF", tools={"Bash": 3, "Edit": 1})
    found = whole(rows).tools
    assert [(one.tool, one.calls, one.per_trial) for one in found] == [("Bash", 6, 3.0), ("Edit", 2, 1.0)]


def test_from_six_arms_and_scenarios_on_rates_are_drawn_together() -> None:
    arms = {f"arm-{at}": ["P" * at + "F" * (6 - at)] * 6 for at in range(6)}
    drawn = {one.arm: one for one in whole(table({"base": ["PPPFFF"] * 6, **arms})).shrunk}
    assert 0 < drawn["arm-0"].rate < 1 / 6
    assert drawn["arm-0"].low < drawn["arm-0"].rate < drawn["arm-0"].high
    assert whole(table({"base": ["PPPFFF"] * 6, "arm": ["PFPFPF"] * 6})).shrunk == ()
