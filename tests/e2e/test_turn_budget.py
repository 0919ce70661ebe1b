"""CLIs without a limit of turns end at the gateway's, with the outcome that Claude Code's own limit gives."""

from pathlib import Path

import pytest

from scylla_gha.providers.base import ToolRequest
from scylla_gha.providers.scripted_style import ScriptedAnswer
from tests.support.agent_clis import MANIFESTS, attempts, evaluate
from tests.support.model_apis import serving

CLIS = [
    ("codex", "openai-responses", ToolRequest("call-1", "exec_command", {"cmd": "true"})),
    ("opencode", "openai-chat", ToolRequest("call-1", "bash", {"command": "true", "description": "Nothing"})),
]


@pytest.mark.parametrize(("name", "style", "call"), CLIS)
def test_an_endless_series_of_calls_ends_at_the_limit(tmp_path: Path, name: str, style: str, call: ToolRequest) -> None:
    assert MANIFESTS[name].turns is None, "it has no limit of its own"
    with serving(answer=ScriptedAnswer("On.", call)) as apis:
        evaluate(tmp_path, name, apis.url, api_style=style, limits=", turns: 3")
    (attempt,) = attempts(tmp_path).values()
    assert (attempt["outcome"], attempt["turns"]) == ("budget_exceeded", 3), attempt["reason"]
    assert "limits.turns" in attempt["reason"]
    assert len(apis.bodies) == 3, "no request goes beyond the limit"
