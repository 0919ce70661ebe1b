"""The real Claude Code CLI against a scripted provider, through the real command line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Said, scylla
from tests.support.hello import WRITE, diligent
from tests.support.provider import Body, Fail, Hang, Provider, Say, Script, serve, tool_results

KEY = "sk-ant-canary-0123456789"
EXPERIMENT = """\
id: probe
question: What becomes of this?
scenarios: [001-hello-world]
agents: [claude-code@2.1.332]
variants: [T0/00-empty]
models: [claude-sonnet-5]
repetitions: 1
baseline: t0-00-empty.claude-code.claude-sonnet-5
limits: {timeout_seconds: SECONDS, api_retries: 0, provider_retries: 0, rate_limit_seconds: 1TURNS}
retry: {attempts: ATTEMPTS, backoff_seconds: 0}
"""


def experiment(seconds: int, turns: str = "", attempts: int = 2) -> str:
    return EXPERIMENT.replace("SECONDS", str(seconds)).replace("TURNS", turns).replace("ATTEMPTS", str(attempts))


def evaluate(tmp_path: Path, provider: Provider, seconds: int = 180, turns: str = "", attempts: int = 2) -> Said:
    (tmp_path / "probe.yaml").write_text(experiment(seconds, turns, attempts))
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
    return scylla("evaluate", "probe.yaml", "--yes", "--json", cwd=tmp_path, env=env)


def only_row(tmp_path: Path) -> dict[str, Any]:
    (line,) = (tmp_path / "runs/probe/results.jsonl").read_text().splitlines()
    row: dict[str, Any] = json.loads(line)
    return row


def trial(tmp_path: Path) -> dict[str, Any]:
    (path,) = tmp_path.glob("runs/probe/*/trial.json")
    stored: dict[str, Any] = json.loads(path.read_text())
    return stored


def test_the_agent_has_a_dummy_key_and_nothing_of_the_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_OF_THE_HARNESS", "tweet")
    look = Say("I look around.", "Bash", {"command": "env; cat /proc/$PPID/environ"})
    with serve(lambda body: Say("Done.") if tool_results(body) else look) as provider:
        evaluate(tmp_path, provider)
    (seen,) = tool_results(provider.requests[-1])
    assert "ANTHROPIC_API_KEY=sk-ant-api03-" in seen
    assert KEY not in seen
    assert "tweet" not in seen
    assert set(provider.keys) == {KEY}


def test_a_trials_budget_ends_it_before_the_request(tmp_path: Path) -> None:
    with serve(lambda _: Say("On.", "Bash", {"command": "true"}, output_tokens=20_000)) as provider:
        evaluate(tmp_path, provider, turns=", usd: 1.0")
    row = only_row(tmp_path)
    # $0.2002 a request: what is left pays for less and less of an answer, and then for none of 8,192 tokens
    assert (row["outcome"], len(provider.requests)) == ("budget_exceeded", 4), row["reason"]
    assert "budget_exceeded:trial" in row["reason"]
    assert row["usd"] == pytest.approx(len(provider.requests) * 0.2002)
    asked = [body["max_tokens"] for body in provider.requests]
    assert asked[0] == 64_000
    assert 8_192 <= asked[3] < asked[2] < 64_000


def test_an_agent_that_only_says_it_is_done_fails(tmp_path: Path) -> None:
    with serve(lambda _: Say("Done: hello.py prints the greeting.")) as provider:
        said = evaluate(tmp_path, provider)
    assert said.code == 0, said.err
    row = only_row(tmp_path)
    assert (row["outcome"], row["passed"], row["score"]) == ("completed", False, 0.0)


def fails_once(status: int) -> Script:
    served: list[Body] = []

    def script(body: Body) -> Say | Fail:
        served.append(body)
        return Fail(status) if len(served) == 1 else diligent(body)

    return script


def cuts_each_stream(body: Body) -> Say | Fail:
    """The CLI asks again without a stream, which fails as well."""
    return Say("I write", cut=True) if body.get("stream") else Fail(500)


def works_and_then(answer: Say | Fail | Hang) -> Script:
    return lambda body: answer if tool_results(body) else WRITE


@pytest.mark.parametrize(
    ("script", "outcome", "attempts"),
    [
        pytest.param(lambda _: Fail(401), "provider_error", 1, id="401 is not tried again"),
        pytest.param(lambda _: Fail(404), "provider_error", 1, id="404: no such model"),
        pytest.param(lambda _: Fail(429), "provider_error", 2, id="429"),
        pytest.param(lambda _: Fail(500), "provider_error", 2, id="500"),
        pytest.param(lambda _: Fail(529), "provider_error", 2, id="529"),
        pytest.param(cuts_each_stream, "provider_error", 2, id="a stream cut in the middle"),
        pytest.param(works_and_then(Fail(529)), "provider_error", 2, id="529 after work was done"),
        pytest.param(fails_once(529), "completed", 2, id="529 once, then well"),
        pytest.param(lambda _: Say("No.", stop_reason="refusal"), "refused", 1, id="refusal"),
        pytest.param(lambda _: Fail(400), "agent_error", 1, id="400: the conversation is not acceptable"),
    ],
)
def test_outcomes_by_rule(tmp_path: Path, script: Script, outcome: str, attempts: int) -> None:
    with serve(script) as provider:
        said = evaluate(tmp_path, provider)
    row = only_row(tmp_path)
    assert (row["outcome"], row["attempts"]) == (outcome, attempts), row["reason"]
    measures = outcome in {"completed", "refused", "agent_error"}
    assert (row["measures_agent"], row["judged"]) == (measures, measures)
    assert said.code == (0 if measures else 8)
    assert "Traceback" not in said.err


def test_each_attempts_cost_counts(tmp_path: Path) -> None:
    with serve(works_and_then(Fail(529))) as provider:
        evaluate(tmp_path, provider)
    stored = trial(tmp_path)["attempts"]
    # one whole message each: 100 tokens in, 25 out, at $2 and $10 a million
    assert [attempt["usage"]["usd"] for attempt in stored] == [pytest.approx(0.00045)] * 2
    assert only_row(tmp_path)["usd"] == pytest.approx(0.0009)


def test_a_provider_that_hangs_is_not_the_agents_fault(tmp_path: Path) -> None:
    with serve(lambda _: Hang()) as provider:
        evaluate(tmp_path, provider, seconds=20, attempts=1)
    row = only_row(tmp_path)
    assert row["outcome"] == "provider_error", row["reason"]
    assert "without an answer" in row["reason"]
    assert 20 <= row["seconds"] < 120


def test_an_agent_that_works_too_long_is_a_timeout_with_its_true_time_and_cost(tmp_path: Path) -> None:
    with serve(lambda _: Say("I wait.", "Bash", {"command": "sleep 300"})) as provider:
        said = evaluate(tmp_path, provider, seconds=20)
    row = only_row(tmp_path)
    assert (row["outcome"], row["passed"], row["attempts"]) == ("timeout", False, 1)
    assert 20 <= row["seconds"] < 120
    # told to end, the CLI may still send a last request; whatever it sent was paid for
    assert row["usd"] == pytest.approx(len(provider.requests) * 0.00045)
    assert said.code == 0


def test_a_turn_limit_ends_the_trial_with_its_own_reason(tmp_path: Path) -> None:
    with serve(lambda _: Say("On.", "Bash", {"command": "true"})) as provider:
        evaluate(tmp_path, provider, turns=", turns: 2")
    row = only_row(tmp_path)
    assert (row["outcome"], row["turns"]) == ("budget_exceeded", 2)


def stand_in(tmp_path: Path, script: str) -> dict[str, str]:
    """A `claude` of another kind on PATH."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:/usr/bin:/bin", "ANTHROPIC_API_KEY": KEY}


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        pytest.param("echo '1.0.3 (Claude Code)'", 5, "older than 2.1.0", id="too old"),
        pytest.param("echo Claudius 3", 5, "unknown answer 'Claudius 3'", id="something else"),
        pytest.param("exit 3", 5, "is this claude-code?", id="broken"),
    ],
)
def test_a_cli_that_cannot_be_used_is_named(tmp_path: Path, script: str, code: int, message: str) -> None:
    (tmp_path / "probe.yaml").write_text(experiment(5).replace("@2.1.332", ""))
    said = scylla("evaluate", "probe.yaml", "--yes", cwd=tmp_path, env=stand_in(tmp_path, script))
    assert said.code == code
    assert message in said.err
    assert "Traceback" not in said.err


