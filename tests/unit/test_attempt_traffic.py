"""Cost and end of an attempt, as the gateway saw it: a real one, asked from the agent's own process."""

import os
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.traffic import RequestRecord
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome
from scylla_gha.store.run_folder import AttemptFolder
from tests.support.agents import PACKAGE, Bench, ShellAgent
from tests.support.ask import ASK
from tests.support.gateway import EACH, KEY, Host, hosted
from tests.support.processes import cancelled_once_there, wait_for
from tests.support.provider import Body, Fail, Hang, Say, serve
from tests.support.shared_host import shared_host


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.make(tmp_path)


def work(bench: Bench, host: Host, script: str, **runner: Any) -> Attempt:
    """Run an agent that uses a model through the gateway, in a fresh workspace."""
    return bench.run(ShellAgent(script, package=PACKAGE), gateway=host.gateway, **runner)


def near(usd: float) -> Any:
    return pytest.approx(usd)


def kept(folder: AttemptFolder) -> bytes:
    return b"".join(path.read_bytes() for path in folder.root.rglob("*") if path.is_file())


def test_cost_and_traffic_are_the_gateways_account(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, _):
        made = work(bench, host, f"{ASK} dear one; {ASK} dear twice")
    assert (made.outcome, made.requests, made.repeated_requests) == (Outcome.COMPLETED, 2, 0)
    assert made.usage.model_dump() == {"input_tokens": 200, "output_tokens": 50, "cache_read_tokens": 0,
                                       "cache_write_tokens": 0, "usd": near(2 * EACH)}  # fmt: skip
    assert made.characters == {"conversation": len("onetwice")}
    assert made.turns == 1, "the agent says three, and the second request begins another conversation"
    assert made.first_byte_seconds is not None
    assert made.first_byte_seconds + made.generation_seconds <= made.seconds
    assert bench.folder.file("transcript.jsonl").read_text() == "Hi.\nHi.\n"
    assert host_lines(bench.folder) == [1, 2]


def host_lines(folder: AttemptFolder) -> list[int]:
    """The numbers of the requests in the attempt's journal."""
    lines = folder.file("traffic.jsonl").read_text().splitlines()
    return [RequestRecord.model_validate_json(line).number for line in lines if '"kind":"asked"' in line]


@pytest.mark.parametrize(
    ("models", "usd", "tokens"),
    [
        pytest.param(["dear"], EACH, 100, id="tokens times price"),
        pytest.param(["dear", "stubborn"], 2 * EACH, 200, id="all models together"),
        pytest.param(["dear", "new"], None, 200, id="one price unknown"),
        pytest.param(["new"], None, 100, id="a model without a price"),
        pytest.param([], 0.0, 0, id="no model was asked"),
    ],
)
def test_the_cost_is_tokens_times_price_and_unknown_where_one_is(
    bench: Bench, tmp_path: Path, models: list[str], usd: float | None, tokens: int
) -> None:
    with shared_host(tmp_path) as (host, _):
        made = work(bench, host, "\n".join(f"{ASK} {model} x" for model in models))
    assert (made.usage.usd, made.usage.input_tokens) == (None if usd is None else near(usd), tokens)
    assert made.requests == len(models)


def test_a_failed_request_costs_nothing_and_the_next_repeats_it(bench: Bench, tmp_path: Path) -> None:
    answers: list[Fail | Say] = [Fail(500), Say("Hi.")]
    with shared_host(tmp_path, lambda _: answers.pop(0)) as (host, _):
        made = work(bench, host, f"{ASK} dear x || {ASK} dear x")
    assert (made.outcome, made.requests, made.repeated_requests) == (Outcome.COMPLETED, 2, 1)
    assert made.usage.usd == near(EACH)


SAY_ACCESS = 'echo "${ANTHROPIC_BASE_URL-none} ${ANTHROPIC_API_KEY-none}"'


def test_an_agent_without_a_model_has_no_lane_and_costs_nothing(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, _):
        made = bench.run(ShellAgent(SAY_ACCESS, package=None), gateway=host.gateway)
    assert (made.usage, made.requests, made.first_byte_seconds) == (NO_USAGE, 0, None)
    assert bench.folder.file("transcript.jsonl").read_text() == "none none\n"
    assert not bench.folder.file("traffic.jsonl").exists()


