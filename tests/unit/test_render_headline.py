import pytest

from scylla_gha.model.analysis import Verdict
from scylla_gha.model.report import Comparison, Report
from scylla_gha.render.headline import NO_BASELINE, Overall, conclusion, overall, title
from tests.support.comments import facts
from tests.support.records import make_report


def of(*verdicts: Verdict) -> Report:
    return make_report(
        comparisons=tuple(
            Comparison(arm=f"arm{number}", baseline="base", verdict=verdict, why="so many points")
            for number, verdict in enumerate(verdicts)
        )
    )


@pytest.mark.parametrize(
    ("verdicts", "whole", "concludes"),
    [
        ((), "no_baseline", "neutral"),
        (("better",), "better", "success"),
        (("equivalent",), "equivalent", "success"),
        (("equivalent", "better"), "better", "success"),
        (("not_enough_data",), "not_enough_data", "neutral"),
        (("better", "not_enough_data"), "not_enough_data", "neutral"),
        (("better", "not_enough_data", "worse"), "worse", "failure"),
    ],
)
def test_one_verdict_stands_for_all(verdicts: tuple[Verdict, ...], whole: Overall, concludes: str) -> None:
    assert overall(of(*verdicts)) == whole
    assert conclusion(of(*verdicts), facts()) == concludes


def test_a_gate_decides_where_there_is_one() -> None:
    assert conclusion(of("not_enough_data"), facts(has_gate=True)) == "success"
    assert conclusion(of("better"), facts(has_gate=True, gate_fault="so")) == "failure"


def test_the_title_is_the_verdict_or_how_many_there_are_of_each() -> None:
    assert title(of()) == NO_BASELINE
    assert title(of("worse")) == "▼ arm0 is worse than base: so many points"
    assert title(of("worse", "better")) == (
        "▼ Of 2 arms against base: 1 better, 1 worse, 0 equivalent, 0 without enough data."
    )
