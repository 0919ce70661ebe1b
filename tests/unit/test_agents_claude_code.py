from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.base import Command, Task
from scylla_gha.agents.claude_code import ClaudeCode
from scylla_gha.errors import ToolError
from scylla_gha.model.experiment import Limits
from scylla_gha.model.trial import Outcome, Usage
from scylla_gha.model.variant import SystemPrompt, Treatment
from tests.support.claude import DATA, ended_with
from tests.support.repository import write_tree

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
ALWAYS = ["--print", "--verbose", "--output-format", "stream-json", "--include-partial-messages",
          "--permission-mode", "bypassPermissions", "--strict-mcp-config"]  # fmt: skip


@pytest.fixture(autouse=True)
def no_access(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


def command(home: Path, treatment: Treatment = Treatment(), model: str | None = None, **limits: Any) -> Command:
    task = Task(prompt="Do it.", home=home, patch=home, limits=Limits.model_validate(limits), model=model,
                treatment=treatment)  # fmt: skip
    return ClaudeCode().command(task, "/bin/claude")


@pytest.mark.parametrize(
    ("treatment", "flags"),
    [
        pytest.param({}, [], id="nothing named: the CLI's own defaults"),
        pytest.param({"system_prompt": SystemPrompt(replace="")}, ["--system-prompt", ""], id="empty"),
        pytest.param({"system_prompt": SystemPrompt(append="Be brief.")}, ["--append-system-prompt", "Be brief."],
                     id="appended"),
        pytest.param({"setting_sources": ()}, ["--setting-sources", ""], id="no settings files"),
        pytest.param({"setting_sources": ("user", "project")}, ["--setting-sources", "user,project"], id="two of them"),
        pytest.param({"tools": ()}, ["--tools", ""], id="no tools"),
        pytest.param({"tools": ("Bash", "Edit")}, ["--tools", "Bash,Edit"], id="two tools"),
        pytest.param({"settings": {"a": ["x", None]}}, ["--settings", '{"a": ["x", null]}'], id="settings as JSON"),
    ],
)  # fmt: skip
def test_a_treatment_is_flags(tmp_path: Path, treatment: dict[str, Any], flags: list[str]) -> None:
    made = command(tmp_path, Treatment(**treatment))
    assert made.argv == ("/bin/claude", *ALWAYS, *flags)


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({"model": "m"}, ["--model", "m"]),
        ({"turns": 7}, ["--max-turns", "7"]),
        ({"usd": 0.5}, ["--max-budget-usd", "0.5"]),
    ],
)
def test_model_and_limits_are_flags(tmp_path: Path, given: dict[str, Any], flags: list[str]) -> None:
    assert list(command(tmp_path, **given).argv[len(ALWAYS) + 1 :]) == flags


def test_the_prompt_is_no_argument(tmp_path: Path) -> None:
    assert "Do it." not in command(tmp_path).argv


def test_its_environment_is_the_way_to_the_model_and_its_own_switches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("SCYLLA_CANARY", "seen")
    made = command(tmp_path, api_retries=2)
    assert made.env == {
        "ANTHROPIC_API_KEY": "sk-1",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "CLAUDE_CONFIG_DIR": f"{tmp_path}/.claude",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    assert made.secrets == ("sk-1",)
    assert (tmp_path / ".claude").is_dir()


@pytest.mark.parametrize("key", KEYS)
def test_any_key_is_access_and_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    with pytest.raises(ToolError, match="set ANTHROPIC_API_KEY and run again"):
        ClaudeCode().require_access()
    monkeypatch.setenv(key, "secret-value")
    ClaudeCode().require_access()
    assert command(tmp_path).secrets == ("secret-value",)


def program(folder: Path, script: str) -> str:
    place = write_tree(folder, {"claude": f"#!/bin/sh\n{script}\n"}) / "claude"
    place.chmod(0o755)
    return str(place)


@pytest.mark.parametrize(
    ("script", "version"),
    [("echo '2.1.197 (Claude Code)'", "2.1.197"), ("echo 2.1.0", "2.1.0"), ("echo '10.0.3-beta'", "10.0.3")],
)
def test_the_version_is_what_it_says(tmp_path: Path, script: str, version: str) -> None:
    assert ClaudeCode().version(program(tmp_path, script)) == version


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo '2.0.99 (Claude Code)'", r"is version 2\.0\.99, older than 2\.1\.0; update it, or pin a version"),
        ("echo Claudius", r"unknown answer 'Claudius'; is this Claude Code\?"),
        ("echo 2.1", r"unknown answer '2\.1'"),
        ("echo broken >&2; exit 1", r"unknown answer 'broken'"),
        ("echo 2.1.197; exit 1", r"unknown answer '2\.1\.197'"),
    ],
)
def test_a_version_that_is_not_understood_is_refused(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        ClaudeCode().version(program(tmp_path, script))


def test_a_transcript_is_read_and_decided(tmp_path: Path) -> None:
    transcript = tmp_path / "t"
    transcript.write_bytes((DATA / "hang.jsonl").read_bytes())
    (tmp_path / "t.stderr").write_text("killed\n")
    reading = ClaudeCode().read(ended_with(transcript, 137))
    assert (reading.outcome, reading.turns, reading.version) == (Outcome.AGENT_ERROR, 1, "2.1.197")
    assert reading.reason == "the CLI ended with exit code 137 and no result: killed"
    used = Usage(input_tokens=100, output_tokens=25, cache_read_tokens=0, cache_write_tokens=0)
    assert reading.by_model == {"claude-sonnet-4-5-20250929": used}
    assert reading.trajectory.steps[0].tool_calls[0].seconds is None, "this HOME has no session files"
