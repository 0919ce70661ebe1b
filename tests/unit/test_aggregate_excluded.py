"""Trials that do not count: excused ones, and those on which judges gave no verdict."""

import io

import pytest
from rich.console import Console

from scylla_gha.aggregate import aggregate
from scylla_gha.aggregate.row_counts import RowCounts
from scylla_gha.aggregate.warnings import excused_warnings, withheld_arms, without_verdicts
from scylla_gha.model.analysis import Analysis, Contrast, Ruling
from scylla_gha.model.report import ArmSummary, Counts, Excused
from scylla_gha.model.trial import Outcome
from scylla_gha.report import markdown
from scylla_gha.report.comment import comment
from scylla_gha.report.terminal import terminal_report
from tests.support.comments import facts
from tests.support.records import make_cell, make_excluded_result, make_experiment, make_plan, make_result
from tests.unit.test_aggregate import FAILED, UNJUDGED


def arm(name: str, planned: int, judged: int) -> ArmSummary:
    return ArmSummary(
        arm=name, counts=Counts(planned=planned, ran=planned, judged=judged, scored=judged), passed=0, pass_rate=None,
        pass_low=None, pass_high=None, mean_score=None, mean_progress=None, grades={}, outcomes={}, usd=None,
        cost_of_pass=None, mean_seconds=None, tokens=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("planned", "judged", "why"),
    [
        (10, 10, None),
        (10, 8, None),
        (10, 7, "3 of 10 cells of new ended without a counted trial, but a verdict allows 2"),
        (100, 95, None),
        (100, 94, "6 of 100 cells of new ended without a counted trial, but a verdict allows 5"),
        (2, 0, None),
        (3, 0, "3 of 3 cells of new ended without a counted trial, but a verdict allows 2"),
    ],
)
def test_an_arm_may_lack_two_cells_or_a_twentieth(planned: int, judged: int, why: str | None) -> None:
    found = withheld_arms([arm("new", planned, judged), arm("old", 10, 10)], {"new": "old", "old": None})
    assert found == ({} if why is None else {"new": why})


def test_an_arm_has_no_verdict_either_where_its_baseline_lacks_cells() -> None:
    arms = [arm("new", 10, 6), arm("other", 10, 10), arm("old", 10, 5), arm("alone", 10, 0)]
    found = withheld_arms(arms, {"new": "old", "other": "old", "old": None, "alone": None})
    assert found == {
        "new": "4 of 10 cells of new ended without a counted trial, but a verdict allows 2; "
        "5 of 10 cells of old ended without a counted trial, but a verdict allows 2",
        "other": "5 of 10 cells of old ended without a counted trial, but a verdict allows 2",
    }, "an arm that is compared with none has no verdict that could be withheld"


def test_a_verdict_that_is_withheld_keeps_its_numbers() -> None:
    rulings = tuple(
        Ruling.model_construct(arm=name, baseline="old", verdict="worse", why="by far", margin=0.1,
                               contrast=Contrast.model_construct(arm=name), is_withheld=False)
        for name in ("new", "other")
    )  # fmt: skip
    analysis = Analysis.model_construct(rulings=rulings, warnings=("kept",))
    made = without_verdicts(analysis, {"new": "too few"})
    first, second = made.rulings
    assert (first.verdict, first.why, first.is_withheld) == ("not_enough_data", "too few", True)
    assert (first.margin, first.contrast, made.warnings) == (0.1, rulings[0].contrast, ("kept",))
    assert second == rulings[1]


