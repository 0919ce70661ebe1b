"""All wait together, and come back one after the other."""

import asyncio
import datetime
import time

import pytest

from scylla_gha.gateway.upstream import Limiter, Limiters, RequestSlot
from scylla_gha.providers.anthropic import (
    MessagesStyle,
    exhausted_seconds,
    subscription_exhausted_seconds,
)
from scylla_gha.providers.base import RateLimit

FIRST = RequestSlot("", 1)


def limit(status: int | None, headers: dict[str, str]) -> RateLimit:
    return RateLimit() if status is None else MessagesStyle().rate_limit(status, headers)


async def ask(limiter: Limiter, status: int | None, headers: dict[str, str], session: str = "") -> bool:
    """Send one request; return whether it should be sent again."""
    slot = await limiter.enter(9, session)
    assert slot
    return await limiter.leave(limit(status, headers), slot)


def run_seconds(work: object) -> float:
    began = time.monotonic()
    asyncio.run(work)  # type: ignore[arg-type]
    return time.monotonic() - began


def test_without_a_limit_nobody_waits() -> None:
    async def work() -> None:
        limiter = Limiter()
        assert all([await limiter.enter(0) for _ in range(300)])
        for status in (200, None, 529):
            assert not await limiter.leave(limit(status, {}), FIRST)

    assert run_seconds(work()) < 1


def test_one_refusal_makes_all_wait() -> None:
    async def work() -> None:
        limiter = Limiter()
        assert await ask(limiter, 429, {"retry-after": "0.3"})
        assert await limiter.enter(9)

    assert run_seconds(work()) >= 0.3


def test_refusals_of_one_wave_are_one_step_back_however_late_they_come() -> None:
    async def work() -> None:
        limiter = Limiter()
        leaves = [await limiter.enter(9) for _ in range(6)]
        for leave in leaves:
            assert leave
            assert await limiter.leave(limit(429, {}), leave)
            await asyncio.sleep(0.3)  # beyond the first wait, which is a second
        assert limiter._backoff == 2

    run_seconds(work())


def test_beyond_its_patience_nobody_waits() -> None:
    async def work() -> None:
        limiter = Limiter()
        assert await ask(limiter, 529, {"retry-after": "60"})
        assert not await limiter.enter(5)

    assert run_seconds(work()) < 4


def test_a_storm_passes_at_the_width_that_the_provider_takes() -> None:
    most = 0

    async def work() -> None:
        limiter, out = Limiter(), 0

        async def keep_asking() -> None:
            nonlocal out, most
            while True:
                leave = await limiter.enter(30)
                assert leave
                out += 1
                refuse = out > 3
                await asyncio.sleep(0.01)
                out -= 1
                if not await limiter.leave(limit(429 if refuse else 200, {"retry-after": "0.05"}), leave):
                    return
                most = max(most, limiter._width or 0)

        await asyncio.gather(*(keep_asking() for _ in range(16)))

    assert run_seconds(work()) < 15
    assert 1 <= most <= 16


def test_a_limit_that_is_used_up_is_waited_for() -> None:
    reset = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=0.5)

    async def work() -> None:
        limiter = Limiter()
        headers = {"anthropic-ratelimit-requests-remaining": "0",
                   "anthropic-ratelimit-requests-reset": reset.isoformat()}  # fmt: skip
        assert not await ask(limiter, 200, headers)
        assert await limiter.enter(9)
        assert datetime.datetime.now(datetime.UTC) >= reset

    run_seconds(work())


@pytest.mark.parametrize(
    ("remaining", "reset"),
    [("1", "2099-01-01T00:00:00Z"), ("0", "soon"), ("0", ""), ("0", "2001-01-01T00:00Z")],
)
def test_what_says_nothing_holds_nobody(remaining: str, reset: str) -> None:
    headers = {"anthropic-ratelimit-requests-remaining": remaining, "anthropic-ratelimit-requests-reset": reset}
    assert exhausted_seconds(headers) == 0


