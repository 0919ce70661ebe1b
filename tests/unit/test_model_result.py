import json
from typing import Any

import pytest

from scylla_gha.model.report import Report, ScenarioRow
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from tests.support.records import make_cell, make_excluded_result, make_report, make_result, make_summary


@pytest.mark.parametrize("row", [make_result(), make_excluded_result(make_cell(), Outcome.PROVIDER_ERROR, usd=None)])
def test_a_row_survives_its_line(row: Result) -> None:
    line = row.model_dump_json()
    assert "\n" not in line
    assert Result.model_validate_json(line) == row


def test_unknown_is_null_and_zero_is_zero() -> None:
    unknown, free = (json.loads(make_result(usd=usd).model_dump_json())["usd"] for usd in (None, 0.0))
    assert (unknown, free) == (None, 0.0)


def test_a_row_is_flat_but_for_numbers_by_name() -> None:
    numbers: dict[str, Any] = {"judge_scores": {"j": 0.5}, "tools": {"Bash": 1}, "characters": {"tool_input": 1},
               "excused_attempts": {"provider_error": 1}, "treatment_tokens": {"prompt": 1},
               "github_calls": {"read": 1}, "github_other_clients": {"curl": 1}}  # fmt: skip
    row = make_result(**numbers).model_dump(mode="json")
    deep = {name: value for name, value in row.items() if isinstance(value, dict | list)}
    assert deep == numbers


def test_a_report_survives_its_file() -> None:
    row = ScenarioRow(scenario="001-one", passed={"oracle": (1, 2)})
    report = make_report(arms=(make_summary(usd=None, pass_rate=None),), scenarios=(row,), warnings=("w",))
    assert Report.model_validate_json(report.model_dump_json()) == report
