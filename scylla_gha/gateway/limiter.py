"""The provider's rate limit, shared by all lanes and roles of a key: who is told to wait makes all wait.

After a refusal half as many requests are let out at a time, one more after each that is let through, so the lanes that
waited do not all come back at once. Answers that are no refusals tell as well, in their headers, when nothing is left.
"""

import asyncio
import datetime
import random
from collections.abc import Mapping
from typing import Final

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 60.0
_TOO_MANY: Final = 429
_OVERLOADED: Final = 529
_PREFIX: Final = "anthropic-ratelimit-"
_KINDS: Final = ("requests", "tokens", "input-tokens", "output-tokens")  # each with -remaining and -reset
_SUBSCRIPTION: Final = "unified"  # a subscription's windows: -status, and -reset in seconds of Unix time


class Limiter:
    """One key's limit. Not for threads: one event loop."""

    def __init__(self) -> None:
        self._hold_until = 0.0
        self._backoff = _FIRST_SECONDS
        self._width: int | None = None  # requests out at a time; None: as many as there are
        self._out = 0
        self._wave = 1  # counts steps back: what was let out before one and is refused after it is no further one
        self._changed = asyncio.Condition()

    async def enter(self, patience: float) -> int:
        """Wait for leave to ask: the wave it goes out with, or 0 where it would take longer than `patience` seconds."""
        deadline = _now() + patience
        while (wait := self._wait()) > 0:
            if _now() + (wait if wait < float("inf") else 0) > deadline:
                return 0
            await self._sleep(min(wait, deadline - _now()))
        self._out += 1
        return self._wave

    async def leave(self, status: int | None, headers: Mapping[str, str], wave: int) -> bool:
        """The answer's head is there (None: there is none); True where the same should be asked again after a wait."""
        self._out -= 1
        told = retry_after(headers)
        if told is None and status == _TOO_MANY:
            told = subscription_used_up_for(headers) or None
        again = status == _TOO_MANY or (status == _OVERLOADED and told is not None)
        if again:
            self._step_back(told, is_first=wave == self._wave)
        elif status is not None:
            self._backoff = _FIRST_SECONDS
            self._width = None if self._width is None else self._width + 1
            self._hold(exhausted_for(headers))
        async with self._changed:
            self._changed.notify_all()
        return again

    def _step_back(self, told: float | None, *, is_first: bool) -> None:
        """Requests that were out together and are all refused are one step back, not many."""
        self._hold(told if told is not None else self._backoff * random.uniform(0.75, 1.25))  # noqa: S311 jitter
        if is_first:
            self._wave += 1
            self._backoff = min(self._backoff * 2, _LONGEST_SECONDS)
            self._width = max(1, (self._width or self._out + 1) // 2)

    def _wait(self) -> float:
        """Seconds until it is worth asking again; infinity: until another request is through."""
        held = self._hold_until - _now()
        if held > 0:
            return held
        return float("inf") if self._width is not None and self._out >= self._width else 0.0

    def _hold(self, seconds: float) -> None:
        if seconds > 0:
            self._hold_until = max(self._hold_until, _now() + seconds)

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(seconds, 0.001)), self._changed:
                await self._changed.wait()
        except TimeoutError:
            pass


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that `retry-after` names; None where it is missing or no number."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None


def exhausted_for(headers: Mapping[str, str]) -> float:
    """Seconds until all limits are reset of which nothing is left (requests, or tokens of any kind); else 0.

    A minute at most: a limit is filled up all the time, and something of it is free long before its reset.
    """
    used_up = (kind for kind in _KINDS if headers.get(f"{_PREFIX}{kind}-remaining") == "0")
    longest = max((_until(headers.get(f"{_PREFIX}{kind}-reset", "")) for kind in used_up), default=0.0)
    return min(_LONGEST_SECONDS, longest)


def subscription_used_up_for(headers: Mapping[str, str]) -> float:
    """Seconds until a subscription takes requests again, where it has refused one; else 0. It may be hours.

    Of refusals only: an answer may come with it, which is then paid for beyond the subscription.
    """
    if headers.get(f"{_PREFIX}{_SUBSCRIPTION}-status") != "rejected":
        return 0.0
    return _until(headers.get(f"{_PREFIX}{_SUBSCRIPTION}-reset", ""))


def _until(reset: str) -> float:
    """Seconds until a time in RFC 3339 or in seconds of Unix time; 0 where it is past or no time."""
    now = datetime.datetime.now(datetime.UTC)
    if reset.isdecimal():
        return max(0.0, float(reset) - now.timestamp())
    try:
        at = datetime.datetime.fromisoformat(reset)
    except ValueError:
        return 0.0
    return 0.0 if at.tzinfo is None else max(0.0, (at - now).total_seconds())


def _now() -> float:
    return asyncio.get_running_loop().time()
