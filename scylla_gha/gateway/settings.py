"""Settings of the gateway and of its sessions; they are passed over a pipe and loopback, never in a file."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field

from scylla_gha.egress_proxy import EgressPolicy
from scylla_gha.egress_proxy.connections import NETWORK_LOG
from scylla_gha.gateway.evidence import UNREACHABLE
from scylla_gha.model import Record, Text
from scylla_gha.model.experiment import ModelKnobs
from scylla_gha.model.traffic import ModelInfo, Role
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import Credentials, Federation, Provider

CONTROL: Final = "x-scylla-control"  # the header of the secret that opens and closes sessions
_REJECTED: Final = ("401", "403")


class ProviderAccess(Record):
    """Address and credentials of a provider."""

    provider: Text
    upstream: Annotated[str, Field(description="base URL; the provider's own by default")] = ""
    variable: Annotated[str, Field(description="environment variable that gives the credentials")] = ""
    api_key: Annotated[str | None, Field(repr=False)] = None
    bearer: Annotated[str | None, Field(repr=False, description="instead of a key: an OAuth or proxy token")] = None
    federation: Annotated[Federation | None, Field(description="instead of either: by the run's identity")] = None

    @classmethod
    def of(cls, provider: str, environ: Mapping[str, str]) -> Self | None:
        """Return the access that an environment gives; None if it has no credentials of the provider."""
        api = PROVIDERS[provider]
        credentials = api.credentials(environ)
        if not credentials:
            return None
        variables = (*(name for name in api.credential_variables if environ.get(name)), *api.federation_variables)
        return cls(
            provider=provider,
            upstream=environ.get(api.base_url_variable, ""),
            variable=variables[0],
            api_key=credentials.api_key,
            bearer=credentials.bearer,
            federation=credentials.federation,
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
        """Tell if a subscription pays, so that USD are those of the price list."""
        return not self.api_key and self.api.is_subscription(self.bearer)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not be stored anywhere."""
        identity_token = self.federation.token if self.federation else None
        return tuple(value for value in (self.api_key, self.bearer, identity_token) if value)

    def credentials(self, token: str | None) -> Credentials:
        """Return what a request is sent with; `token` is what the run's identity was exchanged for."""
        return Credentials(self.api_key, self.bearer or token, self.federation)

    def dead_end(self, fault: str) -> str | None:
        """Return why every request would meet this fault; None if the next one may be answered."""
        if fault.startswith(UNREACHABLE):
            mend = f"check {self.api.base_url_variable}" if self.upstream else "check the network, or HTTPS_PROXY"
            return f"{self.upstream or self.api.base_url} cannot be reached; {mend}"
        if fault.startswith(_REJECTED):
            return f"{self.upstream or self.api.base_url} rejects what {self.variable} gives ({fault}); correct it"
        return None


class GatewaySettings(Record):
    """Settings of a gateway: providers with credentials, prices and budgets.

    `record` and `replay` are folders of recordings; with `replay` no provider is asked and no key is needed.
    """

    access: Annotated[tuple[ProviderAccess, ...], Field(description="the providers that may be asked")] = ()
    models: Annotated[tuple[ModelInfo, ...], Field(description="a model that is missing here has no known price")] = ()
    knobs: dict[Role, ModelKnobs] = Field(default_factory=dict)
    experiment_usd: Annotated[float | None, Field(ge=0, description="budget of all roles together")] = None
    role_usd: dict[Role, float] = Field(default_factory=dict, description="budgets by role")
    judge_reserves_usd: dict[str, float] = Field(default_factory=dict, description="for the judges of cells, by cell")
    spent_usd: dict[Role, float] = Field(default_factory=dict, description="what is spent of the budgets already")
    record: Path | None = None
    replay: Path | None = None
    hidden: Annotated[tuple[str, ...], Field(repr=False, description="other secrets of the harness")] = ()
    rate_limit_seconds: Annotated[float, Field(ge=0, description="how long a request may wait for a rate limit")] = 300
    retries: Annotated[int, Field(ge=0, description="how often it asks again after a 5xx, or without a connection")] = 3
    retry_seconds: Annotated[float, Field(ge=0, description="the first pause before that; each later one doubles")] = (
        0.5
    )
    drain_seconds: Annotated[
        float, Field(ge=0, description="how long an answer whose client is gone may take to tell its cost")
    ] = 15

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not be stored anywhere."""
        return (*(secret for access in self.access for secret in access.secrets), *self.hidden)

    @classmethod
    def local(cls, url: str) -> Self:
        """Return settings in which a server on this machine, which needs no key, stands for every provider."""
        access = tuple(ProviderAccess(provider=name, upstream=url) for name in PROVIDERS)
        return cls(access=access, retries=0)

    def provider_of(self, model: str | None) -> str:
        """Return the name of a model's provider; of a model that is not listed, the first that may be asked."""
        listed = next((info.provider for info in self.models if info.id == model), None)
        return listed or next((access.provider for access in self.access), next(iter(PROVIDERS)))

    def access_of(self, provider: str) -> ProviderAccess | None:
        """Return the access to a provider; None if it may not be asked."""
        return next((access for access in self.access if access.provider == provider), None)

    def is_subscription(self, models: Iterable[str | None]) -> bool:
        """Tell if a subscription pays for one of these models, so that USD are those of the price list."""
        accesses = (self.access_of(self.provider_of(model)) for model in models)
        return self.replay is None and any(access.is_subscription for access in accesses if access)


class Session(Record):
    """One role's requests in one attempt of a cell.

    `paths` maps folders that differ from run to run to fixed aliases (also in a derived spelling, such as the CLI's
    folder name for a project): recordings have the aliases, and a replay puts this run's folders in their place. An
    alias should be unlikely in any text, such as `/scylla-workspace`, since text that equals one is replaced as well.
    """

    cell: Text
    role: Role
    journal: Annotated[Path, Field(description="the attempt's traffic.jsonl; what is in it already counts")]
    budget_usd: Annotated[float | None, Field(ge=0)] = None
    share_usd: Annotated[
        float | None, Field(ge=0, description="of shared budgets; once it is used up, their refusal is the trial's own")
    ] = None
    budget_tokens: Annotated[int | None, Field(gt=0, description="of all kinds together")] = None
    turns: Annotated[int | None, Field(gt=0, description="of the main conversation")] = None
    requests: Annotated[int | None, Field(gt=0, description="for answers, of all conversations")] = None
    models: Annotated[tuple[str, ...] | None, Field(description="that it may ask for; None: any")] = None
    server_tools: Annotated[tuple[str, ...], Field(description="the provider's tools that it may use")] = ()
    first_request: Annotated[Path | None, Field(description="where the body of the first one is stored")] = None
    paths: dict[str, str] = Field(default_factory=dict)
    egress: Annotated[EgressPolicy, Field(description="hosts beside the model's")] = EgressPolicy()
    socket: Annotated[
        Path | None, Field(description="of Unix, to serve this session on; its folder has to be the harness's alone")
    ] = None
    recording: Annotated[str | None, Field(description="the recording's name; None: <cell>--<role>")] = None

    @property
    def name(self) -> str:
        """The name that tells its requests from those of other sessions."""
        return str(self.journal)

    @property
    def network(self) -> Path:
        """The log of the hosts that it contacted."""
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
    control: Annotated[str, Field(repr=False, min_length=16, description="what a control request has to show")]
