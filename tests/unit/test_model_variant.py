from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.model.variant import SubTest, SystemPrompt, Treatment, Variant


@pytest.mark.parametrize("given", [{}, {"replace": "", "append": "x"}], ids=["neither", "both"])
def test_system_prompt_is_replaced_or_appended_to(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="exactly one of replace and append"):
        SystemPrompt.model_validate(given)


def test_system_prompt_may_become_empty_but_nothing_cannot_be_appended() -> None:
    assert SystemPrompt(replace="").replace == ""
    with pytest.raises(ValidationError, match="append"):
        SystemPrompt(append="")


@pytest.mark.parametrize(
    "change",
    [
        {"system_prompt": SystemPrompt(replace="")},
        {"system_prompt": SystemPrompt(replace="x")},
        {"system_prompt": SystemPrompt(append="x")},
        {"setting_sources": ()},
        {"setting_sources": ("user", "project")},
        {"setting_sources": ("project", "user")},
        {"tools": ()},
        {"tools": ("Bash",)},
        {"settings": {}},
        {"settings": {"a": None}},
        {"mcp_servers": ("a",)},
        {"skills": ("a",)},
        {"agents": ("a",)},
    ],
    ids=str,
)
def test_every_change_of_a_treatment_changes_its_digest(change: dict[str, Any]) -> None:
    assert digest_of(Treatment.model_validate(change)) != digest_of(Treatment())


def digest_of(treatment: Treatment, **materials: str) -> str:
    return Variant(id="T0/00-empty", treatment=treatment, materials=materials).digest


def test_other_contents_under_a_name_are_another_configuration() -> None:
    named = Treatment(skills=("greet",))
    assert digest_of(named, greet="1") != digest_of(named, greet="2")


def test_digest_of_equal_treatments_is_equal_however_they_are_written() -> None:
    one = Treatment(settings={"a": 1, "b": [2]})
    assert digest_of(Treatment(settings={"b": [2], "a": 1})) == digest_of(one)


@pytest.mark.parametrize("name", ["00", "0-a", "00-A", "00-a/b", "00-a b", "00-a\n", "000-a"])
def test_sub_test_id_is_a_number_and_a_plain_name(name: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        SubTest(id=name, description="d", treatment=Treatment())


def test_setting_sources_are_those_of_the_cli() -> None:
    with pytest.raises(ValidationError, match="'user', 'project' or 'local'"):
        Treatment.model_validate({"setting_sources": ("global",)})
