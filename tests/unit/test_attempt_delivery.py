"""Outcome of an attempt in which several things went wrong, and what is proved of it, with a real gateway.

From the strongest: the user's interruption, another treatment than the declared one, the gateway's death, a request
that is not in the recording, a spent budget, what the agent says.
"""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Attempt, Observed, Outcome
from scylla_gha.store import read_record
from tests.support.agents import PACKAGE, Bench, ShellAgent
from tests.support.ask import ASK
from tests.support.delivery import make_declared, make_inventory, make_request, make_start
from tests.support.gateway import EACH, Host, hosted
from tests.support.processes import cancelled_once_there
from tests.support.provider import Say, serve
from tests.support.shared_host import shared_host

START, REQUEST = make_start(), make_request()
SPY = make_request(mcp_servers=("spy",))
PROVED, UNDELIVERED = (START, REQUEST), (START, SPY)
CLAIMED = (make_start(mcp_servers=("spy",)), REQUEST)
OUT_OF_MONEY = TrialLimits(usd=0.5 * EACH)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.make(tmp_path)


def work(bench: Bench, host: Host, script: str, seen: tuple[Observed, ...] = PROVED, **runner: Any) -> Attempt:
    """Run an agent that had what `seen` says, in a fresh workspace."""
    agent = ShellAgent(script, package=PACKAGE, declared=make_declared(), seen=seen)
    return bench.run(agent, **{"gateway": host.gateway, "inventory": make_inventory(), **runner})


def record(bench: Bench, tmp_path: Path) -> Path:
    """A recording of one question: Hello?"""
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url, record=tmp_path / "tapes") as host:
        made = work(bench, host, f"{ASK} dear Hello?", folder=bench.another(1, tmp_path / "first"))
    assert made.outcome is Outcome.COMPLETED
    return tmp_path / "tapes"


def kill(host: Host) -> str:
    """The shell command that ends the gateway."""
    return f"kill -9 {host.gateway.pid}"


def test_what_is_proved_is_kept_with_the_attempt(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, _):
        made = work(bench, host, "true")
    assert (made.outcome, made.reason) == (Outcome.COMPLETED, "done")
    assert made.delivery is not None
    assert (made.delivery.proved, made.delivery.seen) == (True, ("start event", "first request"))
    assert read_record(bench.folder.file("attempt.json"), Attempt) == made


def test_an_agent_that_declares_nothing_or_has_no_gateway_has_nothing_to_prove(bench: Bench, tmp_path: Path) -> None:
    made = bench.run(ShellAgent(declared=make_declared(), seen=UNDELIVERED))
    assert (made.outcome, made.delivery) == (Outcome.COMPLETED, None)
    with shared_host(tmp_path) as (host, _):
        assert bench.run(ShellAgent(), bench.another(), gateway=host.gateway).delivery is None


@pytest.mark.parametrize("said", ["completed", "refused", "agent_error", "provider_error again", "timeout"])
def test_another_treatment_outdoes_whatever_the_agent_says(bench: Bench, tmp_path: Path, said: str) -> None:
    with shared_host(tmp_path) as (host, _):
        made = work(bench, host, f"echo end {said}", UNDELIVERED)
    assert (made.outcome, made.retryable) == (Outcome.DELIVERY_ERROR, False)
    assert made.reason == "not declared: MCP server spy"


def test_what_only_the_agents_output_lacks_excuses_it_until_the_model_has_answered(
    bench: Bench, tmp_path: Path
) -> None:
    with shared_host(tmp_path) as (host, _):
        before = work(bench, host, "echo end agent_error", CLAIMED)
        after = work(bench, host, f"{ASK} dear Hello?; echo end agent_error", CLAIMED, folder=bench.another(2))
        erased = work(bench, host, f"{ASK} dear Hello?; echo end completed", (REQUEST,), folder=bench.another(3))
    assert (before.outcome, before.reason) == (
        Outcome.DELIVERY_ERROR,
        "the agent's own output reports: MCP server spy",
    )
    assert (after.outcome, after.reason) == (Outcome.AGENT_ERROR, "as it said")
    assert after.delivery is not None
    assert (after.delivery.proved, after.delivery.claimed) == (False, ("MCP server spy",)), "it is kept all the same"
    assert (erased.outcome, erased.delivery and erased.delivery.proved) == (Outcome.COMPLETED, False)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ((START,), "no request to the model was seen"),
        ((REQUEST,), "the CLI wrote no start event"),
        ((), "the CLI wrote no start event; no request to the model was seen"),
    ],
)
def test_what_completed_without_a_proof_does_not_count(
    bench: Bench, tmp_path: Path, seen: tuple[Observed, ...], reason: str
) -> None:
    with shared_host(tmp_path) as (host, _):
        made = work(bench, host, "true", seen)
    assert made.outcome is Outcome.DELIVERY_ERROR
    assert made.reason == f"the delivery of the treatment is not proved: {reason}"
    assert made.delivery is not None
    assert not made.delivery.proved