def test_a_kind_of_excuse_that_an_arm_has_twice_is_warned_of() -> None:
    once = Excused(arm="old", outcome="provider_error", attempts=1, trials=1, reason="529")
    twice = Excused(arm="new", outcome="sandbox_error", attempts=2, trials=1, reason="the box was lost")
    (said,) = excused_warnings([once, twice])
    assert said.startswith("new: 2 attempts in 1 trial ended in sandbox_error and were excused (one of them: the box")


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
    assert f"oracle: judging gave no verdict on 2 of 10 trials. {said}" in report.warnings
    console = Console(file=io.StringIO(), width=200, color_system=None)
    terminal_report(report, console)
    assert isinstance(console.file, io.StringIO)
    for shown in (markdown(report), comment(report, facts()), console.file.getvalue()):
        assert "75 % (60 to 80)" in shown


def test_judges_without_a_verdict_are_counted_per_arm_and_a_difference_is_warned_of() -> None:
    """Their trials stay in the rates, so nobody sees from the counts that an arm's work makes judges refuse."""
    planned = [make_cell(arm, number) for arm in ("new", "nop") for number in range(1, 11)]
    rows = [
        make_result(cell, **({**FAILED, "judges_withheld": 3} if cell.arm == "new" and cell.repetition < 3 else {}))
        for cell in planned
    ]
    report = aggregate(make_plan(*planned, experiment=make_experiment(baseline="nop")), rows)
    assert [(arm.arm, arm.withheld, arm.counts.judged, arm.pass_rate) for arm in report.arms] == [
        ("new", 2, 10, 0.8),
        ("nop", 0, 10, 1.0),
    ]
    first = "new: judges refused or gave no readable answer 6 times, in 2 of 10 judged trials."
    assert f"{first} Their items count as not met." in report.warnings
    assert any(
        warning.startswith("Judges gave no verdict in 20 % of the judged trials of new, and in 0 % of those of nop")
        for warning in report.warnings
    )
    assert first.split(":", maxsplit=1)[0] in comment(report, facts())


def test_bounds_are_of_the_mean_over_scenarios_where_that_is_the_rate() -> None:
    tally = RowCounts()
    for cell, given in ((make_cell("a", 1), {}), (make_cell("a", 2), UNJUDGED), (make_cell("a", 1, "002-two"), FAILED)):
        tally.add(make_result(cell, **given))
    assert tally.bounds("a", by_scenario=False) == (1 / 3, 2 / 3)
    assert tally.bounds("a", by_scenario=True) == (0.25, 0.5)
    assert tally.bounds("b", by_scenario=True) is None


@pytest.mark.parametrize(("gaps", "is_withheld"), [(0, False), (1, False), (2, True)])
def test_an_arm_of_which_more_than_a_twentieth_met_a_gap_gets_no_verdict(gaps: int, is_withheld: bool) -> None:
    planned = [make_cell("new", number) for number in range(1, 21)]
    rows = [make_result(cell, passed=number >= 2, github="hub", github_gaps=int(number < gaps))
            for number, cell in enumerate(planned)]  # fmt: skip
    report = aggregate(make_plan(*planned, experiment=make_experiment(baseline="old")), rows)
    (summary,) = report.arms
    assert (summary.pass_rate, summary.github_gaps) == (0.9, gaps)
    assert summary.pass_rate_without_gaps == (18 / (20 - gaps) if gaps else None)
    assert bool(withheld_arms([summary], {"new": "old"})) is is_withheld
    told = [warning for warning in report.warnings if "only GitHub has (`github_gaps` of a row)" in warning]
    assert len(told) == bool(gaps)


def test_requests_of_clients_that_the_mode_has_not_are_a_warning() -> None:
    cells = [make_cell(repetition=number) for number in range(1, 4)]
    rows = [make_result(cell, github="hub", github_other_clients=clients)
            for cell, clients in zip(cells, ({"curl": 2}, {}, {"curl": 1, "gh": 1}), strict=True)]  # fmt: skip
    (said,) = (text for text in aggregate(make_plan(*cells), rows).warnings if "mode's clients" in text)
    assert said.startswith("nop: 2 trials sent requests to GitHub that are not by the mode's clients with their tokens "
                           "(curl 3, gh 1; ")  # fmt: skip
