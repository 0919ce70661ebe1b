"""Providers that requests go to, each with its credentials, and rate limiters of models that all sessions share.

A 429 pauses every session that requests the same model. If only one session is refused, its own request may be the
cause: other sessions wait a few seconds at most, and as long as required once a second session is refused. After a
refusal half as many requests run at a time, and one more after each success. Every session has an equal share of them,
at least one. Headers of successful responses that state an exhausted limit cause a pause as well. Token counts have
separate limits, and an exhausted account pauses all models.
"""

import asyncio
import contextlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import ApiStyle, InvalidRequestError, RateLimit
from scylla_gha.providers.credentials import TokenSource

_FIRST_BACKOFF_SECONDS: Final = 1.0
_MAX_BACKOFF_SECONDS: Final = 60.0
_OTHERS_SECONDS: Final = 5.0  # that other sessions wait if only one was refused
_CHECK_SECONDS: Final = 0.5  # between checks whether the client has left
_MAX_LIMITERS: Final = 64  # then idle ones are dropped; clients choose the models' names


@dataclass(slots=True)
class Pause:
    """The end of a pause, in the time of the event loop."""

    until: float = 0.0

    def extend(self, seconds: float) -> None:
        """Pause for at least this long from now."""
        if seconds > 0:
            self.until = max(self.until, _now() + seconds)


_NO_PAUSE: Final = Pause()


@dataclass(frozen=True, slots=True)
class RequestSlot:
    """Permission for one request: its session, and the wave in which it is sent."""

    session: str
    wave: int


class Limiters:
    """The limiters of one key, by model and by kind (answers or counts of tokens). Not thread-safe."""

    def __init__(self) -> None:
        self._limiters: dict[tuple[str, bool], Limiter] = {}
        self._subscription = {counting: Pause() for counting in (False, True)}

    def of(self, model: str, *, counting: bool) -> "Limiter":
        """Return the limiter of a model's requests for answers, or of its counts of tokens."""
        key = (model, counting)
        if key not in self._limiters:
            if len(self._limiters) >= _MAX_LIMITERS:
                self._limiters = {name: limiter for name, limiter in self._limiters.items() if not limiter.idle}
            self._limiters[key] = Limiter(self._subscription[counting])
        return self._limiters[key]


@dataclass
class Limiter:
    """The limiter of one model. `subscription` is the account's pause, shared with the other models."""

    subscription: Pause = field(default_factory=Pause)
    _shared_pause: Pause = field(default_factory=Pause)
    _refused: dict[str, Pause] = field(default_factory=dict)  # by session
    _backoff: float = _FIRST_BACKOFF_SECONDS
    _width: int | None = None  # concurrent requests; None: unlimited
    _wave: int = 1  # number of reductions; a refusal of a request sent before the last one causes no other
    _open: Counter[str] = field(default_factory=Counter)  # by session
    _waiting: Counter[str] = field(default_factory=Counter)  # by session
    _served: dict[str, int] = field(default_factory=dict)  # the order in which sessions last got a slot
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def idle(self) -> bool:
        """Tell if the limiter has no pause, no limit and no requests."""
        is_paused = any(pause.until > _now() for pause in (self._shared_pause, *self._refused.values()))
        return not (is_paused or self._width or self._open or self._waiting)

    async def enter(
        self, patience: float, session: str = "", is_gone: Callable[[], bool] = lambda: False
    ) -> RequestSlot | None:
        """Wait for a slot; None if it would take longer than `patience` seconds, or once the client `is_gone`."""
        deadline = _now() + patience
        self._waiting[session] += 1
        try:
            while (wait := self._wait(session)) > 0:
                if is_gone() or _now() + (wait if wait < float("inf") else 0) > deadline:
                    return None
                await self._sleep(min(wait, deadline - _now(), _CHECK_SECONDS))
        finally:
            _decrement(self._waiting, session)
            self._notify()
        self._open[session] += 1
        self._served[session] = max(self._served.values(), default=0) + 1
        return RequestSlot(session, self._wave)

    async def leave(self, limit: RateLimit, slot: RequestSlot) -> bool:
        """Free a slot, and apply the rate limit of the response; return True if the request should be sent again."""
        self.subscription.extend(limit.account_seconds)
        if limit.is_refusal:
            self._step_back(limit.retry_after, slot)
        elif limit.status is not None:
            self._backoff = _FIRST_BACKOFF_SECONDS
            self._width = None if self._width is None else self._width + 1
            self._shared_pause.extend(limit.exhausted_seconds)
        _decrement(self._open, slot.session)
        if slot.session not in self._open and slot.session not in self._waiting:
            self._served.pop(slot.session, None)
        self._notify()
        return limit.is_refusal

    def _step_back(self, seconds: float | None, slot: RequestSlot) -> None:
        """Pause, and halve the number of concurrent requests, once for all refused requests that were sent together."""
        jitter = random.uniform(0.75, 1.25)  # noqa: S311 it only spreads requests
        # A wait of 0, or until a past date, would send the request again at once, endlessly.
        self._pause(slot.session, seconds or self._backoff * jitter)
        if slot.wave == self._wave:
            self._wave += 1
            self._backoff = min(self._backoff * 2, _MAX_BACKOFF_SECONDS)
            self._width = max(1, (self._width or self._open.total()) // 2)

    def _pause(self, session: str, seconds: float) -> None:
        """Pause the refused session; pause the others as long if one of them was refused too, else a few seconds."""
        self._refused = {name: pause for name, pause in self._refused.items() if pause.until > _now()}
        self._shared_pause.extend(seconds if self._refused.keys() - {session} else min(seconds, _OTHERS_SECONDS))
        self._refused.setdefault(session, Pause()).extend(seconds)

    def _wait(self, session: str) -> float:
        """Return the seconds until a slot may be free; infinity if another request has to end first."""
        pause = self._paused_seconds(session)
        if pause > 0:
            return pause
        return 0.0 if self._width is None or self._next(self._width) == session else float("inf")

    def _paused_seconds(self, session: str) -> float:
        session_pause = self._refused.get(session, _NO_PAUSE)
        return max(self._shared_pause.until, self.subscription.until, session_pause.until) - _now()

    def _next(self, width: int) -> str | None:
        """Return the next session: fewest open requests first, then the longest time since its last slot."""
        share = max(1, width // len(self._open.keys() | self._waiting.keys()))
        free = (name for name in self._waiting if self._open[name] < share and self._paused_seconds(name) <= 0)
        return min(free, key=lambda name: (self._open[name], self._served.get(name, 0)), default=None)

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _sleep(self, seconds: float) -> None:
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.001)):
                await changed.wait()


