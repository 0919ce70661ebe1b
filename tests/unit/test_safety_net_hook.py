"""The safety net as the agent CLI starts it: a process of its own, without this package."""

import ast
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.claude import safety_hook
from scylla_gha.safety_net import hook, rules, shell_reader
from scylla_gha.safety_net.hook import MARK, hook_response, judge_call
from tests.unit.test_safety_net_shell_reader import scripts

MODULES = [Path(str(module.__file__)) for module in (shell_reader, rules, hook)]
LIBRARY = {"__future__", "collections", "json", "os", "re", "sys", "scylla_gha"}


def asked(command: str, **given: Any) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/w", "tool_use_id": "toolu_1", **given}


def start(home: Path, said: str) -> tuple[str, Any]:
    """Return what the laid net answers, and what it tells."""
    safety_hook.install_hook(None, home)
    argv = ["python3", "-IS", str(home / "safety-net")]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    done = subprocess.run(argv, input=said, capture_output=True, text=True, check=True, cwd="/", env=env)
    return done.stdout, json.loads(done.stderr)


def test_it_denies_in_the_form_of_the_hook_and_says_what_to_do_instead(tmp_path: Path) -> None:
    said, told = start(tmp_path, json.dumps(asked("rm -rf /etc")))
    denied = json.loads(said)["hookSpecificOutput"]
    assert (denied["hookEventName"], denied["permissionDecision"]) == ("PreToolUse", "deny")
    assert denied["permissionDecisionReason"].startswith(f"{MARK} delete-outside: blocked")
    assert "Instead, delete only what lies in the workspace" in denied["permissionDecisionReason"]
    assert told == {"safety_net": 1, "call": "toolu_1", "tool": "Bash", "command": "rm -rf /etc",
                    "decision": "blocked", "rule": "delete-outside"}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        (json.dumps(asked("ls")), "allowed"),
        (json.dumps(asked("echo 'it")), "unclear"),
        (json.dumps({**asked("ls"), "cwd": "/\0"}), "error"),
        (json.dumps({**asked("ls"), "tool_input": 3}), "allowed"),
        ("[]", "allowed"),
        ("not JSON", "allowed"),
    ],
)
def test_what_no_rule_names_is_allowed_and_told(tmp_path: Path, said: str, decision: str) -> None:
    answered, told = start(tmp_path, said)
    assert (answered, told["decision"]) == ("", decision)


def test_a_part_that_ends_nowhere_does_not_hide_what_came_before() -> None:
    assert hook_response(asked("rm -rf /etc\necho 'it"))[0]["decision"] == "blocked"
    assert hook_response(asked('bash -c "echo \'it"'))[0]["decision"] == "unclear"
    assert hook_response(asked("eval " * 9 + "rm -rf /etc"))[0]["decision"] in ("unclear", "blocked")


def test_a_long_command_is_told_cut() -> None:
    assert len(str(hook_response(asked("x" * 1000))[0]["command"])) == 300


@pytest.mark.parametrize("seed", range(20, 30))
def test_no_script_breaks_it(seed: int) -> None:
    for text in scripts(200, seed):
        judge_call("Bash", {"command": text}, "/w", "/w") if "\0" not in text else hook_response(asked(text))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_it_needs_no_more_than_an_old_python_and_its_library(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= LIBRARY
    assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
