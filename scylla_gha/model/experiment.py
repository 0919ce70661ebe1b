"""Experiment: scenarios x variants x agents x models x repetitions, with judges, limits and a baseline."""

from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from scylla_gha.model import Record, Slug, Text
from scylla_gha.model.analysis import PAIRED, Family
from scylla_gha.model.github_requests import GitHubServer
from scylla_gha.model.scenario import Seconds
from scylla_gha.model.traffic import Role

SandboxName = Literal["docker", "bubblewrap", "host"]
SandboxWish = Literal["auto"] | SandboxName
Expectation = Literal[
    "some_better", "all_better", "none_better", "some_worse", "all_worse", "none_worse", "some_differ", "none_differ"
]


_DOCKER_ONLY: Final = {"memory_mb", "disk_mb", "processes", "cpus"}

MB: Final = 1_000_000  # bytes; limits in MiB are of memory
_ADDED_LATER: Final = ("tokens", "requests", "diff_files")  # newer than the first keys: not in keys by default


class TrialLimits(Record):
    """Limits of a trial."""

    timeout_seconds: Annotated[
        Seconds | None, Field(description="Overrides the scenario's own time limit, in seconds")
    ] = None
    turns: Annotated[
        int | None, Field(gt=0, description="Model answers in the main conversation; a further request is refused")
    ] = None
    requests: Annotated[
        int | None,
        Field(gt=0, description="Model requests of all conversations, including those of sub-agents and processes"),
    ] = None
    tokens: Annotated[
        int | None,
        Field(
            gt=0, description="Input, output, cache read and cache write tokens together; a request above it is refused"
        ),
    ] = None
    usd: Annotated[
        float | None, Field(gt=0, description="Model cost of a trial in USD; a request above it is refused")
    ] = None
    file_mb: Annotated[
        int,
        Field(
            gt=0,
            description="MB (10^6 bytes) of one file that agent or check writes; an output of this size ends the trial",
        ),
    ] = 256
    diff_mb: Annotated[int, Field(gt=0, description="MB (10^6 bytes) of all files that the agent changed")] = 64
    diff_files: Annotated[
        int, Field(gt=0, description="Files and folders that the agent added, without those that git ignores")
    ] = 20_000
    rate_limit_seconds: Annotated[
        float, Field(ge=0, description="Seconds that a request may wait for a rate limit")
    ] = 300
    api_retries: Annotated[
        int, Field(ge=0, description="Number of times that the agent CLI repeats a failed request")
    ] = 4
    provider_retries: Annotated[
        int,
        Field(
            ge=0, description="Number of times that the gateway repeats a request after a 5xx or a failed connection"
        ),
    ] = 3
    safety_net: Annotated[bool, Field(description="Block the agent's destructive commands, in all arms")] = True
    memory_mb: Annotated[int, Field(ge=64, description="Memory of a sandbox in MiB; docker only")] = 4096
    disk_mb: Annotated[
        int, Field(ge=1, description="Workspace and HOME of a sandbox together, in MiB of memory; docker only")
    ] = 2048
    processes: Annotated[int, Field(ge=32, description="Processes and threads of a sandbox at once; docker only")] = 512
    cpus: Annotated[
        float, Field(ge=0.1, description="CPU cores that a sandbox may use, if the machine has them; docker only")
    ] = 2.0
    free_disk_mb: Annotated[
        int, Field(ge=0, description="Free disk space in MB (10^6 bytes) below which nothing new starts")
    ] = 1024

    @property
    def file_bytes(self) -> int:
        """Highest size of one file."""
        return self.file_mb * MB

    @property
    def diff_bytes(self) -> int:
        """Highest size of all changed files together."""
        return self.diff_mb * MB

    def keyed(self, *, limits_resources: bool) -> dict[str, JsonValue]:
        """Return the limits that can change what an agent does, as keys hold them.

        A limit that is not set is left out, and so are limits on resources if the sandbox does not enforce them.
        """
        unset = {name for name in _ADDED_LATER if getattr(self, name) == TrialLimits.model_fields[name].default}
        without = {"free_disk_mb", "provider_retries"} | unset
        return self.model_dump(mode="json", exclude=without | (set() if limits_resources else _DOCKER_ONLY))


class RetrySettings(Record):
    """Number of attempts, and pause between them, for a trial that ended by a fault other than the agent's."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    backoff_seconds: Annotated[float, Field(ge=0, description="First pause in seconds; each later one is doubled")] = (
        10.0
    )


class ModelKnobs(Record):
    """Settings for a role's requests, applied if the model accepts them; None leaves a request unchanged."""

    temperature: Annotated[float | None, Field(ge=0, le=1)] = None
    max_tokens: Annotated[int | None, Field(gt=0, description="Tokens of one answer, including thinking")] = None

    def configured(self) -> dict[str, JsonValue]:
        """Return the settings that are not None, by their name in a request."""
        return self.model_dump(exclude_none=True)


class ModelSettings(Record):
    """Model settings of agents and of judges."""

    agent: ModelKnobs = ModelKnobs()
    judge: ModelKnobs = ModelKnobs()


