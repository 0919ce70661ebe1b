from typing import Any

import pytest

from scylla_gha.model.analysis import Contrast, Measure
from scylla_gha.render import metrics


def measure(metric: str = "pass_rate", value: float | None = 0.5, **given: Any) -> Measure:
    return Measure(metric=metric, value=value, **{"n": 4, "scenarios": 2, **given})


def contrast(**given: Any) -> Contrast:
    return Contrast(**{"arm": "a", "baseline": "b", "metric": "pass_rate", "scale": "difference", "value": 0.25,
                       "scenarios": 8, **given})  # fmt: skip


@pytest.mark.parametrize(
    ("given", "value", "limits"),
    [
        (None, "-", "-"),
        (measure(low=0.1, high=0.9), "50 %", "[10, 90]"),
        (measure(value=None, state="undefined"), "-", "-"),
        (measure(value=None, state="unknown"), "?", "-"),
        (measure("cost_of_pass", None, state="infinite", low=1.25), "∞", "≥ $1.25"),
        (measure("cost_of_pass", 0.0, high=0.5), "$0.00", "≤ $0.5000"),
        (measure("seconds", 90.0, low=30.0, high=150.0), "90.00 s", "[30.00 s, 2.5 min]"),
        (measure("tokens", 1234.5, low=999.6, high=2000.0), "1,234", "[1,000, 2,000]"),
        (measure("icc", -0.1), "-0.10", "-"),
        (measure("output_tokens_share", 0.031), "3 %", "-"),
        (measure("a_new_one", 2.0), "2.00", "-"),
    ],
)
def test_unknown_undefined_and_infinite_are_apart_and_no_zero(given: Measure | None, value: str, limits: str) -> None:
    assert (metrics.value(given), metrics.limits(given)) == (value, limits)
    assert metrics.estimate(given) == (value if limits == "-" else f"{value} {limits}")


@pytest.mark.parametrize(
    ("given", "change", "limits"),
    [
        ({"low": -0.051, "high": 0.5}, "+25.0 points", "[-5.1, +50.0]"),
        ({"value": None}, "-", "-"),
        ({"metric": "score", "low": 0.1, "high": 0.4}, "+0.25", "[+0.10, +0.40]"),
        ({"metric": "usd", "scale": "ratio", "value": 1.5, "low": 1.002, "high": 2.2}, "x1.50", "[1.002, 2.20]"),
        ({"metric": "tokens", "value": -1200.0}, "-1,200", "-"),
    ],
)
def test_changes_have_a_sign_or_are_ratios(given: dict[str, Any], change: str, limits: str) -> None:
    assert (metrics.change(contrast(**given)), metrics.change_limits(contrast(**given))) == (change, limits)


def test_the_limits_of_equivalence_are_the_other_ones() -> None:
    assert metrics.change_limits(contrast(equal_low=0.0, equal_high=0.5), inner=True) == "[+0.0, +50.0]"


@pytest.mark.parametrize(
    ("x", "shown"), [(1.0, "1.00"), (1.004, "1.004"), (0.99996, "0.99996"), (1.0000001, "1.00000"), (2.0, "2.00")]
)
def test_a_ratio_shows_on_which_side_of_one_it_lies(x: float, shown: str) -> None:
    assert metrics.ratio(x) == shown


def test_metrics_have_names_for_people() -> None:
    assert metrics.title("cost_of_pass") == "USD per pass"
    assert metrics.title("a_new_one") == "a new one"
