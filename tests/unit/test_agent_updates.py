"""How a measured version of an agent CLI differs from what is stored."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.measure_agents import event_fields, inventory_differences, packaged_agents, session_differences
from scylla_gha.model.publication import AgentDifference, AgentUpdate, AgentUpdates, RunPage
from scylla_gha.model.trial import Inventory, SessionFacts
from scylla_gha.publish.edited_posts import issue_text

PAGE = RunPage(repository="o/r", run=7, attempt=1)
STORED = Inventory(agent="a", version="1", models=("m",), tools=("Bash", "Read"), skills=("s",), agents=(),
                   prompt_lines=("11111111", "22222222"))  # fmt: skip
FACTS = SessionFacts(agent="a", version="1", events={"system/init": ("tools", "type")}, models={"big": "m-1"},
                     usd={"m-1": 0.5, "m-2": 0.25})  # fmt: skip


def texts(differences: Any) -> dict[str, str]:
    return {difference.part: difference.text for difference in differences}


def test_equal_inventories_of_two_versions_do_not_differ() -> None:
    assert list(inventory_differences(STORED, STORED.model_copy(update={"version": "2"}))) == []


def test_what_an_inventory_has_more_and_less_is_named() -> None:
    measured = STORED.model_copy(update={"tools": ("Bash", "ToolSearch"), "prompt_lines": ("11111111", "33333333")})
    assert texts(inventory_differences(STORED, measured)) == {
        "inventory, tools": "added: ToolSearch; removed: Read",
        "inventory, prompt_lines": "1 new line; 1 old line missing",
    }


def test_sessions_differ_by_events_models_and_prices() -> None:
    assert list(session_differences(FACTS, FACTS.model_copy(update={"version": "2"}))) == []
    measured = SessionFacts(agent="a", version="2", events={"system/init": ("kind", "type"), "user": ("type",)},
                            models={"big": "m-2"}, usd={"m-1": 0.5, "m-2": 0.2})  # fmt: skip
    assert texts(session_differences(FACTS, measured)) == {
        "transcript, event system/init": "added: kind; removed: tools",
        "transcript, event user": "added: type",
        "models": "big stands for m-2; m-1 is stored",
        "prices": "the session with m-2 costs $0.20 by the CLI; $0.25 is stored, -$0.05",
    }


def test_the_fields_of_events_are_read_by_kind(tmp_path: Path) -> None:
    (path := tmp_path / "t.jsonl").write_text(
        '{"type": "system", "subtype": "init", "a": 1}\nnoise\n{"type": "stream_event", "event": {"type": "ping"}}\n'
        '{"type": "system", "subtype": "init", "b": "\\ud83d"}\n'
    )
    assert event_fields(path) == {
        "system/init": {"type", "subtype", "a", "b"}, "stream_event/ping": {"type", "event"},
    }  # fmt: skip


def test_agents_come_from_the_map_of_agents_and_built_in_ones_are_none() -> None:
    assert set(packaged_agents([])) == set(AGENTS) - {"oracle", "nop"}
    assert {"claude-code", "codex", "qwen-code"} < set(AGENTS)
    assert set(packaged_agents(["claude-code@2.1.197"])) == {"claude-code@2.1.197"}
    with pytest.raises(ConfigError, match=r"--agent: 'oracle' is not an agent CLI; there are: .*claude-code"):
        packaged_agents(["oracle"])


def test_names_of_a_cli_are_data_in_the_issue() -> None:
    hostile = AgentDifference(part="`x` <!-- y -->", text="added: @octocat [link](https://x) <b>bold</b> | #1")
    update = AgentUpdate(agent="a", version="2", stored="1", sub_tests=1, differences=(hostile,))
    text = issue_text(AgentUpdates(agents=(update, update.model_copy(update={"differences": ()}))), PAGE)
    assert "Compared with the stored version `1`; started with 1 sub-test." in text
    assert "Nothing differs." in text
    for part in ("@octocat", "[link](", " <b>", " <!-- y", " #1", "https://x"):
        assert part not in text
