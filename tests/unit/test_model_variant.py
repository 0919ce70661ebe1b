from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.model.variant import SubTest, SystemPrompt, Treatment


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
    ],
    ids=str,
)
def test_every_change_of_a_treatment_changes_its_digest(change: dict[str, Any]) -> None:
    assert Treatment.model_validate(change).digest != Treatment().digest


def test_digest_of_equal_treatments_is_equal_however_they_are_written() -> None:
    one = Treatment(settings={"a": 1, "b": [2]})
    assert Treatment(settings={"b": [2], "a": 1}).digest == one.digest


@pytest.mark.parametrize("name", ["00", "0-a", "00-A", "00-a/b", "00-a b", "00-a\n", "000-a"])
def test_sub_test_id_is_a_number_and_a_plain_name(name: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        SubTest(id=name, description="d", treatment=Treatment())


def test_setting_sources_are_those_of_the_cli() -> None:
    with pytest.raises(ValidationError, match="'user', 'project' or 'local'"):
        Treatment.model_validate({"setting_sources": ("global",)})
