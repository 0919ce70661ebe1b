from pathlib import Path

import pytest
import yaml

from scylla_gha.agents import AGENTS
from scylla_gha.config.library import Library, toolkit_root
from tests.support.ask import ASK
from tests.support.command import Said, scylla
from tests.support.engine import found_by
from tests.support.library import write_model
from tests.support.records import make_model
from tests.support.repository import environment, make_repository
from tests.support.scripted_claude import claude_environment, tell


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--agent", "oracle"), "--agent oracle: is not an agent CLI; there are: claude-code"),
        (("--agent", "claude-code"), "an image needs a version; write  claude-code@VERSION"),
        (("--recipe", "bsae"), "image 'bsae': not found in config/images/"),
        (("no-such-scenario",), "scenarios: 'no-such-scenario' matches nothing"),
    ],
)
def test_what_cannot_be_built_is_named_before_an_engine_is_asked(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    env = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    said = scylla("image", "build", *arguments, cwd=tmp_path, env=env)
    assert said.code == 3
    assert message in said.err


def test_without_an_engine_nothing_is_asked_and_it_says_what_to_do(tmp_path: Path) -> None:
    said = scylla("image", "prune", cwd=tmp_path, env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert said.code == 5
    assert "Remove all images" not in said.err
    assert "apt-get install docker.io" in said.err


def write_experiment_of(root: Path, agents: str, sandbox: str) -> None:
    place = root / "config/experiments/one.yaml"
    place.parent.mkdir(parents=True)
    with_model = "variants: [T0/00-empty]\nmodels: [claude-sonnet-5]\n" if "claude" in agents else ""
    baseline = "t0-00-empty.claude-code.claude-sonnet-5" if with_model else "nop"
    place.write_text(
        f"id: one\nquestion: Which?\nscenarios: [001-hello-world]\nagents: {agents}\n{with_model}repetitions: 1\n"
        f"sandbox: {sandbox}\nbaseline: {baseline}\n"
    )


def test_a_plan_without_containers_has_no_layers_to_hand_on(tmp_path: Path) -> None:
    write_experiment_of(tmp_path, "[oracle, nop]", "host")
    env = environment(tmp_path)
    assert scylla("plan", "one", cwd=tmp_path, env=env).code == 0
    (tmp_path / "parcel").mkdir()
    (tmp_path / "parcel" / "old.tar").write_text("of an earlier plan")
    said = scylla("image", "pack", "one", "--to", "parcel", cwd=tmp_path, env=env)
    assert (said.code, said.out) == (0, "\n")
    assert list((tmp_path / "parcel").iterdir()) == []


def test_what_was_not_handed_on_is_no_fault(tmp_path: Path) -> None:
    said = scylla("image", "unpack", "--from", "none", cwd=tmp_path, env=environment(tmp_path))
    assert (said.code, said.err) == (0, "0 layers copied\n")


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize(("agents", "sandbox"), [("[oracle, nop]", "auto"), ("[claude-code@2.1.332]", "bubblewrap")])
def test_nothing_is_lacking_where_no_images_are_made(tmp_path: Path, agents: str, sandbox: str) -> None:
    write_experiment_of(tmp_path, agents, sandbox)
    said = scylla("image", "lacking", "one", cwd=tmp_path, env={**environment(tmp_path), **found_by()})
    assert (said.code, said.out) == (0, "")


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize("options", [(), ("--sandbox", "auto"), ("--sandbox", "docker")])
def test_what_makes_images_is_named_where_it_lacks(tmp_path: Path, options: tuple[str, ...]) -> None:
    write_experiment_of(tmp_path, "[claude-code@2.1.332]", "auto")
    env = {**environment(tmp_path), **found_by(), "SCYLLA_CACHE": str(tmp_path / "cache"), "PATH": "/nowhere"}
    said = scylla("image", "lacking", *options, "--", "one", cwd=tmp_path, env=env)
    assert (said.code, said.out) == (0, "mmdebstrap uidmap debian-archive-keyring\n")


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
    models = Library((toolkit_root(),)).models().values()
    assert found.models == tuple(sorted(model.id for model in models if model.provider == "anthropic"))
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
    aliases = AGENTS["claude-code"].models.aliases
    assert (tmp_path / "started").read_text() == "x\n" * (len(models) + len(aliases))


def test_what_a_users_scenario_brings_is_not_the_clis(tmp_path: Path) -> None:
    make_repository(tmp_path, id="000-first", files={".claude/skills/mine/SKILL.md": "---\nname: mine\n---\n"})
    inventory(tmp_path, f"[ -d .claude ] && touch {tmp_path}/seen; {ASK} m x 2>&-; {tell('ok')}")
    assert (tmp_path / FOUND).is_file()
    assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize("script", ["exit 1", "echo '{}'", tell("ok"), f"{ASK} m x"])
def test_a_cli_that_does_not_come_as_far_as_a_request_has_none(tmp_path: Path, script: str) -> None:
    said = inventory(tmp_path, script)
    assert (said.code, said.out) == (5, "")
    assert "claude-code: sent no model request with claude-fable-5-1: " in said.err
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize(
    ("agent", "code", "message"),
    [
        ("claude-coed", 3, "agents: there is no agent 'claude-coed'; did you mean \"claude-code\"?"),
        ("nop", 3, "nop is built in, so it has no inventory"),
        ("oracle", 3, "oracle is built in, so it has no inventory"),
        ("nop@2", 5, "agents: nop@2: the installed version is"),
        ("", 3, "agents: there is no agent ''"),
    ],
)
def test_an_agent_without_an_inventory_is_told(tmp_path: Path, agent: str, code: int, message: str) -> None:
    said = inventory(tmp_path, "true", agent)
    assert (said.code, said.out) == (code, "")
    assert message in said.err
