"""The safety net's hook in Claude Code's settings, and what the transcript says that it did."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.base import AgentTask, ModelAccess
from scylla_gha.agents.claude import delivery, safety_hook
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.safety_net import BlockedCall, SafetyNetSummary
from scylla_gha.model.trial import Observed
from scylla_gha.model.variant import Treatment
from tests.support.claude import INIT, Event, said, tool_result, tool_use, write_transcript


def hooked(call: str, decision: str = "allowed", **given: Any) -> Event:
    """The CLI's event of a hook that judged a call."""
    told = {"safety_net": 1, "call": call, "tool": "Bash", "command": "ls", "decision": decision, **given}
    return event_of(json.dumps(told))


def event_of(stderr: str, event: str = "PreToolUse") -> Event:
    return {"type": "system", "subtype": "hook_response", "hook_event": event, "stdout": "", "stderr": stderr}


def test_the_hook_watches_the_tools_that_can_destroy_something(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    (watch,) = safety_hook.install_hook(None, home)["hooks"]["PreToolUse"]
    assert watch["matcher"] == "Bash|Edit|MultiEdit|NotebookEdit|Read|Write"
    assert watch["hooks"] == [{"type": "command", "command": f"python3 -IS '{home}/safety-net'", "timeout": 60}]
    laid = {path.relative_to(home / "safety-net").as_posix() for path in home.rglob("*.py")}
    assert laid == {"__main__.py", "shell_reader.py", "rules.py", "hook.py"}
    assert not [path for path in home.rglob("*.py") if "scylla" in path.read_text()]


def managing(folder: Path, *, safety_net: bool, access: ModelAccess | None) -> dict[str, Any]:
    """The administrator's settings of a task."""
    limits = TrialLimits(safety_net=safety_net)
    task = AgentTask(prompt="", home=folder, patch=folder, limits=limits, access=access, managed=folder / "managed")
    assert safety_hook.write_managed_settings(task) == {"/etc/claude-code": folder / "managed"}
    settings: dict[str, Any] = json.loads((folder / "managed/managed-settings.json").read_text())
    return settings


def test_in_a_box_hook_and_gateway_stand_in_the_administrators_settings(tmp_path: Path) -> None:
    made = managing(tmp_path, safety_net=True, access=ModelAccess("http://127.0.0.1:4141", "sk"))
    (watch,) = made["hooks"]["PreToolUse"]
    assert watch["hooks"][0]["command"].endswith(" python3 -IS /etc/claude-code/safety-net")
    assert made["env"] == {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4141"}
    assert (tmp_path / "managed/safety-net/__main__.py").stat().st_mode & 0o777 == 0o444
    assert not list(tmp_path.glob("safety-net"))


def test_without_net_and_model_they_are_empty(tmp_path: Path) -> None:
    assert managing(tmp_path, safety_net=False, access=None) == {}
    task = AgentTask(prompt="", home=tmp_path, patch=tmp_path, limits=TrialLimits())
    assert safety_hook.write_managed_settings(task) == {}


def test_settings_and_hooks_of_the_treatment_are_kept(tmp_path: Path) -> None:
    own = {"matcher": "Edit", "hooks": [{"type": "command", "command": "true"}]}
    given = {"a": 1, "hooks": {"Stop": [own], "PreToolUse": [own]}}
    made = safety_hook.install_hook(given, tmp_path)
    assert (made["a"], made["hooks"]["Stop"], made["hooks"]["PreToolUse"][0]) == (1, [own], own)
    assert len(made["hooks"]["PreToolUse"]) == 2
    assert given["hooks"] == {"Stop": [own], "PreToolUse": [own]}, "what was given is left as it was"


def test_what_it_did_is_read_from_the_hook_events(tmp_path: Path) -> None:
    transcript = write_transcript(
        tmp_path / "t", INIT, hooked("1"), hooked("2", "blocked", rule="disk", command="mkfs /dev/sda"),
        hooked("3", "unclear"), hooked("4", "error"), event_of("another hook's words"), event_of("[1]"),
        event_of('{"safety_net": 1}', "PostToolUse"), "not JSON with hook_response",
    )  # fmt: skip
    disk = BlockedCall(rule="disk", tool="Bash", command="mkfs /dev/sda")
    assert safety_hook.safety_net_summary(transcript) == SafetyNetSummary(calls=4, blocked=(disk,), unread=2)


@pytest.mark.parametrize(
    ("events", "observed"),
    [
        pytest.param([INIT], None, id="no call at all"),
        pytest.param([said("m", tool_use("1")), hooked("1"), tool_result("1")], (1, ()), id="asked"),
        pytest.param([said("m", tool_use("1")), tool_result("1")], (0, ("Bash 1",)), id="ran past it"),
        pytest.param([said("m", tool_use("1")), tool_result("1", "x", is_error=True)], (0, ("Bash 1",)), id="failed"),
        pytest.param([said("m", tool_use("1")), event_of("other"), tool_result("1")], (0, ("Bash 1",)),
                     id="another hook was asked"),
        pytest.param([said("m", tool_use("1"))], None, id="never answered"),
        pytest.param([said("m", tool_use("1", "Skill")), tool_result("1")], None, id="not watched"),
        pytest.param([said("m", tool_use("1")), tool_result("1", "<tool_use_error>No.</tool_use_error>")], None,
                     id="refused by the CLI before any hook"),
        pytest.param([hooked("of-a-sub-agent")], (1, ()), id="the transcript leaves out nested calls"),
    ],
)  # fmt: skip
def test_which_calls_ran_past_it(
    tmp_path: Path, events: list[Event], observed: tuple[int, tuple[str, ...]] | None
) -> None:
    found = safety_hook.observed_hooks(write_transcript(tmp_path / "t", *events))
    wanted = observed and Observed(source="hook events", guarded=observed[0], unguarded=observed[1])
    assert found == wanted


@pytest.mark.parametrize(
    ("limits", "tools", "declared"),
    [
        (TrialLimits(), None, True),
        (TrialLimits(safety_net=False), None, False),
        (TrialLimits(), ("Bash",), True),
        (TrialLimits(), (), False),
        (TrialLimits(), ("Skill", "Task"), False),
    ],
)
def test_it_is_declared_where_there_is_something_to_watch(
    tmp_path: Path, limits: TrialLimits, tools: tuple[str, ...] | None, declared: bool
) -> None:
    task = AgentTask(prompt="", home=tmp_path, patch=tmp_path, limits=limits, treatment=Treatment(tools=tools))
    assert delivery.declared_delivery(task, tmp_path).safety_net is declared
