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

MB: Final = 1_000_000  # bytes; limits on memory are in MiB instead
_ADDED_LATER: Final = ("tokens", "requests", "diff_files")  # newer than the first keys; unset ones are left out of keys


class TrialLimits(Record):
    """Limits of a trial."""

    timeout_seconds: Seconds | None = Field(
        default=None, description="Time limit of a trial in seconds; null: the scenario's own"
    )
    turns: int | None = Field(
        default=None,
        gt=0,
        description="Maximum number of model answers in the main conversation; a further request is refused; "
        "null: no limit",
    )
    requests: int | None = Field(
        default=None,
        gt=0,
        description="Maximum number of model requests, including those of sub-agents and other processes; "
        "null: no limit",
    )
    tokens: int | None = Field(
        default=None,
        gt=0,
        description="Maximum number of input, output, cache read and cache write tokens together; a request "
        "above it is refused; null: no limit",
    )
    usd: float | None = Field(
        default=None,
        gt=0,
        description="Maximum model cost of a trial in USD; a request above it is refused; null: no limit",
    )
    file_mb: int = Field(
        default=256,
        gt=0,
        description="Maximum size in MB (10^6 bytes) of one file that the agent or a check writes; output of "
        "this size ends the trial",
    )
    diff_mb: int = Field(
        default=64, gt=0, description="Maximum size in MB (10^6 bytes) of all files that the agent changed, together"
    )
    diff_files: int = Field(
        default=20_000,
        gt=0,
        description="Maximum number of files and folders that the agent added; those that git ignores do not count",
    )
    rate_limit_seconds: float = Field(
        default=300, ge=0, description="Maximum time in seconds that a request waits for a rate limit"
    )
    api_retries: int = Field(default=4, ge=0, description="Number of times that the agent CLI repeats a failed request")
    provider_retries: int = Field(
        default=3,
        ge=0,
        description="Number of times that the gateway repeats a request after a 5xx answer or a failed connection",
    )
    safety_net: bool = Field(default=True, description="Block destructive commands of the agent, in all arms")
    memory_mb: int = Field(default=4096, ge=64, description="Memory of a sandbox in MiB; docker only")
    disk_mb: int = Field(
        default=2048,
        ge=1,
        description="Maximum size in MiB of workspace and HOME together, which are kept in memory; docker only",
    )
    processes: int = Field(
        default=512, ge=32, description="Maximum number of processes and threads of a sandbox at a time; docker only"
    )
    cpus: float = Field(
        default=2.0,
        ge=0.1,
        description="Number of CPU cores that a sandbox may use, if the machine has them; docker only",
    )
    free_disk_mb: int = Field(
        default=1024,
        ge=0,
        description="Free disk space in MB (10^6 bytes) that the machine needs; with less, no new cell starts",
    )

    @property
    def file_bytes(self) -> int:
        """Maximum size of one file in bytes."""
        return self.file_mb * MB

    @property
    def diff_bytes(self) -> int:
        """Maximum size of all changed files together in bytes."""
        return self.diff_mb * MB

    def keyed(self, *, limits_resources: bool) -> dict[str, JsonValue]:
        """Return the limits that can change what an agent does, in the form of keys.

        A limit that is not set is left out, and so are limits on resources if the sandbox does not enforce them.
        """
        unset = {name for name in _ADDED_LATER if getattr(self, name) == TrialLimits.model_fields[name].default}
        without = {"free_disk_mb", "provider_retries"} | unset
        return self.model_dump(mode="json", exclude=without | (set() if limits_resources else _DOCKER_ONLY))


class RetrySettings(Record):
    """Number of attempts, and pause between them, for a trial that ended by a fault outside of the agent."""

    attempts: int = Field(default=3, ge=1, le=10, description="Maximum number of attempts for one cell")
    backoff_seconds: float = Field(
        default=10.0, ge=0, description="Pause in seconds before the second attempt; each later pause is twice as long"
    )


