import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scylla_gha.errors import RefusedError
from scylla_gha.evaluate.context import RunContext
from scylla_gha.evaluate.model_access import RecordingOptions, guard_checks, has_real_key, require_safe_sandbox
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.providers import HIDDEN_VARIABLES, hide_credentials, provider_environment
from scylla_gha.sandboxes import SANDBOXES
from tests.support.agents import ShellAgent
from tests.support.command import scylla
from tests.support.in_process_run import make_run_context
from tests.support.repository import environment as environment_of_command
from tests.support.repository import make_repository
from tests.support.scripted_claude import write_claude_experiment

FEDERATED = {"ANTHROPIC_FEDERATION_RULE_ID": "fdrl_1", "ANTHROPIC_ORGANIZATION_ID": "org",
             "ACTIONS_ID_TOKEN_REQUEST_URL": "https://h", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t"}  # fmt: skip
KEY, PROVIDER = "sk-canary-0123456789", "https://api.anthropic.com"
CLI = ShellAgent(package=CliPackage(npm="@example/shell", program="sh", oldest="1"))


@pytest.fixture
def journey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    return make_run_context(make_repository(tmp_path / "repo"), tmp_path / "runs", {"shell": CLI})


@pytest.mark.parametrize(
    ("given", "real"),
    [
        pytest.param({}, False, id="no key"),
        pytest.param({"ANTHROPIC_API_KEY": ""}, False, id="an empty one"),
        pytest.param({"ANTHROPIC_API_KEY": KEY}, True, id="a key"),
        pytest.param({"ANTHROPIC_AUTH_TOKEN": KEY}, True, id="a token"),
        pytest.param(FEDERATED, True, id="a job that a rule trusts"),
        pytest.param({**FEDERATED, "ANTHROPIC_FEDERATION_RULE_ID": ""}, False, id="a job without a rule"),
        pytest.param({"CLAUDE_CODE_OAUTH_TOKEN": KEY, "ANTHROPIC_BASE_URL": PROVIDER}, True, id="of a subscription"),
        pytest.param(
            {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://10.0.0.1:80"}, True, id="another machine"
        ),
        pytest.param({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:80"}, False, id="loopback"),
        pytest.param({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://[::1]:80/v"}, False, id="of version 6"),
        pytest.param({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://localhost"}, False, id="by its name"),
        pytest.param({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://localhost.a.b"}, True, id="a like name"),
        pytest.param(
            {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://127.0.0.1@a.b"}, True, id="a user's name"
        ),
    ],
)
def test_a_key_is_real_where_requests_leave_this_machine(given: dict[str, str], real: bool) -> None:
    assert has_real_key(RecordingOptions(), given) == real
    assert not has_real_key(RecordingOptions(replay=Path("tapes")), given)
    assert has_real_key(RecordingOptions(record=Path("tapes")), given) == real


def test_a_real_key_beside_an_agent_on_the_host_is_refused(journey: RunContext) -> None:
    with pytest.raises(RefusedError) as caught:
        require_safe_sandbox(journey.settings, RecordingOptions(), SANDBOXES["host"], allowed=False)
    said = str(caught.value)
    assert said.startswith("shell: in the sandbox host, an agent could read the provider's key")
    assert "keys: exposed" in said
    assert "apt-get install docker.io" in said
    assert "bubblewrap, which works here" in said
    assert "--allow-exposed-keys" in said
    assert caught.value.exit_code == 6


def test_it_names_what_bubblewrap_lacks(journey: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nothing")
    with pytest.raises(RefusedError, match=r"bubblewrap \(bubblewrap is not installed; .*apt-get install bubblewrap"):
        require_safe_sandbox(journey.settings, RecordingOptions(), SANDBOXES["host"], allowed=False)


def test_who_allows_it_is_told(journey: RunContext, capsys: pytest.CaptureFixture[str]) -> None:
    require_safe_sandbox(journey.settings, RecordingOptions(), SANDBOXES["host"], allowed=True)
    assert "shell: keys are exposed in the sandbox host" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_where_keys_are_hidden_nothing_is_said(
    journey: RunContext, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    require_safe_sandbox(journey.settings, RecordingOptions(), SANDBOXES[name], allowed=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "refused"), [("host", True), ("bubblewrap", True), ("docker", False)])
def test_in_actions_agents_with_a_real_key_work_in_docker_only(
    journey: RunContext, monkeypatch: pytest.MonkeyPatch, name: str, refused: bool
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    if not refused:
        require_safe_sandbox(journey.settings, RecordingOptions(), SANDBOXES[name], allowed=False)
        return
    with pytest.raises(RefusedError, match=f"in GitHub Actions, .* only in docker, and the sandbox is {name}"):
        require_safe_sandbox(journey.settings, RecordingOptions(), SANDBOXES[name], allowed=True)


@pytest.mark.parametrize("change", ["built-in", "replay", "loopback", "no key"])
def test_without_real_key_or_agent_nothing_is_refused(
    journey: RunContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    recording = RecordingOptions(replay=tmp_path) if change == "replay" else RecordingOptions()
    if change == "built-in":
        journey = make_run_context(make_repository(tmp_path / "other"), tmp_path / "runs", {"shell": ShellAgent()})
    if change == "loopback":
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    if change == "no key":
        monkeypatch.delenv("ANTHROPIC_API_KEY")
    require_safe_sandbox(journey.settings, recording, SANDBOXES["host"], allowed=False)


def test_built_in_agents_alone_stay_on_the_host_in_actions_beside_a_key(
    journey: RunContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    own = make_run_context(
        make_repository(tmp_path / "other"), tmp_path / "runs", {"shell": ShellAgent()}, sandbox="host"
    )
    assert own.settings.plan.sandbox == "host"
    require_safe_sandbox(own.settings, RecordingOptions(), SANDBOXES["host"], allowed=False)
    guard_checks(own.settings.plan, RecordingOptions(), SANDBOXES["host"], allowed=False)
    both = replace(own.settings, agents={**own.settings.agents, **journey.settings.agents})
    with pytest.raises(RefusedError, match="only in docker"):
        require_safe_sandbox(both, RecordingOptions(), SANDBOXES["host"], allowed=True)


def test_credentials_are_withheld_from_what_is_started_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HIDDEN_VARIABLES:
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN")
    with hide_credentials():
        assert KEY not in subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
        assert [name for name in HIDDEN_VARIABLES if provider_environment().get(name) != KEY] == [
            "ANTHROPIC_AUTH_TOKEN"
        ]
    assert os.environ["ANTHROPIC_API_KEY"] == KEY
    assert "ANTHROPIC_AUTH_TOKEN" not in os.environ


RECORD = """\
#!/bin/sh
env >"{folder}/env-of-{name}-$$"
case "$1" in --version) echo "2.1.197 (Claude Code)"; exit ;; esac
exec {real} "$@"
"""


def test_no_program_that_a_command_starts_inherits_them(tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    make_repository(repository)
    write_claude_experiment(repository, sandbox="auto")
    (tmp_path / "bin").mkdir()
    for name in ("claude", "bwrap", "git", "uv"):
        real = shutil.which(name) or "false"
        (tmp_path / "bin" / name).write_text(RECORD.format(folder=tmp_path, name=name, real=real))
        (tmp_path / "bin" / name).chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    env = environment_of_command(tmp_path, **dict.fromkeys(HIDDEN_VARIABLES, KEY), CANARY="seen", PATH=path)
    said = scylla("plan", "greet", cwd=repository, env=env)
    assert said.code == 0, said.err
    found = {path.name.split("-")[2]: path.read_text() for path in tmp_path.glob("env-of-*")}
    assert {"claude", "bwrap"} <= found.keys()
    assert all("CANARY=seen" in text for text in found.values())
    assert not [name for name, text in found.items() if KEY in text]


CLOSED = """
import ctypes
from scylla_gha.providers import hide_credentials
PR_GET_DUMPABLE = 3
with hide_credentials():
    print(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE))
"""


@pytest.mark.parametrize(("key", "dumpable"), [(KEY, "0"), ("", "1")], ids=["with a key", "without one"])
def test_a_process_that_holds_a_key_closes_its_memory(key: str, dumpable: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "CLAUDE"))}
    env |= {"ANTHROPIC_API_KEY": key} if key else {}
    done = subprocess.run([sys.executable, "-c", CLOSED], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == dumpable