@pytest.mark.parametrize("reset", ["2099-01-01T00:00:00Z", "2099-01-01T00:00:00", "4070908800.5"])
def test_a_far_reset_is_waited_for_a_minute_at_most(reset: str) -> None:
    headers = {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": reset}
    assert exhausted_seconds(headers) == 60


LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")


def in_seconds(seconds: float) -> str:
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize("kind", LIMITS)
def test_any_limit_that_is_used_up_is_waited_for(kind: str) -> None:
    others = {f"anthropic-ratelimit-{each}-remaining": "1000" for each in LIMITS}
    resets = {f"anthropic-ratelimit-{each}-reset": in_seconds(50) for each in LIMITS}
    mine = {f"anthropic-ratelimit-{kind}-remaining": "0", f"anthropic-ratelimit-{kind}-reset": in_seconds(20)}
    assert 15 < exhausted_seconds({**others, **resets, **mine}) <= 20
    assert exhausted_seconds({**others, **resets}) == 0


def test_of_several_the_longest_wait_counts() -> None:
    headers = {f"anthropic-ratelimit-{kind}-remaining": "0" for kind in LIMITS}
    headers |= {f"anthropic-ratelimit-{kind}-reset": in_seconds(10 * n) for n, kind in enumerate(LIMITS)}
    assert 25 < exhausted_seconds(headers) <= 30


@pytest.mark.parametrize(
    ("status", "reset", "wait"),
    [
        ("rejected", "4102444800", True),
        ("rejected", "2099-01-01T00:00:00Z", True),
        ("allowed_warning", "4102444800", False),
        ("rejected", "soon", False),
        ("rejected", "", False),
        ("rejected", "1000000000", False),
    ],
)
def test_a_used_up_subscription_tells_when_it_takes_requests_again(status: str, reset: str, wait: bool) -> None:
    headers = {"anthropic-ratelimit-unified-status": status, "anthropic-ratelimit-unified-reset": reset}
    assert (subscription_exhausted_seconds(headers) > 3600) is wait
    assert subscription_exhausted_seconds({}) == 0


@pytest.mark.parametrize(("status", "again"), [(429, False), (200, True)])
def test_a_refused_subscription_is_not_waited_for_where_that_takes_hours(status: int, again: bool) -> None:
    headers = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": "4102444800"}

    async def work() -> None:
        limiter = Limiter()
        await ask(limiter, status, headers)
        assert bool(await limiter.enter(9)) is again

    assert run_seconds(work()) < 5


@pytest.mark.parametrize("after", ["0", "Thu, 01 Jan 2026 00:00:00 GMT"])
def test_a_refusal_whose_wait_is_over_already_is_not_repeated_without_end(after: str) -> None:
    async def work() -> None:
        limiter = Limiter()
        for _ in range(2):
            assert await ask(limiter, 429, {"retry-after": after})
        assert await limiter.enter(9)

    assert run_seconds(work()) > 2


def test_a_free_slot_is_for_the_session_with_the_fewest_requests_out() -> None:
    order: list[str] = []

    async def note_order(limiter: Limiter, session: str) -> None:
        leave = await limiter.enter(9, session)
        assert leave
        order.append(session)
        await asyncio.sleep(0)
        await limiter.leave(limit(None, {}), leave)

    async def work() -> None:
        limiter = Limiter()
        assert await ask(limiter, 429, {"retry-after": "0.2"}, "greedy")  # from now on one at a time
        await asyncio.gather(*(note_order(limiter, session) for session in ("greedy",) * 9 + ("a", "b")))

    run_seconds(work())
    assert {*order[:3]} == {"greedy", "a", "b"}, order


def test_who_gave_up_waiting_leaves_the_slot_to_others() -> None:
    async def work() -> None:
        limiter = Limiter()
        assert await ask(limiter, 429, {"retry-after": "0.001"}, "greedy")
        held = await limiter.enter(9, "greedy")
        assert held
        assert await limiter.enter(0.1, "greedy") is None
        later = asyncio.create_task(limiter.enter(9, "greedy"))
        await asyncio.sleep(0)
        await limiter.leave(limit(200, {}), held)
        assert await later

    assert run_seconds(work()) < 5


def test_what_a_session_has_out_takes_no_slot_of_another() -> None:
    async def work() -> None:
        limiter = Limiter()
        leaves = [await limiter.enter(9, "greedy") for _ in range(5)]
        assert leaves[0]
        assert await limiter.leave(limit(429, {"retry-after": "0.001"}), leaves[0])
        assert await limiter.enter(0.1, "greedy") is None, "its part is taken by its own"
        for session in ("a", "b"):
            assert await limiter.enter(0.1, session), "four of another are still out"

    run_seconds(work())


def test_a_session_that_is_refused_alone_waits_alone_until_another_is_refused_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scylla_gha.gateway.upstream._OTHERS_SECONDS", 0.2)

    async def work() -> None:
        limiter = Limiter()
        assert await ask(limiter, 429, {"retry-after": "60"}, "alone")
        assert await limiter.enter(0.1, "other") is None, "for a moment all wait"
        await ask(limiter, 200, {}, "other")
        assert await limiter.enter(9, "alone") is None
        assert not limiter.idle
        assert await ask(limiter, 429, {"retry-after": "60"}, "other")
        assert await limiter.enter(9, "third") is None, "two were refused: the limit is shared"

    assert run_seconds(work()) < 9


def test_who_is_gone_does_not_wait_on() -> None:
    async def work() -> None:
        limiter = Limiter()
        assert await ask(limiter, 429, {"retry-after": "60"})
        assert await limiter.enter(300, "", lambda: True) is None

    assert run_seconds(work()) < 30


def test_models_and_counts_of_tokens_have_limits_of_their_own_and_a_subscription_is_one() -> None:
    async def work() -> None:
        limiters = Limiters()
        await ask(limiters.of("a", counting=True), 429, {"retry-after": "60"})
        await ask(limiters.of("b", counting=False), 429, {"retry-after": "60"})
        assert await limiters.of("a", counting=False).enter(0)
        assert not await limiters.of("b", counting=False).enter(0)
        assert not await limiters.of("a", counting=True).enter(0)
        used_up = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": "4102444800"}
        await ask(limiters.of("c", counting=False), 429, used_up)
        assert not await limiters.of("a", counting=False).enter(9)
        assert await limiters.of("c", counting=True).enter(0)

    assert run_seconds(work()) < 5


def test_limiters_of_names_that_nobody_waits_for_are_forgotten() -> None:
    async def work() -> None:
        limiters = Limiters()
        held = limiters.of("held", counting=False)
        assert await ask(held, 429, {"retry-after": "60"})
        for number in range(1000):
            limiters.of(f"model-{number}", counting=False)
        assert len(limiters._limiters) <= 100
        assert limiters.of("held", counting=False) is held

    run_seconds(work())
