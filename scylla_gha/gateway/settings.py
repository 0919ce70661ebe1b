"""Settings of the gateway and of its sessions; they are passed over a pipe and loopback, never in a file."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import Field

from scylla_gha.egress_proxy import NETWORK_LOG, EgressPolicy, is_loopback
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.evidence import OTHER_API, UNREACHABLE, WINDOW_ERRORS
from scylla_gha.model import Record, Text
from scylla_gha.model.experiment import ModelKnobs
from scylla_gha.model.safety_net import GuardedTool
from scylla_gha.model.traffic import ModelInfo, Role, StopRule, ToolWatch
from scylla_gha.providers import PROVIDERS, missing_key
from scylla_gha.providers.base import Circumstances, Provider
from scylla_gha.providers.credentials import Credentials, Federation
from scylla_gha.providers.openai import NO_CREDIT

CONTROL_HEADER: Final = "x-scylla-control"  # the header of the secret that opens and closes sessions
_MISSING_STATUSES: Final = ("404", "405")
_REJECTED_STATUSES: Final = ("401", "403")


class ProviderAccess(Record):
    """Address and credentials of a provider."""

    provider: Text
    upstream: Annotated[str, Field(description="Base URL of the API; empty: the provider's default")] = ""
    variable: Annotated[str, Field(description="Environment variable with the credentials")] = ""
    api_key: Annotated[str | None, Field(repr=False)] = None
    bearer: Annotated[str | None, Field(repr=False, description="OAuth or proxy token, if there is no key")] = None
    federation: Annotated[Federation | None, Field(description="Exchange of the run's identity for a token")] = None

    @classmethod
    def of(cls, provider: str, environ: Mapping[str, str]) -> Self | None:
        """Return the access to a provider that an environment gives; None if it gives none.

        Raises:
            ConfigError: the address is not one, or a key would be sent to it unencrypted.
        """
        if missing_key(provider, environ) is not None:
            return None
        api = PROVIDERS[provider]
        credentials = api.credentials(environ)
        keys = (name for name in api.credential_variables if environ.get(name))
        variables = (*keys, *api.federation_variables, api.base_url_variable)
        access = cls(
            provider=provider,
            upstream=environ.get(api.base_url_variable, ""),
            variable=variables[0],
            api_key=credentials.api_key,
            bearer=credentials.bearer,
            federation=credentials.federation,
        )
        access._require_safe_address()
        return access

    def _require_safe_address(self) -> None:
        variable = self.api.base_url_variable
        try:
            parts = urlsplit(self.base_url)
            host = parts.hostname
        except ValueError:
            parts, host = urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not host:
            raise ConfigError(
                f"{variable}: {self.base_url!r} is not an address; write it with http:// or https://, such as "
                "https://api.example.com/v1"
            )
        if parts.scheme == "http" and not is_loopback(host) and (self.secrets or self.federation):
            raise ConfigError(
                f"{variable}: {self.base_url} would get the value of {self.variable} unencrypted; use https, or reach "
                "the server by an address of this machine, such as a tunnel of ssh -L; or unset the key"
            )

    @property
    def api(self) -> Provider:
        """The provider."""
        return PROVIDERS[self.provider]

    @property
    def base_url(self) -> str:
        """Address of the provider's API."""
        return (self.upstream or self.api.base_url).rstrip("/")

    @property
    def is_subscription(self) -> bool:
        """Tell if a subscription pays, so that costs are list prices."""
        return not self.api_key and self.api.is_subscription(self.bearer)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not be stored anywhere."""
        identity_token = self.federation.token if self.federation else None
        return tuple(value for value in (self.api_key, self.bearer, identity_token) if value)

    def credentials(self, token: str | None) -> Credentials:
        """Return the credentials of a request; `token` comes from the exchange of the run's identity."""
        return Credentials(self.api_key, self.bearer or token, self.federation)

    def too_long(self, error: str) -> str | None:
        """Return what to do if the first request is longer than the context window; None for other errors."""
        if error not in WINDOW_ERRORS:
            return None
        return (
            f"the agent's first request is longer than the context window at {self.base_url} ({error}); start the "
            "server with a larger one, or use an agent with a shorter prompt"
        )

    def dead_end(self, fault: str) -> str | None:
        """Return why all further requests will fail too; None if the next one may succeed."""
        if fault.startswith(UNREACHABLE):
            advice = f"check {self.api.base_url_variable}" if self.upstream else "check the network, or HTTPS_PROXY"
            return f"{self.upstream or self.api.base_url} cannot be reached; {advice}"
        if NO_CREDIT in fault:
            return f"the account of {self.variable} at {self.provider} has no credit left ({fault}); add some"
        if fault == OTHER_API and self.upstream:
            return f"{self.base_url} answers, but not in the agent's API; check {self.api.base_url_variable}"
        if fault.startswith(_MISSING_STATUSES) and self.upstream:
            return (
                f"{self.base_url} has no such model, or does not serve the agent's API ({fault}); check "
                f"{self.api.base_url_variable} and the model's id"
            )
        return self._rejection(fault) if fault.startswith(_REJECTED_STATUSES) else None

    def _rejection(self, fault: str) -> str:
        if not (self.api_key or self.bearer or self.api.needs_key):
            return f"{self.base_url} needs a key ({fault}); set {self.api.credential_variables[0]}"
        return f"{self.upstream or self.api.base_url} rejects the value of {self.variable} ({fault}); correct it"


