"""What a report says about the providers of its judges."""

import pytest

from scylla_gha.aggregate import aggregate
from scylla_gha.model.report import Report
from tests.support.records import make_cell, make_experiment, make_model_arm, make_plan, make_result

PROVIDERS = {"opus": "anthropic", "sonnet": "anthropic", "gpt": "openai", "qwen/coder": "qwen", "m": "anthropic"}


def report_of(*judges: str, model: str = "m", providers: dict[str, str] = PROVIDERS) -> Report:
    arm = make_model_arm(model=model)
    experiment = make_experiment(baseline=arm.id, judges=judges)
    used = {name: provider for name, provider in providers.items() if name in {*judges, model}}
    cell = make_cell(arm.id)
    return aggregate(make_plan(cell, arms=(arm,), experiment=experiment, providers=used), [make_result(cell)])


def warnings(report: Report) -> list[str]:
    return [text for text in report.warnings if "judge" in text and "prefer" in text]


def test_a_panel_of_different_providers_needs_no_warning() -> None:
    report = report_of("opus", "gpt", "qwen/coder")
    assert report.judge_providers == {"opus": "anthropic", "gpt": "openai", "qwen/coder": "qwen"}
    assert warnings(report) == []


def test_a_panel_of_the_judged_models_own_provider_is_warned_of() -> None:
    (warning,) = warnings(report_of("opus", "sonnet"))
    assert warning == (
        "All judges are models of anthropic, as the judged models are: they may prefer answers like their own. Add a "
        "judge of another provider."
    )
    assert warnings(report_of("opus", "sonnet", model="gpt")) == []


def test_a_judge_that_judges_itself_is_warned_of() -> None:
    assert warnings(report_of("opus", "gpt", model="opus")) == [
        "judge opus is also a judged model: it may prefer its own work. Choose another judge."
    ]


@pytest.mark.parametrize("judges", [(), ("opus", "sonnet")], ids=["no judges", "an older plan"])
def test_nothing_is_said_where_nothing_is_known(judges: tuple[str, ...]) -> None:
    report = report_of(*judges, providers={})
    assert (report.judge_providers, warnings(report)) == ({}, [])