class ModelKnobs(Record):
    """Settings for a role's requests, applied if the model accepts them; None leaves a request unchanged."""

    temperature: float | None = Field(
        default=None, ge=0, le=1, description="Sampling temperature of requests; null: requests are not changed"
    )
    max_tokens: int | None = Field(
        default=None,
        gt=0,
        description="Maximum number of tokens of one answer, thinking included; null: requests are not changed",
    )

    def configured(self) -> dict[str, JsonValue]:
        """Return the settings that are not None, by their name in a request."""
        return self.model_dump(exclude_none=True)


class ModelSettings(Record):
    """Model settings of agents and of judges."""

    agent: ModelKnobs = ModelKnobs()
    judge: ModelKnobs = ModelKnobs()


class RoleBudgets(Record):
    """Separate budgets of agents and judges; None: limited by the experiment's budget only."""

    agent: float | None = Field(
        default=None, gt=0, description="Budget of all agents in USD; null: only the experiment's budget applies"
    )
    judge: float | None = Field(
        default=None, gt=0, description="Budget of all judges in USD; null: only the experiment's budget applies"
    )

    def by_role(self) -> dict[Role, float]:
        """Return the budgets that are set."""
        both: dict[Role, float | None] = {"agent": self.agent, "judge": self.judge}
        return {role: usd for role, usd in both.items() if usd is not None}


