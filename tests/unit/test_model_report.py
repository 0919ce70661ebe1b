import pytest
from pydantic import ValidationError

from scylla_gha.model.report import Comparison, Report, ScenarioRow
from tests.support.records import make_report, make_summary


def test_a_report_survives_its_file() -> None:
    row = ScenarioRow(scenario="001-one", passed={"oracle": (1, 2)})
    report = make_report(arms=(make_summary(usd=None, pass_rate=None),), scenarios=(row,), warnings=("w",))
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_a_verdict_is_one_of_four() -> None:
    with pytest.raises(ValidationError, match="'better', 'worse', 'equivalent' or 'not_enough_data'"):
        Comparison.model_validate({"arm": "a", "baseline": "b", "verdict": "significant", "why": "p"})