def test_a_missing_cli_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "probe.yaml").write_text(experiment(5).replace("@2.1.332", ""))
    (tmp_path / "only").mkdir()
    (tmp_path / "only/git").symlink_to(str(shutil.which("git")))
    env = {"PATH": str(tmp_path / "only"), "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    said = scylla("evaluate", "probe.yaml", cwd=tmp_path, env=env)
    assert said.code == 5
    assert "'claude' is not on PATH" in said.err
    assert "npm install -g @anthropic-ai/claude-code" in said.err


def test_a_missing_key_is_named_before_anything_runs(tmp_path: Path) -> None:
    said = scylla("evaluate", "hello-claude", cwd=tmp_path, env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""})
    assert said.code == 5
    assert "set ANTHROPIC_API_KEY" in said.err
    assert not (tmp_path / "runs").exists()


def test_a_transcript_of_unknown_form_is_no_score(tmp_path: Path) -> None:
    (tmp_path / "probe.yaml").write_text(experiment(20).replace("@2.1.332", ""))
    script = '[ "$1" = --version ] && echo "2.9.0 (Claude Code)" || echo "Hello, I am done."'
    said = scylla("evaluate", "probe.yaml", "--yes", cwd=tmp_path, env=stand_in(tmp_path, script))
    row = only_row(tmp_path)
    assert (row["outcome"], row["judged"], row["score"]) == ("sandbox_error", False, None)
    assert "not stream-json of a known form" in row["reason"]
    assert said.code == 8
