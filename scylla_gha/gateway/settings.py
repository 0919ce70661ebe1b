"""What the gateway is told: once at its start, and for every lane; over a pipe and over loopback, never in a file."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from scylla_gha.gateway.federation import Federation
from scylla_gha.model.experiment import Knobs
from scylla_gha.model.pricing import Model
from scylla_gha.model.record import Record, Text
from scylla_gha.model.traffic import Role
from scylla_gha.proxy.journal import FILE
from scylla_gha.proxy.permit import Permit

_OAUTH_TOKEN: Final = "sk-ant-oat"  # noqa: S105 how the tokens of a subscription begin
ANTHROPIC: Final = "https://api.anthropic.com"
CONTROL: Final = "x-scylla-control"  # the header of the secret that opens and closes lanes


class Settings(Record):
    """A gateway: where it asks, with what key, at what prices, within which budgets.

    `record` and `replay` are folders of cassettes; with `replay` nothing is asked of a provider and no key is needed.
    """

    upstream: Text = ANTHROPIC
    api_key: Annotated[str | None, Field(repr=False)] = None
    bearer: Annotated[str | None, Field(repr=False, description="instead of a key: an OAuth or proxy token")] = None
    federation: Annotated[Federation | None, Field(description="instead of either: by the run's identity")] = None
    models: Annotated[tuple[Model, ...], Field(description="a model that is missing here has no known price")] = ()
    knobs: dict[Role, Knobs] = Field(default_factory=dict)
    experiment_usd: Annotated[float | None, Field(ge=0, description="budget of all roles together")] = None
    role_usd: dict[Role, float] = Field(default_factory=dict, description="budgets by role")
    kept_usd: dict[str, float] = Field(default_factory=dict, description="for the judges of cells, by cell")
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
    def is_subscription(self) -> bool:
        """Whether requests go on a subscription: what they cost in USD is then what the price list would ask."""
        live = self.replay is None and not self.api_key
        return live and bool(self.bearer and self.bearer.startswith(_OAUTH_TOKEN))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be found nowhere."""
        asking = self.federation.token if self.federation else None
        return tuple(each for each in (self.api_key, self.bearer, asking, *self.hidden) if each)


class Lane(Record):
    """One role's requests in one attempt of a cell.

    `paths` maps folders that differ from run to run to fixed names (also in a derived spelling, such as the CLI's
    folder name for a project): recordings hold the names, and a replay puts this run's folders in their place. Names
    should be unlikely in any text, such as `/scylla-workspace`, since a name that was there before is replaced as well.
    """

    cell: Text
    role: Role
    journal: Annotated[Path, Field(description="the attempt's traffic.jsonl; what it holds already counts")]
    budget_usd: Annotated[float | None, Field(ge=0)] = None
    share_usd: Annotated[
        float | None, Field(ge=0, description="of shared budgets; once it is used up, their refusal is the trial's own")
    ] = None
    budget_tokens: Annotated[int | None, Field(gt=0, description="of all kinds together")] = None
    turns: Annotated[int | None, Field(gt=0, description="of the main conversation")] = None
    requests: Annotated[int | None, Field(gt=0, description="for answers, of all conversations")] = None
    models: Annotated[tuple[str, ...] | None, Field(description="that it may ask for; None: any")] = None
    server_tools: Annotated[tuple[str, ...], Field(description="the provider's tools that it may use")] = ()
    first_request: Annotated[Path | None, Field(description="where the body of the first one is kept")] = None
    paths: dict[str, str] = Field(default_factory=dict)
    permit: Annotated[Permit, Field(description="hosts beside the model's; journalled beside `journal`")] = Permit()
    socket: Annotated[
        Path | None, Field(description="of Unix, to serve this lane on; its folder has to be the harness's alone")
    ] = None
    cassette: Annotated[str | None, Field(description="the recording's name; None: <cell>--<role>")] = None

    @property
    def session(self) -> str:
        """The name by which its requests are told from those of other lanes."""
        return str(self.journal)

    @property
    def network(self) -> Path:
        """The journal of the hosts that it sought."""
        return self.journal.with_name(FILE)

    @property
    def tape(self) -> str:
        """The name of the recording's file, without its suffix."""
        return self.cassette or f"{self.cell}--{self.role}"


class Keeping(Record):
    """Money of the experiment that is kept for the judges of a cell; 0 gives it back."""

    cell: Text
    usd: Annotated[float, Field(ge=0)]


class Opening(Record):
    """The request of the control endpoint: a lane, and the dummy key by which its requests are known."""

    token: Annotated[str, Field(repr=False, min_length=16)]
    lane: Lane


class Start(Record):
    """The one line on the gateway's standard input."""

    settings: Settings
    control: Annotated[str, Field(repr=False, min_length=16, description="what a control request has to show")]