@pytest.mark.parametrize("seen", [(), (START,), (REQUEST,)])
@pytest.mark.parametrize("said", ["sandbox_error", "provider_error again", "agent_error"])
def test_what_ended_early_keeps_its_outcome_and_is_not_proved(
    bench: Bench, tmp_path: Path, said: str, seen: tuple[Observed, ...]
) -> None:
    with shared_host(tmp_path) as (host, _):
        made = work(bench, host, f"echo end {said}", seen)
    assert (made.outcome, made.reason, made.retryable) == (said.partition(" ")[0], "as it said", "again" in said)
    assert made.delivery is not None
    assert not made.delivery.proved


def test_a_timeout_before_any_request_stays_one(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, _):
        made = work(bench, host, "sleep 600", (START,), limits=TrialLimits(timeout_seconds=1))
    assert (made.outcome, made.reason) == (Outcome.TIMEOUT, "ended at the limit of 1 s")


def test_an_interruption_outdoes_another_treatment(bench: Bench, tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! >{tmp_path}/pid; wait"
    with shared_host(tmp_path) as (host, _), cancelled_once_there(tmp_path / "pid") as cancel:
        made = work(bench, host, script, UNDELIVERED, cancel=cancel)
    assert (made.outcome, made.reason) == (Outcome.CANCELLED, "interrupted by the user")
    assert made.delivery is not None
    assert made.delivery.reason == "not declared: MCP server spy", "it is kept all the same"


@pytest.mark.parametrize(("seen", "outcome"), [(UNDELIVERED, Outcome.DELIVERY_ERROR), (PROVED, Outcome.PROVIDER_ERROR)])
def test_another_treatment_outdoes_the_gateways_death(
    bench: Bench, tmp_path: Path, seen: tuple[Observed, ...], outcome: Outcome
) -> None:
    with hosted(tmp_path) as host:
        made = work(bench, host, kill(host), seen)
    assert (made.outcome, made.retryable) == (outcome, outcome is Outcome.PROVIDER_ERROR)


def test_the_gateways_death_outdoes_what_is_not_in_the_recording(bench: Bench, tmp_path: Path) -> None:
    with hosted(tmp_path, replay=record(bench, tmp_path)) as host:
        made = work(bench, host, f"{ASK} dear Other?; {kill(host)}")
    assert (made.reason, made.retryable) == ("the model gateway died during the attempt", True)


def test_what_is_not_in_the_recording_outdoes_a_spent_budget(bench: Bench, tmp_path: Path) -> None:
    script = f"{ASK} dear Other?; {ASK} dear Hello?; {ASK} dear Hello?; echo end completed"
    with hosted(tmp_path, replay=record(bench, tmp_path)) as host:
        made = work(bench, host, script, limits=OUT_OF_MONEY)
    assert "spend limit" in bench.folder.file("stderr.txt").read_text()
    assert made.reason.startswith("1 request is not in the recording: ")


@pytest.mark.parametrize(
    ("seen", "outcome"), [(UNDELIVERED, Outcome.DELIVERY_ERROR), (PROVED, Outcome.BUDGET_EXCEEDED)]
)
def test_another_treatment_outdoes_a_spent_budget(
    bench: Bench, tmp_path: Path, seen: tuple[Observed, ...], outcome: Outcome
) -> None:
    with shared_host(tmp_path) as (host, _):
        script = f"{ASK} dear 1; {ASK} dear 2; echo end completed"
        made = work(bench, host, script, seen, limits=OUT_OF_MONEY)
    assert made.outcome is outcome
    assert made.usage.usd == pytest.approx(EACH), "what was paid for stays counted"


def test_the_first_request_is_kept_where_the_proof_looks_for_it(bench: Bench, tmp_path: Path) -> None:
    with shared_host(tmp_path) as (host, provider):
        work(bench, host, f"{ASK} dear one Bash; {ASK} dear two Read")
    assert bench.folder.file("first-request.json").read_bytes() == provider.raw[0]
