"""A trial whose provider fails: the real Claude Code CLI, the real SDK, the whole command line.

Faults that `test_claude_code.py` has for the agent (401, 404, 429, 500, 529, refusal, silence) are not repeated.
"""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import forked
from tests.support.engine import found_by
from tests.support.faults import (
    JUDGES,
    KEY,
    MALFORMED,
    OVERLOADED,
    WRITE,
    Answer,
    access,
    agents_repository,
    always,
    content,
    diligent,
    evaluate,
    judge,
    judges_repository,
    left,
    once,
)
from tests.support.panel import raw, reply
from tests.support.provider import Body, Fail, Hang, Hangup, Say, Script, serve, tool_results

EACH = (100 * 2 + 25 * 10) / 1e6  # USD of one answer of claude-sonnet-5
OF_JUDGE = dict(zip(JUDGES, (2.5 * EACH, EACH, 0.5 * EACH), strict=True))


def near(usd: float | None) -> Any:
    return None if usd is None else pytest.approx(usd)


def slow(body: Body) -> Say:
    said = diligent(body)
    return Say(said.text, said.tool, said.arguments, wait=1.0)


def second(answer: Answer) -> Script:
    """The first request is answered; what comes next is answered so, once."""
    failing = once(answer)
    return lambda body: failing(body) if tool_results(body) else diligent(body)


# fault: script, how often the CLI repeats a request, outcome, attempts, USD of all of them (None: unknown)
AGENT: dict[str, tuple[Script, int, str, int, float | None]] = {
    "403": (always(Fail(403)), 0, "provider_error", 1, 0.0),
    "429 once, told when": (once(Fail(429, {"retry-after": "0.2"})), 0, "completed", 1, 2 * EACH),
    "429, told to wait for an hour": (always(Fail(429, {"retry-after": "3600"})), 1, "provider_error", 2, 0.0),
    "529 once, told when": (once(Fail(529, {"retry-after": "0.2"})), 0, "completed", 1, 2 * EACH),
    "500 once, repeated by the CLI": (once(Fail(500)), 1, "completed", 1, 2 * EACH),
    "503, told to wait for an hour": (once(Fail(503, {"retry-after": "3600"})), 1, "completed", 1, 2 * EACH),
    "slow first byte": (slow, 0, "completed", 1, 2 * EACH),
    "a stream cut once": (once(Say("I wri", cut=True)), 0, "completed", 1, None),
    # Claude Code 2.1.332 asks three times more if a stream fails after its begin, whatever its limit of retries is.
    "malformed events": (always(Say("I", garbage=MALFORMED)), 0, "provider_error", 2, 8 * EACH),
    "malformed events once": (once(Say("I", garbage=MALFORMED)), 0, "completed", 1, 3 * EACH),
    "an error event": (always(Say("I", garbage=OVERLOADED)), 0, "provider_error", 2, 8 * EACH),
    "an error event and the end, once": (once(Say("I", garbage=OVERLOADED, cut=True)), 0, "completed", 1, None),
    "hung up: nobody was ever reached": (always(Hangup()), 0, "provider_error", 1, None),
    "hung up once": (second(Hangup()), 0, "completed", 2, None),
}


@pytest.mark.parametrize("fault", AGENT)
def test_an_agents_trial_has_the_right_outcome_and_its_true_cost(tmp_path: Path, fault: str) -> None:
    script, retries, outcome, attempts, usd = AGENT[fault]
    with serve(script) as provider:
        said = evaluate(agents_repository(tmp_path, retries), provider)
    row = left(tmp_path).row
    assert (row["outcome"], row["attempts"], row["usd"]) == (outcome, attempts, near(usd)), row["reason"]
    done = outcome == "completed"
    assert (row["measures_agent"], row["judged"], row["passed"]) == (done, done, True if done else None)
    assert said.code == (0 if done else 8)
    assert set(provider.keys) == {KEY}


