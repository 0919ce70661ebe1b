"""The gateway asks again where the provider fails, and its journal tells what each try met."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import EACH, ask, hosted, question, shared
from tests.support.provider import Body, Fail, Hangup, Say, serve

Answer = Say | Fail | Hangup


def in_order(*answers: Answer) -> Callable[[Body], Answer]:
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.parametrize(
    ("answers", "status", "met", "fault"),
    [
        pytest.param((Fail(500), Fail(529), Say("Hi.")), 200, ("500", "529"), None, id="well at last"),
        pytest.param((Hangup(), Say("Hi.")), 200, ("unreachable",), None, id="hung up once"),
        pytest.param((Fail(503),), 503, ("503",) * 3, "503 scripted_error", id="all tries failed"),
        pytest.param((Hangup(),), 502, ("unreachable",) * 3, "unreachable", id="never reached"),
        pytest.param((Fail(401),), 401, ("401",), "401 scripted_error", id="401 is not asked again"),
        pytest.param((Fail(400),), 400, ("400",), None, id="400 is the request's own"),
        pytest.param((Fail(302),), 302, (), None, id="a redirect answers an odd request"),
        pytest.param((Say("I", cut=True),), 200, (), "a cut answer", id="what has begun is not asked again"),
        pytest.param((Say("I", garbage=b"data: {half\n\n"),), 200, (), "a malformed answer", id="malformed"),
    ],
)
def test_tries_and_faults(
    tmp_path: Path, answers: tuple[Answer, ...], status: int, met: tuple[str, ...], fault: str | None
) -> None:
    quick: dict[str, Any] = {"retries": 2, "retry_seconds": 0.01}
    with shared(tmp_path, in_order(*answers), **quick) as (_, host):
        reply = ask(host.open(), question())
        account = host.gateway.close(host.sessions[0])
    (answered,) = host.answered()
    assert (reply.status, answered.met, answered.fault) == (status, met, fault)
    assert answered.retries == max(0, len(met) - (status != 200)), "the tries after the first"
    assert (account.evidence.fault, account.evidence.answers) == (fault, int(status == 200 and fault is None))
    if fault is None and status == 200:
        assert answered.usd == (None if "unreachable" in met else pytest.approx(EACH)), "who hung up may have charged"


def test_a_fault_is_the_same_when_it_is_replayed(tmp_path: Path) -> None:
    with serve(lambda _: Fail(529)) as provider, hosted(tmp_path, provider.url, record=tmp_path / "recording") as host:
        ask(host.open(), question())
        first = host.gateway.close(host.sessions[0]).evidence.fault
    with hosted(tmp_path / "again", replay=tmp_path / "recording") as host:
        ask(host.open(), question())
        assert host.gateway.close(host.sessions[0]).evidence.fault == first
    assert first == "529 scripted_error"