class Experiment(Record):
    """An experiment (`config/experiments/<id>.yaml`)."""

    id: Slug
    question: Text
    hypothesis: Text | None = Field(
        default=None, description="Expected result, written down before any data; null: none"
    )
    expected: Expectation | None = Field(
        default=None,
        exclude_if=lambda expected: expected is None,
        description="Verdicts that support the hypothesis, on the comparisons of the family; null: the reader decides",
    )
    family: Family | None = Field(
        default=None,
        exclude_if=lambda family: family is None,
        description="Comparisons that answer the question: arms with the baseline, each tier with the "
        "previous one, models with each other, or each mode with the baseline's mode within the same "
        "variant, agent and model; null: `modes` if several modes are listed, otherwise "
        "`baseline`",
    )
    scenarios: tuple[Text, ...] = Field(
        min_length=1, description="Scenarios to run: globs over ids, or over suite/id such as core/*"
    )
    agents: tuple[Text, ...] = Field(
        min_length=1, description="Agents to run, as name or name@version: oracle, nop, claude-code"
    )
    variants: tuple[Text, ...] = Field(
        default=(), description="Sub-tests to compare: globs over tier/sub-test, e.g. T0/*"
    )
    leave_one_out: Text | None = Field(
        default=None,
        description="Sub-test of several prompt blocks, e.g. T0/05-full; adds one variant per block, which "
        "lacks that block, and compares it with the complete sub-test if this is a variant too; "
        "null: none",
    )
    instructions: Slug | None = Field(
        default=None,
        exclude_if=lambda name: name is None,
        description="Name of a file in config/instructions/; adds each variant with this text as the agent's "
        "instruction file (CLAUDE.md, AGENTS.md, GEMINI.md), and compares it with the variant without it; null: none",
    )
    models: tuple[Text, ...] = Field(default=(), description="Ids of the agents' models")
    agent_models: dict[str, Annotated[tuple[Text, ...], Field(min_length=1)]] = Field(
        default={},
        exclude_if=lambda models: not models,
        description="Ids of the models of agents that cannot ask all of `models`, by the agent's name",
    )
    modes: tuple[Slug, ...] = Field(
        default=(),
        exclude_if=lambda modes: not modes,
        description="Modes in config/modes/ to compare, on scenarios with GitHub only; empty: these scenarios "
        "run in the mode `baseline`",
    )
    github: GitHubServer = Field(
        default="hub",
        exclude_if=lambda server: server == "hub",
        description="Server for scenarios with GitHub: `hub`, a GitHub in memory for each trial, or "
        "`github.com`, with the repositories of config/github-fixtures.yaml; results of the two "
        "are never mixed",
    )
    judges: tuple[Text, ...] = Field(
        default=(), description="Model ids of the judge panel, at least two; empty: items for the panel are N/A"
    )
    model_settings: ModelSettings = ModelSettings()
    prices: Slug | None = Field(
        default=None, description="Name of a price list in config/prices/; null: the price in each model's file"
    )
    repetitions: int | None = Field(
        default=None,
        ge=1,
        le=9999,
        description="Number of repetitions of each scenario and arm; null: the scenario's runs_per_tier",
    )
    baseline: Text = Field(description="Id of the arm with which the other arms are compared")
    margin: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="Difference of pass rates that counts as no difference, e.g. 0.05 for 5 percentage points",
    )
    gate: Literal["none", "better", "not_worse"] = Field(
        default="none",
        description="Verdict that every arm must reach against the baseline; otherwise the command fails; "
        "none: no gate",
    )
    max_age_days: float | None = Field(
        default=None,
        gt=0,
        description="Maximum age in days of stored trials that are reused; older ones are run again; null: no maximum",
    )
    seed: int = Field(default=0, description="Seed of the random order of cells, which interleaves the arms")
    limits: TrialLimits = TrialLimits()
    sandbox: SandboxWish = Field(
        default="auto",
        description="Sandbox of agents and checks; auto: docker for agents with a model, if a Docker engine answers",
    )
    retry: RetrySettings = RetrySettings()
    budget_usd: float | None = Field(
        default=None,
        gt=0,
        description="Budget of the run folder in USD, for agents and judges together; null: no limit",
    )
    role_budget_usd: RoleBudgets = RoleBudgets()

    @property
    def all_models(self) -> tuple[str, ...]:
        """Models of all agents, each once."""
        return tuple(dict.fromkeys((*self.models, *(name for names in self.agent_models.values() for name in names))))

    def models_of(self, agent: str) -> tuple[str, ...]:
        """Return the models of an agent, by its name without a version."""
        return self.agent_models.get(agent, self.models)

    @property
    def declared_family(self) -> Family:
        """The comparisons that answer the question. A sub-test without a part is compared with the whole sub-test."""
        has_modes = len(self.modes) > 1
        if self.family is None:
            return "modes" if has_modes and self.leave_one_out is None else "baseline"
        return "baseline" if self.family == "modes" and not has_modes else self.family

    @field_validator("judges")
    @classmethod
    def _panel(cls, judges: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({judge for judge in judges if judges.count(judge) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is listed twice; a panel needs different models; remove one")
        if len(judges) == 1:
            raise ValueError("a panel needs at least two judges (better three), or none")
        return judges

    @field_validator("modes")
    @classmethod
    def _each_once(cls, modes: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(modes)) != len(modes):
            raise ValueError("a mode is listed twice; remove one")
        return modes

    @model_validator(mode="after")
    def _family_fits(self) -> "Experiment":
        if self.gate != "none" and self.declared_family not in PAIRED:
            raise ValueError("a gate compares arms with the baseline; set gate: none, or family: baseline or modes")
        if self.family == "modes" and self.declared_family != "modes":
            raise ValueError("`family: modes` needs at least two modes; list them in `modes`, or remove `family`")
        if self.expected and not self.hypothesis:
            raise ValueError("`expected` needs `hypothesis`; add one")
        if unknown := sorted(self.agent_models.keys() - {agent_name(agent)[0] for agent in self.agents}):
            raise ValueError(f"agent_models: {unknown[0]} is not in `agents`; add it there, or remove it here")
        return self


def agent_name(text: str) -> tuple[str, str | None]:
    """Split an agent of an experiment, `name` or `name@version`."""
    name, _, version = text.partition("@")
    return name, version or None
