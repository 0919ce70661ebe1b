"""The picture of pass rates over time: its points, intervals, changes, gaps and names."""

import pytest

from scylla_gha.model.report import History, Point, Series, Shift
from scylla_gha.report.charts.history import history
from tests.support.charts import marks, painted, require_inert, texts


def make_history(*arms: str, sets: int = 10, run: str = "day") -> History:
    points = tuple(
        Point(run=f"{run}{at}", epoch="", trials=20, scenarios=10, usd=None, seconds=None,
              rate=None if at == 3 else rate, rate_low=None if at == 3 else rate - 0.2,
              rate_high=None if at == 3 else rate + 0.2)
        for at in range(sets) for rate in [0.3 if at < 5 else 0.7]
    )  # fmt: skip
    change = Shift(kind="change", metric="pass_rate", run=f"{run}5", since=f"{run}5", before=0.3, after=0.7, side="up",
                   p=0.01)  # fmt: skip
    other = change.model_copy(update={"metric": "usd"})
    drift = Shift(kind="drift", metric="pass_rate", run=f"{run}8", since=f"{run}2", side="down")
    series = tuple(Series(arm=arm, points=points, shifts=(change, other, drift)) for arm in arms)
    return History(baseline=f"{run}0", margin=0.05, series=series)


def test_each_result_set_is_a_point_and_changes_of_the_rate_are_marked_before_their_set() -> None:
    chart = history(make_history("skill"))
    assert chart
    names = {mark.text: mark.x for mark in marks(chart) if mark.text.startswith("day")}
    assert list(names) == [f"day{at}" for at in range(10)]
    levels = {mark.text: mark.y for mark in marks(chart) if mark.text in {"0", "100"}}
    per_point = (levels["0"] - levels["100"]) / 100
    points = [mark for mark in painted(chart, "better") if "transform" in mark.attributes]
    assert len(points) == 9
    rates = sorted({mark.y for mark in points}, reverse=True)
    assert (rates[0] - rates[-1]) / per_point == pytest.approx(70 - 30, abs=0.5)
    assert [mark.y == rates[-1] for mark in sorted(points, key=lambda mark: mark.x)] == [False] * 4 + [True] * 5
    up, down = painted(chart, "better", "line"), painted(chart, "worse", "line")
    assert len(up) == len(down) == 1
    assert names["day4"] < up[0].x < names["day5"]
    assert down[0].x == pytest.approx(names["day8"], abs=1)
    assert "rises from 30 % to 70 %" in texts(chart)
    assert "?" in texts(chart)
    assert chart.alternative == (
        "Pass rate over 10 result sets, oldest first, with its 95 % interval. skill: from 30 % to 70 %, rises from "
        "30 % to 70 % at day5, drifts down at day8. ◆ is the baseline day0."
    )


def test_many_arms_and_sets_are_cut_with_a_word_and_one_set_is_no_history() -> None:
    chart = history(make_history(*(f"arm{at}" for at in range(10)), sets=100))
    assert chart
    assert "2 more arms are not drawn." in chart.alternative
    assert len([text for text in texts(chart) if text.startswith("arm")]) == 8
    assert {text for text in texts(chart) if text.startswith("day")} == {f"day{at}" for at in range(43, 100, 4)}
    assert history(make_history("skill", sets=1)) is None


def test_names_of_arms_and_runs_are_inert() -> None:
    chart = history(make_history("<script>alert(1)</script>" + "a" * 10_000, run='"onload="x\u202e'))
    assert chart
    require_inert(chart)
    assert max(map(len, texts(chart))) < 60
    assert "\u202e" not in chart.svg