def test_the_agent_gets_the_gateways_address_and_a_key_of_its_own(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with shared_host(tmp_path) as (host, provider):
        places = (bench.folder, bench.another())
        for place in places:
            key = 'echo "$ANTHROPIC_API_KEY" | cut -c -13; echo "$ANTHROPIC_API_KEY" | cksum'
            work(bench, host, f"{SAY_ACCESS}; {key}; {ASK} dear x", folder=place)
    given = [place.file("transcript.jsonl").read_text().split() for place in places]
    assert given[0][0].startswith("http://127.0.0.1:")
    assert given[0][0] != provider.url
    assert given[0][1:3] == ["[redacted]", "sk-ant-api03-"], "it has the form of a real one"
    assert given[0][3] != given[1][3]
    assert provider.keys == [KEY, KEY]


def test_the_real_key_is_in_no_file_of_the_attempt(bench: Bench, tmp_path: Path) -> None:
    echo = Fail(401, message=f"the key {KEY} is not valid:")  # a provider that repeats what it was sent
    answers: list[Fail | Say] = [echo, Say("Hi.")]
    with shared_host(tmp_path, lambda _: answers.pop(0)) as (host, provider):
        made = work(bench, host, f"env | tee environment; {ASK} dear x; {ASK} dear x; exit 3")
    assert provider.keys == [KEY, KEY]
    assert "the key [redacted] is not valid" in bench.folder.file("stderr.txt").read_text()
    assert made.diff is not None
    assert made.diff.files == ("environment",)
    assert {"traffic.jsonl", "diff.patch"} <= {path.name for path in bench.folder.root.iterdir()}
    assert KEY.encode() not in kept(bench.folder)


def test_at_the_trials_budget_it_ends_whatever_the_agent_says(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, provider):
        script = f"{ASK} dear 1; {ASK} dear 2; {ASK} dear 3; echo end completed"
        made = work(bench, host, script, limits=TrialLimits(usd=1.5 * EACH))
    assert (made.outcome, made.retryable) == (Outcome.BUDGET_EXCEEDED, False)
    assert made.reason == "refused before the request: budget_exceeded:trial (limits.usd)"
    assert (made.usage.usd, len(provider.requests)) == (near(2 * EACH), 2)
    assert "403: the spend limit of $0.00068 of this key is reached" in bench.folder.file("stderr.txt").read_text()


def test_at_the_trials_tokens_it_ends_with_a_reason_of_its_own(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, provider):
        made = work(bench, host, f"{ASK} dear one; {ASK} dear two; {ASK} dear three; true",
                    limits=TrialLimits(tokens=250))  # fmt: skip
    assert (made.outcome, made.requests, len(provider.requests)) == (Outcome.BUDGET_EXCEEDED, 3, 2)
    assert made.reason == "refused before the request: budget_exceeded:trial_tokens (limits.tokens)"


def test_a_budget_is_of_one_attempt(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, _):
        limits, places = TrialLimits(usd=0.5 * EACH), (bench.folder, bench.another())
        made = [work(bench, host, f"{ASK} dear x", limits=limits, folder=place) for place in places]
    assert [attempt.outcome for attempt in made] == [Outcome.COMPLETED] * 2
    assert [attempt.usage.usd for attempt in made] == [near(EACH)] * 2


def test_a_gateway_that_dies_in_the_middle_is_no_fault_of_the_agent(bench: Bench, tmp_path: Path) -> None:
    def answer(body: Body) -> Say | Hang:
        if body["messages"][0]["content"] == "first":
            return Say("Hi.")
        assert host.gateway.pid is not None
        os.kill(host.gateway.pid, signal.SIGKILL)
        return Hang()

    with serve(answer) as provider, hosted(tmp_path, provider.url) as host:
        made = work(bench, host, f"{ASK} dear first; {ASK} dear second || echo end completed")
        provider.ended.set()
        after = work(bench, host, f"{ASK} dear first", folder=bench.another())
    assert (made.outcome, made.retryable) == (Outcome.PROVIDER_ERROR, True)
    assert made.reason == "the model gateway died during the attempt"
    assert (made.requests, made.usage.usd) == (2, None), "what was in flight has an unknown cost"
    assert host_lines(bench.folder) == [1, 2]
    assert (after.outcome, after.usage.usd) == (Outcome.COMPLETED, near(EACH))


def test_an_interruption_stays_one_though_the_answer_never_came(bench: Bench, tmp_path: Path) -> None:
    script = f"(sleep 1; echo 1 >{tmp_path}/pid) & {ASK} dear x"
    with serve(lambda _: Hang()) as provider, hosted(tmp_path, provider.url, drain_seconds=0) as host, \
            cancelled_once_there(tmp_path / "pid") as cancel:  # fmt: skip
        made = work(bench, host, script, cancel=cancel)
        assert wait_for(lambda: len(provider.requests) == 1)
        provider.ended.set()
    assert (made.outcome, made.retryable, made.usage.usd) == (Outcome.CANCELLED, False, None)


def test_an_answer_that_begins_after_the_time_limit_was_not_seen(bench: Bench, tmp_path: Path) -> None:
    access = tmp_path / "access"

    def answer(_: Body) -> Say:
        assert wait_for(lambda: access.exists() and is_closed(*access.read_text().split()))
        return Say("Hi.")

    script = f'echo "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY" >{access}.new; mv {access}.new {access}; {ASK} dear x'
    with serve(answer) as provider, hosted(tmp_path, provider.url, drain_seconds=60) as host:
        made = work(bench, host, script, limits=TrialLimits(timeout_seconds=15))
    assert (made.outcome, made.retryable) == (Outcome.PROVIDER_ERROR, True), made.reason
    assert "its first request was still without an answer" in made.reason
    assert made.usage.usd == near(EACH), "it is paid for"


def is_closed(url: str, token: str) -> bool:
    """Tell if the gateway does not know a session's dummy key any more."""
    request = urllib.request.Request(f"{url}/v1/messages", b"", {"x-api-key": token})
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except urllib.error.HTTPError as error:
        return error.code == 401
    return False


ASK_WHERE = f'{ASK} dear "I am in $PWD, at home in $HOME, under $(pwd | tr -c "A-Za-z0-9\\n" -)"'


def test_a_recording_is_of_no_folder_and_is_replayed_in_any_other(bench: Bench, tmp_path: Path) -> None:
    def echo(body: Body) -> Say:
        return Say(body["messages"][0]["content"])

    with serve(echo) as provider, hosted(tmp_path, provider.url, record=tmp_path / "tapes") as host:
        first = work(bench, host, ASK_WHERE)
    (file,) = (tmp_path / "tapes").iterdir()
    assert file.name == "cell--agent.jsonl"
    assert str(tmp_path) not in file.read_text()
    again = bench.another(1, tmp_path / "elsewhere")
    with hosted(tmp_path, replay=tmp_path / "tapes") as host:
        second = work(bench, host, ASK_WHERE, folder=again)
    said = [place.file("transcript.jsonl").read_text() for place in (bench.folder, again)]
    assert f"I am in {tmp_path}/elsewhere/w-1/workspace, at home in {tmp_path}/elsewhere/w-1/home" in said[1]
    assert said[0] != said[1]
    assert (second.outcome, second.usage) == (first.outcome, first.usage)


def test_what_is_not_in_the_recording_ends_the_trial_for_good(bench: Bench, tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url, record=tmp_path / "tapes") as host:
        work(bench, host, f"{ASK} dear Hello?")
    again = bench.another(1, tmp_path / "elsewhere")
    with hosted(tmp_path, replay=tmp_path / "tapes") as host:
        made = work(bench, host, f"{ASK} dear Hello!; {ASK} dear Hello?; echo end completed", folder=again)
    assert (made.outcome, made.retryable) == (Outcome.PROVIDER_ERROR, False)
    assert made.reason.startswith("1 request is not in the recording: ")
