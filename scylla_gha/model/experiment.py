"""An experiment: a question put as scenarios x variants x agents x models x repetitions."""

from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, field_validator

from scylla_gha.model.record import Record, Slug, Text
from scylla_gha.model.scenario import Seconds
from scylla_gha.model.traffic import Role

SandboxName = Literal["docker", "bubblewrap", "host"]
SandboxWish = Literal["auto"] | SandboxName


_OF_A_CONTAINER: Final = {"memory_mb", "disk_mb", "processes", "cpus"}


_LATER: Final = ("tokens", "requests", "diff_files")  # came when there were keys already: not in them by default


class Limits(Record):
    """What a trial may use."""

    timeout_seconds: Annotated[Seconds | None, Field(description="instead of the scenario's own limit")] = None
    turns: Annotated[
        int | None,
        Field(gt=0, description="answers of the model in the main conversation; a further request is refused"),
    ] = None
    requests: Annotated[
        int | None, Field(gt=0, description="requests of all conversations, those of sub-agents and processes included")
    ] = None
    tokens: Annotated[
        int | None, Field(gt=0, description="input, output, cache read and write together; as usd, it refuses requests")
    ] = None
    usd: Annotated[float | None, Field(gt=0, description="model cost of a trial; a request above it is refused")] = None
    file_mb: Annotated[
        int, Field(gt=0, description="size of any one file that agent or check writes; at it, an output ends the trial")
    ] = 256
    diff_mb: Annotated[int, Field(gt=0, description="size of all files that the agent changed")] = 64
    diff_files: Annotated[
        int, Field(gt=0, description="files and folders that the agent added, without those that git ignores")
    ] = 20_000
    rate_limit_seconds: Annotated[float, Field(ge=0, description="how long a request may wait for a rate limit")] = 300
    api_retries: Annotated[int, Field(ge=0, description="how often the agent CLI repeats a failed request")] = 4
    provider_retries: Annotated[
        int, Field(ge=0, description="how often the gateway asks again after a 5xx, or where no provider is reached")
    ] = 3
    safety_net: Annotated[bool, Field(description="block the agent's destructive commands, in all arms alike")] = True
    memory_mb: Annotated[
        int, Field(ge=64, description="MiB of memory for a box's programs; in docker only, as the next three")
    ] = 4096
    disk_mb: Annotated[
        int, Field(ge=1, description="MiB of a box's workspace and HOME together, which are in memory; docker only")
    ] = 2048
    processes: Annotated[int, Field(ge=32, description="of a box at once, threads included; docker only")] = 512
    cpus: Annotated[
        float, Field(ge=0.1, description="cores that a box may use, as far as the machine has them; docker only")
    ] = 2.0
    free_disk_mb: Annotated[int, Field(ge=0, description="with less free space on a disk, nothing new starts")] = 1024

    def keyed(self, sandbox: SandboxName) -> dict[str, JsonValue]:
        """What of them can change what an agent does, for keys.

        A limit that is not set leaves no trace there, nor does one that does not hold in the sandbox.
        """
        unset = {name for name in _LATER if getattr(self, name) == Limits.model_fields[name].default}
        without = {"free_disk_mb", "provider_retries"} | unset
        return self.model_dump(mode="json", exclude=without | (set() if sandbox == "docker" else _OF_A_CONTAINER))


class Retry(Record):
    """How often, and after what pause, a trial is repeated that ended by a fault which is not the agent's."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    backoff_seconds: Annotated[float, Field(ge=0, description="the first pause; each later one is doubled")] = 10.0


class Knobs(Record):
    """Settings that are put into a role's requests where their model accepts them; None leaves a request as it is."""

    temperature: Annotated[float | None, Field(ge=0, le=1)] = None
    max_tokens: Annotated[int | None, Field(gt=0, description="of one answer, its thinking included")] = None

    def configured(self) -> dict[str, JsonValue]:
        """Those that are set, by the name that they have in a request."""
        return self.model_dump(exclude_none=True)


class ModelSettings(Record):
    """What the requests of agents and of judges carry; where a model refuses it, they stay as they are."""

    agent: Knobs = Knobs()
    judge: Knobs = Knobs()


class RoleBudgets(Record):
    """What agents and judges may spend, each by themselves; None: as much as the experiment may."""

    agent: Annotated[float | None, Field(gt=0)] = None
    judge: Annotated[float | None, Field(gt=0)] = None

    def by_role(self) -> dict[Role, float]:
        """Those that are set."""
        both: dict[Role, float | None] = {"agent": self.agent, "judge": self.judge}
        return {role: usd for role, usd in both.items() if usd is not None}


class Experiment(Record):
    """A question (`config/experiments/<id>.yaml`)."""

    id: Slug
    question: Text
    scenarios: Annotated[tuple[Text, ...], Field(min_length=1, description="globs over scenario ids")]
    agents: Annotated[
        tuple[Text, ...], Field(min_length=1, description="name, or name@version: oracle, nop, claude-code")
    ]
    variants: Annotated[tuple[Text, ...], Field(description="globs over tier/sub-test, e.g. T0/*")] = ()
    models: Annotated[tuple[Text, ...], Field(description="model ids")] = ()
    judges: Annotated[
        tuple[Text, ...], Field(description="models of the judge panel, two at least; none: their items are N/A")
    ] = ()
    model_settings: ModelSettings = ModelSettings()
    prices: Annotated[Slug | None, Field(description="a list of config/prices/; none: each model's own price")] = None
    repetitions: Annotated[int | None, Field(ge=1, le=9999, description="none: each scenario's runs_per_tier")] = None
    baseline: Annotated[Text, Field(description="the arm that the others are compared with")]
    margin: Annotated[
        float, Field(gt=0, lt=1, description="a difference of pass rates that counts as none, e.g. 0.05: 5 points")
    ] = 0.05
    gate: Annotated[
        Literal["none", "better", "not_worse"],
        Field(description="what every arm must be shown to be against the baseline, or the command fails"),
    ] = "none"
    max_age_days: Annotated[
        float | None, Field(gt=0, description="stored trials that are older are run again; none: age does not matter")
    ] = None
    seed: Annotated[int, Field(description="of the order in which arms are interleaved")] = 0
    limits: Limits = Limits()
    sandbox: Annotated[
        SandboxWish,
        Field(description="where agents and checks run; auto: agents with a model in docker, where an engine answers"),
    ] = "auto"
    retry: Retry = Retry()
    budget_usd: Annotated[
        float | None, Field(gt=0, description="of the run's folder, for agents and judges together")
    ] = None
    role_budget_usd: RoleBudgets = RoleBudgets()

    @field_validator("judges")
    @classmethod
    def _panel(cls, judges: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({judge for judge in judges if judges.count(judge) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is named twice; a panel is of different models")
        if len(judges) == 1:
            raise ValueError("one judge is no panel; name two models at least (better three), or none")
        return judges
