"""Providers that requests go to: each model's traffic goes to its own provider, with that provider's credentials."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from scylla_gha.gateway.limiter import Limiters
from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import InvalidRequestError, Provider
from scylla_gha.providers.credentials import TokenSource


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider, and what all requests to it share.

    Attributes:
        access: its address and credentials; None: it may not be asked.
        tokens: source of tokens for the run's identity; None: it is asked with a key or a bearer token.
        has_answered: it has answered any request.
    """

    name: str
    provider: Provider
    access: ProviderAccess | None
    tokens: TokenSource | None
    limiters: Limiters = field(default_factory=Limiters)
    has_answered: asyncio.Event = field(default_factory=asyncio.Event)


class Upstreams:
    """All providers, by the paths of their requests. Providers that share a path read its requests alike."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._providers = {model.id: model.provider for model in settings.models}
        self._by_path: defaultdict[str, list[Upstream]] = defaultdict(list)
        for name, provider in PROVIDERS.items():
            access = settings.access_of(name)
            federation = access.federation if access else None
            tokens = provider.token_source(federation, access.base_url) if access and federation else None
            for path in provider.routes:
                self._by_path[path].append(Upstream(name, provider, access, tokens))

    @property
    def paths(self) -> Iterable[str]:
        """The paths of requests to models."""
        return self._by_path.keys()

    def reader(self, path: str) -> Provider:
        """Return a provider that reads the requests of a path."""
        return self._by_path[path][0].provider

    def choose(self, path: str, name: str) -> Upstream:
        """Return the provider of a model; of a model that is not listed, the first of the path that may be asked.

        Raises:
            InvalidRequestError: the model's provider has no such path.
        """
        upstreams, provider = self._by_path[path], self._providers.get(name)
        if provider is None:
            return next((upstream for upstream in upstreams if upstream.access), upstreams[0])
        upstream = next((upstream for upstream in upstreams if upstream.name == provider), None)
        if upstream is None:
            raise InvalidRequestError(f"the model {name} is of the provider {provider}, which has no {path}")
        return upstream