class GatewaySettings(Record):
    """Settings of a gateway: providers with credentials, prices and budgets.

    `record` and `replay` are folders of recordings; with `replay` no provider is asked and no key is needed.
    """

    access: Annotated[tuple[ProviderAccess, ...], Field(description="Providers with credentials")] = ()
    models: Annotated[tuple[ModelInfo, ...], Field(description="Models; the price of any other is unknown")] = ()
    knobs: dict[Role, ModelKnobs] = Field(default_factory=dict)
    experiment_usd: Annotated[float | None, Field(ge=0, description="Budget of all roles in USD")] = None
    role_usd: dict[Role, float] = Field(default_factory=dict, description="Budgets in USD, by role")
    judge_reserves_usd: dict[str, float] = Field(default_factory=dict, description="USD reserved for judges, by cell")
    spent_usd: dict[Role, float] = Field(default_factory=dict, description="USD spent so far, by role")
    record: Path | None = None
    replay: Path | None = None
    hidden: Annotated[tuple[str, ...], Field(repr=False, description="Other values that must not be stored")] = ()
    rate_limit_seconds: Annotated[float, Field(ge=0, description="Maximum wait for a rate limit in seconds")] = 300
    retries: Annotated[int, Field(ge=0, description="Number of retries after a 5xx or a failed connection")] = 3
    retry_seconds: Annotated[float, Field(ge=0, description="Seconds before the first retry; later pauses double")] = (
        0.5
    )
    drain_seconds: Annotated[
        float, Field(ge=0, description="Maximum seconds to finish open answers when a session is closed")
    ] = 15

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not be stored anywhere."""
        return (*(secret for access in self.access for secret in access.secrets), *self.hidden)

    @classmethod
    def local(cls, url: str) -> Self:
        """Return settings that send all requests to a server on this machine, without a key."""
        access = tuple(ProviderAccess(provider=name, upstream=url) for name in PROVIDERS)
        return cls(access=access, retries=0)

    def provider_of(self, model: str | None) -> str:
        """Return the name of a model's provider; for an unlisted model, the first provider with access."""
        listed = next((info.provider for info in self.models if info.id == model), None)
        return listed or next((access.provider for access in self.access), next(iter(PROVIDERS)))

    def access_of(self, provider: str) -> ProviderAccess | None:
        """Return the access to a provider; None if there are no credentials for it."""
        return next((access for access in self.access if access.provider == provider), None)

    def is_subscription(self, models: Iterable[str | None]) -> bool:
        """Tell if a subscription pays for one of these models, so that costs are list prices."""
        accesses = (self.access_of(self.provider_of(model)) for model in models)
        return self.replay is None and any(access.is_subscription for access in accesses if access)


