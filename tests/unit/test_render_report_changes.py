from typing import Any

import pytest

from scylla_gha.model.analysis import Contrast, Verdict
from scylla_gha.render.page import page_of
from scylla_gha.render.report_changes import changes, reading
from tests.support.records import make_report
from tests.support.reports import full_report


def contrast(**given: Any) -> Contrast:
    return Contrast(**{"arm": "a", "baseline": "b", "metric": "usd", "scale": "difference", "value": 0.2,
                       "scenarios": 8, **given})  # fmt: skip


@pytest.mark.parametrize(
    ("given", "verdict", "expected"),
    [
        ({"low": 0.1, "high": 0.3}, None, "▲ more"),
        ({"low": -0.3, "high": -0.1}, None, "▼ less"),
        ({"low": -0.1, "high": 0.3}, None, "? cannot be told"),
        ({"low": 0.0, "high": 0.3}, None, "? cannot be told"),
        ({}, None, "? no interval"),
        ({"scale": "ratio", "low": 1.1, "high": 1.3}, None, "▲ more"),
        ({"scale": "ratio", "low": 0.5, "high": 0.9}, None, "▼ less"),
        ({"scale": "ratio", "low": 0.5, "high": 1.1}, None, "? cannot be told"),
        ({"low": 0.1, "high": 0.3}, "not_enough_data", "? not enough data"),
        ({"low": 0.001, "high": 0.003}, "equivalent", "≈ equivalent"),
        ({"low": 0.1, "high": 0.3}, "better", "▲ more"),
    ],
)
def test_an_arrow_only_where_the_interval_excludes_no_change(
    given: dict[str, Any], verdict: Verdict | None, expected: str
) -> None:
    assert reading(contrast(**given), verdict) == expected


def test_each_row_is_one_metric_of_one_arm() -> None:
    rows = [line.split(" | ") for line in changes(page_of(full_report())) if line.startswith("| t")]
    assert len(rows) == len({tuple(row[:2]) for row in rows}) == 16


def test_nothing_compared_is_no_section() -> None:
    assert list(changes(page_of(make_report()))) == []
