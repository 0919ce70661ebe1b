"""Shared rate limiters: a 429 pauses every session that asks the same model, and slots are shared out fairly.

Where only one session is refused, its request may be why: the others wait for a few seconds at most, and for as long as
it was told once another one of them is refused, too. After a refusal half as many requests are let out at a time, one
more after each that is let through. Every session has an equal part of them, at least one: what one has out takes no
slot of another. Answers that are no refusals tell as well, in their headers, when nothing is left. Counts of tokens
have limits of their own, and a subscription that is used up pauses all models.
"""

import asyncio
import contextlib
import datetime
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 60.0
_OTHERS_SECONDS: Final = 5.0  # that other sessions wait where only one was refused
_LOOK_SECONDS: Final = 0.5  # a client that has left wakes nobody who waits
_TOO_MANY: Final = 429
_OVERLOADED: Final = 529
_PREFIX: Final = "anthropic-ratelimit-"
_KINDS: Final = ("requests", "tokens", "input-tokens", "output-tokens")  # each with -remaining and -reset
_SUBSCRIPTION: Final = "unified"  # a subscription's windows: -status, and -reset in seconds of Unix time
_MOST_MODELS: Final = 64  # limiters that are kept when idle; clients choose the names


@dataclass(slots=True)
class Hold:
    """Until when nobody asks, in the time of the event loop."""

    until: float = 0.0

    def extend(self, seconds: float) -> None:
        """Hold for at least so long from now on."""
        if seconds > 0:
            self.until = max(self.until, _now() + seconds)


_FREE: Final = Hold()


@dataclass(frozen=True, slots=True)
class Pass:
    """Leave for one request: whose it is, and with which wave it goes out."""

    session: str
    wave: int


class Limiters:
    """The limiters of one key, by model; those of counts of tokens apart. Not for threads: one event loop."""

    def __init__(self) -> None:
        self._limiters: dict[tuple[str, bool], Limiter] = {}
        self._subscription = {counting: Hold() for counting in (False, True)}

    def of(self, model: str, *, counting: bool) -> "Limiter":
        """The limiter of a model's requests for answers, or of its counts of tokens."""
        key = (model, counting)
        if key not in self._limiters:
            if len(self._limiters) >= _MOST_MODELS:
                self._limiters = {known: each for known, each in self._limiters.items() if not each.idle}
            self._limiters[key] = Limiter(self._subscription[counting])
        return self._limiters[key]


@dataclass
class Limiter:
    """The limit of one model. `subscription` is shared with the other models."""

    subscription: Hold = field(default_factory=Hold)
    _hold: Hold = field(default_factory=Hold)
    _refused: dict[str, Hold] = field(default_factory=dict)  # by session
    _backoff: float = _FIRST_SECONDS
    _width: int | None = None  # requests out at a time; None: as many as there are
    _wave: int = 1  # counts steps back: what was let out before one and is refused after it is no further one
    _out: Counter[str] = field(default_factory=Counter)  # by session
    _waiting: Counter[str] = field(default_factory=Counter)  # by session
    _served: dict[str, int] = field(default_factory=dict)  # the order in which sessions were last let out
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def idle(self) -> bool:
        """Whether nobody would notice if it were forgotten."""
        is_held = any(hold.until > _now() for hold in (self._hold, *self._refused.values()))
        return not (is_held or self._width or self._out or self._waiting)

    async def enter(
        self, patience: float, session: str = "", is_gone: Callable[[], bool] = lambda: False
    ) -> Pass | None:
        """Wait for leave to ask; None if it would take longer than `patience` seconds, or once the client `is_gone`."""
        deadline = _now() + patience
        self._waiting[session] += 1
        try:
            while (wait := self._wait(session)) > 0:
                if is_gone() or _now() + (wait if wait < float("inf") else 0) > deadline:
                    return None
                await self._sleep(min(wait, deadline - _now(), _LOOK_SECONDS))
        finally:
            _less(self._waiting, session)
            self._notify()
        self._out[session] += 1
        self._served[session] = max(self._served.values(), default=0) + 1
        return Pass(session, self._wave)

    async def leave(self, status: int | None, headers: Mapping[str, str], leave: Pass) -> bool:
        """The answer's head is there (None: there is none); True where the same should be asked again after a wait."""
        told = retry_after(headers)
        used_up = subscription_used_up_for(headers) if status == _TOO_MANY else 0.0
        self.subscription.extend(used_up)
        if told is None:
            told = used_up or None
        again = status == _TOO_MANY or (status == _OVERLOADED and told is not None)
        if again:
            self._step_back(told, leave)
        elif status is not None:
            self._backoff = _FIRST_SECONDS
            self._width = None if self._width is None else self._width + 1
            self._hold.extend(exhausted_for(headers))
        _less(self._out, leave.session)
        if leave.session not in self._out and leave.session not in self._waiting:
            self._served.pop(leave.session, None)
        self._notify()
        return again

    def _step_back(self, told: float | None, leave: Pass) -> None:
        """Requests that were out together and are all refused are one step back, not many."""
        self._pause(leave.session, told if told is not None else self._backoff * random.uniform(0.75, 1.25))  # noqa: S311 jitter
        if leave.wave == self._wave:
            self._wave += 1
            self._backoff = min(self._backoff * 2, _LONGEST_SECONDS)
            self._width = max(1, (self._width or self._out.total()) // 2)

    def _pause(self, session: str, seconds: float) -> None:
        """Pause the session that was refused, and the others: for a moment, unless one of them is refused as well."""
        self._refused = {each: hold for each, hold in self._refused.items() if hold.until > _now()}
        self._hold.extend(seconds if self._refused.keys() - {session} else min(seconds, _OTHERS_SECONDS))
        self._refused.setdefault(session, Hold()).extend(seconds)

    def _wait(self, session: str) -> float:
        """Seconds until it is worth asking again; infinity: until another request is through."""
        held = self._held(session)
        if held > 0:
            return held
        return 0.0 if self._width is None or self._next(self._width) == session else float("inf")

    def _held(self, session: str) -> float:
        own = self._refused.get(session, _FREE)
        return max(self._hold.until, self.subscription.until, own.until) - _now()

    def _next(self, width: int) -> str | None:
        """Of the sessions that may ask, the one with the fewest requests out; then the one let out longest ago."""
        part = max(1, width // len(self._out.keys() | self._waiting.keys()))
        free = (each for each in self._waiting if self._out[each] < part and self._held(each) <= 0)
        return min(free, key=lambda each: (self._out[each], self._served.get(each, 0)), default=None)

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _sleep(self, seconds: float) -> None:
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.001)):
                await changed.wait()


def _less(counts: Counter[str], session: str) -> None:
    counts[session] -= 1
    if not counts[session]:
        del counts[session]


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