class GuardSettings(Record):
    """Tools whose calls the gateway judges, with the agent's folders as the agent names them."""

    tools: dict[str, GuardedTool]
    workspace: Text
    home: str


class Session(Record):
    """One role's requests in one attempt of a cell.

    `paths` maps folders that differ from run to run to fixed aliases (also in a derived spelling, such as the CLI's
    folder name for a project): recordings have the aliases, and a replay puts this run's folders in their place. An
    alias should be unlikely in any text, such as `/scylla-workspace`, since text that equals one is replaced as well.
    """

    cell: Text
    role: Role
    journal: Annotated[Path, Field(description="Traffic log of the attempt; requests already in it count")]
    budget_usd: Annotated[float | None, Field(ge=0)] = None
    share_usd: Annotated[
        float | None, Field(ge=0, description="Share of the shared budgets in USD; a trial above it caused its refusal")
    ] = None
    budget_tokens: Annotated[int | None, Field(gt=0, description="Maximum number of tokens of all kinds")] = None
    turns: Annotated[int | None, Field(gt=0, description="Maximum number of turns of the main conversation")] = None
    requests: Annotated[int | None, Field(gt=0, description="Maximum number of requests for answers")] = None
    models: Annotated[tuple[str, ...] | None, Field(description="Models that may be requested; None: any")] = None
    server_tools: Annotated[tuple[str, ...], Field(description="Provider's tools that may be used")] = ()
    first_request: Annotated[Path | None, Field(description="File for the body of the first request")] = None
    watch: Annotated[ToolWatch, Field(description="Tool calls to record in the log")] = ToolWatch()
    stop: Annotated[
        StopRule | None, Field(description="Calls at which the session ends; None: it ends with the agent")
    ] = None
    guard: Annotated[
        GuardSettings | None, Field(description="Tools whose calls the safety net judges; None: it judges none here")
    ] = None
    paths: dict[str, str] = Field(default_factory=dict)
    circumstances: Annotated[
        tuple[tuple[Text, str], ...],
        Field(
            description="Regular expressions of texts about time and machine that the agent CLI writes into requests, "
            "each with the text that replaces it in a request's identity; they are searched in the request's JSON"
        ),
    ] = ()
    egress: Annotated[EgressPolicy, Field(description="Hosts that may be reached besides the model's")] = EgressPolicy()
    socket: Annotated[
        Path | None, Field(description="Unix socket of this session, in a folder that only the harness can enter")
    ] = None
    recording: Annotated[str | None, Field(description="Name of the recording; None: <cell>--<role>")] = None

    @property
    def name(self) -> str:
        """Unique name of the session: the path of its log."""
        return str(self.journal)

    def circumstance_patterns(self) -> Circumstances:
        """Return the circumstances with compiled expressions.

        Raises:
            ConfigError: an expression is invalid.
        """
        try:
            return tuple((re.compile(pattern.encode()), text.encode()) for pattern, text in self.circumstances)
        except re.error as error:
            raise ConfigError(f"a circumstance of the agent is not a regular expression: {error}") from None

    @property
    def network(self) -> Path:
        """Path of the log of contacted hosts."""
        return self.journal.with_name(NETWORK_LOG)

    @property
    def recording_file(self) -> str:
        """The name of the recording's file."""
        return f"{self.recording or f'{self.cell}--{self.role}'}.jsonl"


class JudgeReserveRequest(Record):
    """A control request that reserves a part of the experiment's budget for the judges of a cell; 0 frees it."""

    cell: Text
    usd: Annotated[float, Field(ge=0)]


class OpenSessionRequest(Record):
    """A control request that opens a session with this dummy key."""

    token: Annotated[str, Field(repr=False, min_length=16)]
    session: Session


class GatewayStart(Record):
    """The one line on the gateway's standard input."""

    settings: GatewaySettings
    control: Annotated[str, Field(repr=False, min_length=16, description="secret that control requests must send")]