class RoleBudgets(Record):
    """Separate budgets of agents and judges; None: limited by the experiment's budget only."""

    agent: Annotated[float | None, Field(gt=0)] = None
    judge: Annotated[float | None, Field(gt=0)] = None

    def by_role(self) -> dict[Role, float]:
        """Return the budgets that are set."""
        both: dict[Role, float | None] = {"agent": self.agent, "judge": self.judge}
        return {role: usd for role, usd in both.items() if usd is not None}


class Experiment(Record):
    """An experiment (`config/experiments/<id>.yaml`)."""

    id: Slug
    question: Text
    hypothesis: Annotated[Text | None, Field(description="What is expected, written down before any data")] = None
    expected: Annotated[
        Expectation | None,
        Field(
            description="Verdicts of the family that support the hypothesis; null: it is for the reader to judge",
            exclude_if=lambda expected: expected is None,
        ),
    ] = None
    family: Annotated[
        Family | None,
        Field(
            description="Comparisons that answer the question: arms with the baseline, each tier with the one "
            "before, models with each other, or each mode with the baseline's mode within the same variant, agent and "
            "model; null: `modes` with several modes, else `baseline`",
            exclude_if=lambda family: family is None,
        ),
    ] = None
    scenarios: Annotated[
        tuple[Text, ...], Field(min_length=1, description="Globs over ids, or over suite/id such as core/*")
    ]
    agents: Annotated[
        tuple[Text, ...], Field(min_length=1, description="Agent names, or name@version: oracle, nop, claude-code")
    ]
    variants: Annotated[tuple[Text, ...], Field(description="Globs over tier/sub-test, e.g. T0/*")] = ()
    leave_one_out: Annotated[
        Text | None,
        Field(
            description="Sub-test of several prompt blocks, e.g. T0/05-full; adds a variant without each of them, "
            "which is compared with the whole if that is a variant too"
        ),
    ] = None
    models: Annotated[tuple[Text, ...], Field(description="model ids")] = ()
    modes: Annotated[
        tuple[Slug, ...],
        Field(
            description="Modes in config/modes/ that are compared, on scenarios with GitHub alone; empty: such a "
            "scenario runs in the mode `baseline`",
            exclude_if=lambda modes: not modes,
        ),
    ] = ()
    github: Annotated[
        GitHubServer,
        Field(
            description="GitHub of scenarios with GitHub: the hub, which each trial has of its own, or repositories on "
            "github.com, which config/github-fixtures.yaml lists; results of the two are never mixed",
            exclude_if=lambda server: server == "hub",
        ),
    ] = "hub"
    judges: Annotated[
        tuple[Text, ...],
        Field(description="Model ids of the judge panel, at least two; empty: items for judges are N/A"),
    ] = ()
    model_settings: ModelSettings = ModelSettings()
    prices: Annotated[Slug | None, Field(description="Price list in config/prices/; null: each model's own price")] = (
        None
    )
    repetitions: Annotated[
        int | None,
        Field(ge=1, le=9999, description="Repetitions of each scenario and arm; null: the scenario's runs_per_tier"),
    ] = None
    baseline: Annotated[Text, Field(description="Arm that the others are compared with")]
    margin: Annotated[
        float, Field(gt=0, lt=1, description="Difference of pass rates that counts as none, e.g. 0.05: 5 points")
    ] = 0.05
    gate: Annotated[
        Literal["none", "better", "not_worse"],
        Field(description="Verdict that every arm must reach against the baseline, or the command fails"),
    ] = "none"
    max_age_days: Annotated[
        float | None,
        Field(gt=0, description="Stored trials older than this many days are run again; null: any age is used"),
    ] = None
    seed: Annotated[int, Field(description="Seed of the random order in which arms are interleaved")] = 0
    limits: TrialLimits = TrialLimits()
    sandbox: Annotated[
        SandboxWish,
        Field(description="Sandbox of agents and checks; auto: docker for agents with a model, if an engine answers"),
    ] = "auto"
    retry: RetrySettings = RetrySettings()
    budget_usd: Annotated[
        float | None, Field(gt=0, description="Budget of the run folder in USD, for agents and judges together")
    ] = None
    role_budget_usd: RoleBudgets = RoleBudgets()

    @property
    def declared_family(self) -> Family:
        """The comparisons that answer the question. Parts left out of a sub-test are compared with the whole."""
        has_modes = len(self.modes) > 1
        if self.family is None:
            return "modes" if has_modes and self.leave_one_out is None else "baseline"
        return "baseline" if self.family == "modes" and not has_modes else self.family

    @field_validator("judges")
    @classmethod
    def _panel(cls, judges: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({judge for judge in judges if judges.count(judge) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is named twice; a panel is of different models")
        if len(judges) == 1:
            raise ValueError("a panel needs at least two judges (better three), or none")
        return judges

    @field_validator("modes")
    @classmethod
    def _each_once(cls, modes: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(modes)) != len(modes):
            raise ValueError("names a mode twice; remove one")
        return modes

    @model_validator(mode="after")
    def _family_fits(self) -> "Experiment":
        if self.gate != "none" and self.declared_family not in PAIRED:
            raise ValueError("a gate is of arms against the baseline; set gate: none, or family: baseline or modes")
        if self.family == "modes" and self.declared_family != "modes":
            raise ValueError("family: modes compares modes; name two or more in `modes`, or remove it")
        if self.expected and not self.hypothesis:
            raise ValueError("`expected` needs `hypothesis`; add one")
        return self
