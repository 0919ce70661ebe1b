from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.model.variant import FOLDER, AgentResources, McpServer, SubAgent

AGENT: dict[str, Any] = {"name": "reader", "description": "Reads", "prompt": "You read."}


def test_a_server_is_a_command() -> None:
    made = McpServer(description="A clock", command="python3", args=(f"{FOLDER}/clock.py",))
    assert (made.env, FOLDER) == ({}, "{folder}")


@pytest.mark.parametrize("given", [{"command": ""}, {"description": ""}, {"url": "http://x"}, {"env": {"A": 1}}])
def test_what_is_no_server_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))):
        McpServer.model_validate({"description": "A clock", "command": "python3", **given})


def test_a_sub_agent_without_tools_has_all() -> None:
    assert SubAgent.model_validate(AGENT).tools is None


@pytest.mark.parametrize(
    "given", [{"name": "Reader"}, {"name": "a.b"}, {"prompt": ""}, {"description": ""}, {"tools": [""]}, {"hooks": {}}]
)
def test_what_is_no_sub_agent_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))):
        SubAgent.model_validate({**AGENT, **given}, strict=False)


def test_an_outfit_of_nothing_is_empty() -> None:
    assert AgentResources() == AgentResources(mcp_servers={}, agents={}, folders={})
