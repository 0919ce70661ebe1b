from typing import Any

import pytest

from scylla_gha.model.trial import Delivery, Observed
from scylla_gha.model.variant import (
    FOLDER,
    AgentResources,
    McpServer,
    SubAgent,
    SystemPrompt,
    Treatment,
    Variant,
)
from tests.support.delivery import make_declared


def test_system_prompt_may_become_empty() -> None:
    assert SystemPrompt(replace="").replace == ""


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


AGENT: dict[str, Any] = {"name": "reader", "description": "Reads", "prompt": "You read."}


def test_a_server_is_a_command() -> None:
    made = McpServer(description="A clock", command="python3", args=(f"{FOLDER}/clock.py",))
    assert (made.env, FOLDER) == ({}, "{folder}")


def test_a_sub_agent_without_tools_has_all() -> None:
    assert SubAgent.model_validate(AGENT).tools is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, ""),
        ({"missing": ("tool Bash", "skill a")}, "missing: tool Bash, skill a"),
        ({"undeclared": ("tool Bash",)}, "not declared: tool Bash"),
        ({"missing": ("a",), "undeclared": ("b", "c")}, "missing: a; not declared: b, c"),
        ({"unverified": ("much",)}, ""),
    ],
)
def test_the_reason_is_what_is_wrong_and_not_what_is_unknown(given: dict[str, Any], reason: str) -> None:
    assert Delivery.model_validate({"proved": not reason, **given}).reason == reason


def test_what_no_source_says_is_unknown_and_not_empty() -> None:
    said = Observed(source="start event")
    silent = (said.tools, said.mcp_servers, said.skills, said.agents, said.plugins, said.instructions, said.offered)
    assert silent == (None,) * 7
    made = Delivery(proved=False)
    assert (made.system_prompt_bytes, made.tools) == (None, None)


def test_a_proof_survives_its_file() -> None:
    made = Delivery(proved=False, seen=("start event",), missing=("a\n\u202e",), system_prompt_bytes=0, tools=0)
    assert Delivery.model_validate_json(made.model_dump_json()) == made


def test_a_declaration_of_nothing_asks_for_the_default() -> None:
    made = make_declared()
    assert (made.tools, made.side_tools, made.usual_tools, made.usual_prompt) == (None, (), True, True)
    assert (made.mcp_servers, made.skills, made.agents, made.plugins) == ((), (), (), ())


def test_resources_of_nothing_are_empty() -> None:
    assert AgentResources() == AgentResources(mcp_servers={}, agents={}, folders={})
