from pathlib import Path

import pytest
import yaml

from scylla_gha.config.library import Library, toolkit_root
from tests.support.ask import ASK
from tests.support.command import Said, scylla
from tests.support.library import write_model
from tests.support.records import make_model
from tests.support.repository import make_repository
from tests.support.scripted_claude import claude_environment, tell

FOUND = "config/inventories/claude-code-2.1.197.yaml"


def inventory(folder: Path, script: str, *args: str) -> Said:
    """The command, on the host, with a `claude` that does what the shell script does."""
    folder.mkdir(exist_ok=True)
    named = args or ("claude-code",)
    said = scylla("agent-baseline", *named, "--sandbox", "host", cwd=folder, env=claude_environment(folder, script))
    assert "Traceback" not in said.err
    return said


def test_what_the_cli_says_of_itself_is_written_where_the_proof_looks_for_it(tmp_path: Path) -> None:
    said = inventory(tmp_path, f"{ASK} claude-sonnet-5 Hello? Task2,Bash 2>&- ; {tell('ok')}")
    assert (said.code, said.out, said.err) == (0, f"{FOUND}\n", "")
    found = Library((tmp_path,)).inventory("claude-code", "2.1.197")
    assert found is not None
    assert {"Agent", "Bash", "Task2"} <= set(found.tools), "of the start event, and of the request"
    assert list(found.tools) == sorted(found.tools)
    assert found.models == tuple(sorted(Library((toolkit_root(),)).models()))
    first = (tmp_path / FOUND).read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schemas/inventory.json"


def test_each_model_is_looked_at_with_the_users_own_among_them(tmp_path: Path) -> None:
    write_model(tmp_path, make_model())
    said = inventory(
        tmp_path, f"echo x >>{tmp_path}/started; {ASK} m x 2>&-; {tell('ok')}", "claude-code", "--into", "i"
    )
    assert said.out == "i/claude-code-2.1.197.yaml\n"
    models = yaml.safe_load((tmp_path / "i/claude-code-2.1.197.yaml").read_text())["models"]
    assert "m" in models
    assert (tmp_path / "started").read_text() == "x\n" * len(models)


def test_what_a_users_scenario_brings_is_not_the_clis(tmp_path: Path) -> None:
    make_repository(tmp_path, id="000-first", files={".claude/skills/mine/SKILL.md": "---\nname: mine\n---\n"})
    inventory(tmp_path, f"[ -d .claude ] && touch {tmp_path}/seen; {ASK} m x 2>&-; {tell('ok')}")
    assert (tmp_path / FOUND).is_file()
    assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize("script", ["exit 1", "echo '{}'", tell("ok"), f"{ASK} m x"])
def test_a_cli_that_does_not_come_as_far_as_a_request_has_none(tmp_path: Path, script: str) -> None:
    said = inventory(tmp_path, script)
    assert (said.code, said.out) == (5, "")
    assert "claude-code: with claude-fable-5-1 it did not come as far as a request: " in said.err
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize(
    ("agent", "code", "message"),
    [
        ("claude-coed", 3, "agents: there is no agent 'claude-coed'; did you mean \"claude-code\"?"),
        ("nop", 3, "nop is built in, and has nothing by default"),
        ("oracle", 3, "oracle is built in, and has nothing by default"),
        ("nop@2", 5, "agents: nop@2: the version here is"),
        ("", 3, "agents: there is no agent ''"),
    ],
)
def test_an_agent_without_an_inventory_is_told(tmp_path: Path, agent: str, code: int, message: str) -> None:
    said = inventory(tmp_path, "true", agent)
    assert (said.code, said.out) == (code, "")
    assert message in said.err
