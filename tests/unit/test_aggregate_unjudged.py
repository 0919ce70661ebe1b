"""Trials on which judges gave no verdict: the pass rate lies between two bounds."""

import io
from typing import Any

from rich.console import Console

from scylla_gha.aggregate.build import aggregate
from scylla_gha.aggregate.row_counts import RowCounts
from scylla_gha.model.trial import Outcome
from scylla_gha.report.comment import comment
from scylla_gha.report.markdown import markdown
from scylla_gha.report.terminal import terminal_report
from tests.support.comments import facts
from tests.support.records import make_cell, make_excluded_result, make_experiment, make_plan, make_result

FAILED: dict[str, Any] = {"passed": False, "score": 0.3, "grade": "D", "progress": 0.5}
UNJUDGED: dict[str, Any] = {"judged": False, "passed": None, "score": None, "grade": None, "progress": None}


def test_what_is_unjudged_is_between_two_bounds_wherever_the_rate_is_shown() -> None:
    """Of ten trials six passed and two failed; of two judges would not read what the agent left."""
    refused = {**UNJUDGED, "unjudged": "unjudged: Q1: 0 of 3 judges answered"}
    planned = [make_cell("oracle", number) for number in range(1, 11)]
    rows = [make_result(cell) for cell in planned[:6]] + [make_result(cell, **FAILED) for cell in planned[6:8]]
    rows += [make_result(planned[8], **refused), make_excluded_result(planned[9], Outcome.JUDGE_ERROR)]
    report = aggregate(make_plan(*planned, experiment=make_experiment(baseline="nop")), rows)
    arm = report.arms[0]
    assert (arm.pass_rate, arm.unjudged, arm.pass_bounds) == (0.75, 2, (0.6, 0.8))
    assert ("unjudged", refused["unjudged"]) in [(one.outcome, one.reason) for one in report.excluded]
    said = "Its pass rate would be 60 % if all of them had failed, and 80 % if all had passed; tables show both."
    assert f"oracle: judging came to no verdict on 2 of 10 trials. {said}" in report.warnings
    console = Console(file=io.StringIO(), width=200, color_system=None)
    terminal_report(report, console)
    assert isinstance(console.file, io.StringIO)
    for shown in (markdown(report), comment(report, facts()), console.file.getvalue()):
        assert "75 % (60 to 80)" in shown


def test_bounds_are_of_the_mean_over_scenarios_where_that_is_the_rate() -> None:
    tally = RowCounts()
    for cell, given in ((make_cell("a", 1), {}), (make_cell("a", 2), UNJUDGED), (make_cell("a", 1, "002-two"), FAILED)):
        tally.add(make_result(cell, **given))
    assert tally.bounds("a", by_scenario=False) == (1 / 3, 2 / 3)
    assert tally.bounds("a", by_scenario=True) == (0.25, 0.5)
    assert tally.bounds("b", by_scenario=True) is None