def gateway_of(process: int) -> int:
    """The gateway's process under the harness's."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == process and b"scylla_gha.gateway" in command:
            return int(folder.name)
    raise AssertionError("there is no gateway")


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize("sandbox", ["host", "docker"])
def test_a_gateway_killed_in_the_middle_is_no_fault_of_the_agent(tmp_path: Path, sandbox: str) -> None:
    killed: list[int] = []

    def kill_once(body: Body) -> Answer:
        if not tool_results(body) or killed:
            return diligent(body)
        killed.append(gateway_of(command.pid))
        os.kill(killed[0], signal.SIGKILL)
        return Hang()

    agents_repository(tmp_path, sandbox=sandbox)
    with (
        serve(kill_once) as provider,
        forked("evaluate", "greet", "--yes", cwd=tmp_path, env=access(tmp_path, provider, **found_by())) as command,
    ):
        said = command.wait()
    found = left(tmp_path)
    first, second = found.record("trial.json")["attempts"]
    assert (first["outcome"], first["reason"]) == ("provider_error", "the model gateway died during the attempt")
    assert (second["outcome"], found.row["passed"], said.code) == ("completed", True, 0), said.err
    assert [len(found.traffic(1, kind)) for kind in ("asked", "answered")] == [2, 1]
    assert [len(found.traffic(2, kind)) for kind in ("asked", "answered")] == [2, 2]
    # what was in flight has an unknown cost, so the whole has one; what is known is in the journals
    assert (first["usage"]["usd"], second["usage"]["usd"], found.row["usd"]) == (None, near(2 * EACH), None)


def half(body: Body) -> Say:
    return Say(content(body).text[:40])


def longest(body: Body) -> Say:
    return Say(content(body).text + " " * 1_000_000)


# fault of the first judge: its script, its requests that reached the provider, those that it pays for
# (None: unknown), and why its item is missing (None: it is not)
JUDGE: dict[str, tuple[Script, int, int | None, str | None]] = {
    "401": (always(Fail(401)), 1, 0, "the provider answered 401"),
    "403": (always(Fail(403)), 1, 0, "the provider answered 403"),
    "500": (always(Fail(500)), 3, 0, "the provider answered 500"),
    "529": (always(Fail(529)), 3, 0, "the provider answered 529"),
    "503, told to wait for an hour": (always(Fail(503, {"retry-after": "3600"})), 3, 0, "the provider answered 503"),
    "500 once": (once(Fail(500), content), 2, 1, None),
    "429 once, told when": (once(Fail(429, {"retry-after": "0.2"}), content), 2, 1, None),
    "slow first byte": (lambda body: Say(content(body).text, wait=1.0), 1, 1, None),
    "a stream cut": (lambda body: Say(content(body).text, cut=True), 3, None, "the stream ended before the end"),
    "a stream cut once": (once(Say("{", cut=True), content), 2, None, None),
    "malformed events": (lambda body: Say(content(body).text, garbage=MALFORMED), 3, 3, "a malformed event"),
    "malformed events once": (once(Say("", garbage=MALFORMED), content), 2, 2, None),
    "an error event": (lambda body: Say(content(body).text, garbage=OVERLOADED), 3, 3, "overloaded_error"),
    "an error event and the end, once": (once(Say("", garbage=OVERLOADED, cut=True), content), 2, None, None),
    "hung up": (always(Hangup()), 3, None, "the provider answered 502"),
    # A judge whose answers cannot be read is asked again with the diff alone.
    "prose": (always(Say("It deserves full marks.")), 6, 6, "the reply is not a single JSON object"),
    "prose once": (once(Say("It deserves full marks."), content), 2, 2, None),
    "half a JSON": (half, 6, 6, "the reply is not a single JSON object"),
    "a million characters": (longest, 6, 6, "the answer is longer than 100000 characters"),
    "an item that does not exist": (always(Say(reply(raw("X1")))), 6, 6, "not answered"),
}


@pytest.mark.parametrize("fault", JUDGE)
def test_what_one_judge_did_not_say_is_missing_and_paid_for(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, requests, paid, missing = JUDGE[fault]
    with serve(lambda body: script(body) if body["model"] == JUDGES[0] else content(body)) as provider:
        found = judge(tmp_path, provider, monkeypatch)
    assert (found.row["outcome"], found.row["passed"]) == ("completed", True)
    first, *others = found.record("judgment.json")["answers"]
    assert [item["state"] for item in first["items"]] == ["missing" if missing else "scored"]
    assert (missing or "None") in str(first["error"])
    assert [item["value"] for other in others for item in other["items"]] == [1.0, 1.0]
    assert sum(body["model"] == JUDGES[0] for body in provider.requests) == requests
    rest = OF_JUDGE[JUDGES[1]] + OF_JUDGE[JUDGES[2]]
    assert found.row["judge_usd"] == near(None if paid is None else rest + paid * OF_JUDGE[JUDGES[0]])
    assert found.row["usd"] == 0


@pytest.mark.parametrize(
    ("fault", "outcome", "usd"),
    [
        pytest.param(Fail(401), "judge_error", 0.0, id="401"),
        pytest.param(Fail(429), "judge_error", 0.0, id="429"),
        pytest.param(Fail(429, {"retry-after": "3600"}), "judge_error", 0.0, id="429, told to wait for an hour"),
        pytest.param(Say("{", cut=True), "judge_error", None, id="a stream cut"),
    ],
)
def test_a_panel_that_says_nothing_is_no_score_and_paid_for(
    tmp_path: Path, fault: Answer, outcome: str, usd: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(always(fault)) as provider:
        row = judge(tmp_path, provider, monkeypatch).row
    assert (row["outcome"], row["score"], row["passed"]) == (outcome, None, None)
    assert row["measures_agent"] == (outcome == "completed")
    assert "0 of 3 judges answered" in (row["unjudged"] or row["reason"])
    assert row["judge_usd"] == near(usd)


def test_a_panel_that_cannot_be_read_is_asked_again_and_its_items_are_not_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(always(Say("It deserves full marks."))) as provider:
        row = judge(tmp_path, provider, monkeypatch).row
    assert (row["outcome"], row["score"], row["passed"], row["judges_withheld"]) == ("completed", 0.5, False, 3)
    assert row["judge_usd"] == near(6 * sum(OF_JUDGE.values()))


LOOK = "env; tr '\\0' '\\n' < /proc/self/environ; tr '\\0' '\\n' < /proc/$PPID/environ; echo \"seen\" >> greet.sh"


def test_neither_the_key_nor_a_canary_is_in_a_file_a_log_or_a_process_of_agent_or_judge(tmp_path: Path) -> None:
    look = Say("I look around.", "Bash", {"command": LOOK})
    seen: list[str] = []

    def curious(body: Body) -> Answer:
        if not body.get("tools"):
            return content(body)
        results = tool_results(body)
        seen.extend(results)
        return (look, WRITE, Say("Done."))[min(len(results), 2)]

    agents_repository(tmp_path, judges=JUDGES)
    with serve(curious) as provider:
        said = evaluate(tmp_path, provider, "--record", "tape", CANARY_OF_THE_HARNESS="tweet-0123456789")
        failing = evaluate_with_an_echo(tmp_path / "echo")
    assert said.code == 0, said.err
    assert left(tmp_path).row["judge_usd"] == near(sum(OF_JUDGE.values()))
    assert "ANTHROPIC_API_KEY=sk-ant-api03-" in seen[0]
    checks = {check["id"]: check["evidence"] for check in left(tmp_path).record("judgment.json")["checks"]}
    assert "PATH=" in checks["shows"], "a check's process shows its environment"
    assert set(provider.keys) == {KEY}
    assert len(list((tmp_path / "tape").iterdir())) == 2
    for canary in (KEY, "tweet-0123456789"):
        assert canary not in "".join((*seen, *map(str, provider.raw), said.out, said.err, failing))
        for path in (path for path in tmp_path.rglob("*") if path.is_file()):
            assert canary.encode() not in path.read_bytes(), path


def evaluate_with_an_echo(folder: Path) -> str:
    """Return what a run says whose provider quotes the key that it was sent, to agent and judges alike."""
    quoting = Fail(403, message=f"the key {KEY} is blocked:")
    agents_repository(folder / "agent")
    judges_repository(folder / "judge")
    with serve(always(quoting)) as provider:
        said = [evaluate(folder / who, provider, "--json") for who in ("agent", "judge")]
    assert "[redacted]" in left(folder / "agent").row["reason"]
    assert "[redacted]" in left(folder / "judge").row["reason"]
    return "".join(one.out + one.err for one in said)