def _decrement(counts: Counter[str], session: str) -> None:
    counts[session] -= 1
    if not counts[session]:
        del counts[session]


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider's API style with access, tokens and limiters, which all requests share.

    Attributes:
        access: address and credentials; None: the provider is not used.
        tokens: source of tokens for the run's identity; None: requests have a key or a bearer token.
        has_answered: set after the first successful answer.
    """

    name: str
    style: ApiStyle
    access: ProviderAccess | None
    tokens: TokenSource | None
    limiters: Limiters = field(default_factory=Limiters)
    has_answered: asyncio.Event = field(default_factory=asyncio.Event)


class Upstreams:
    """All providers, by the routes of their requests. Providers that share a route read its requests alike."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._providers = {model.id: model.provider for model in settings.models}
        self._by_route: defaultdict[str, list[Upstream]] = defaultdict(list)
        for name, provider in PROVIDERS.items():
            access = settings.access_of(name)
            federation = access.federation if access else None
            tokens = provider.token_source(federation, access.base_url) if access and federation else None
            for style in provider.styles.values():
                for route in style.routes:
                    self._by_route[route].append(Upstream(name, style, access, tokens))

    @property
    def routes(self) -> Iterable[str]:
        """The routes of requests to models."""
        return self._by_route.keys()

    @property
    def lists(self) -> dict[str, ApiStyle]:
        """Styles that have lists of models, by the routes of the lists."""
        styles = [upstreams[0].style for upstreams in self._by_route.values()]
        return {route: style for style in reversed(styles) for route in style.list_routes}

    def style(self, route: str) -> ApiStyle:
        """Return the style of the requests of a route."""
        return self._by_route[route][0].style

    def choose(self, route: str, name: str) -> Upstream:
        """Return the provider of a model; for an unlisted model, the first provider of the route with access.

        Raises:
            InvalidRequestError: the model's provider has no such route.
        """
        upstreams, provider = self._by_route[route], self._providers.get(name)
        if provider is None:
            return next((upstream for upstream in upstreams if upstream.access), upstreams[0])
        upstream = next((upstream for upstream in upstreams if upstream.name == provider), None)
        if upstream is None:
            raise InvalidRequestError(f"the provider {provider} of the model {name} has no {route}")
        return upstream
