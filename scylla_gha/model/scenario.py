"""Scenario: a task, its start state, its checkpoints and its rubric."""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from scylla_gha.model import Record, Sha, Slug, Text
from scylla_gha.model.github_condition import UNCHANGED_ID, Checkout, GitCondition, GitHubStart, StateCondition
from scylla_gha.model.sandbox import NetworkAccess, Tools

PASS_THRESHOLD: Final = 0.60  # the paper's default: grade B
WEIGHT_TOLERANCE: Final = 1e-9
WorkflowCategory = Literal[
    "build_system",
    "ci_cd",
    "bug_fixing",
    "new_features",
    "refactoring",
    "optimization",
    "review",
    "documentation",
    "issue_filing",
]
Size = Literal["small", "medium", "large"]
TierName = Literal["T0", "T1", "T2", "T3", "T4", "T5", "T6"]
Seconds = Annotated[int, Field(gt=0, le=24 * 3600)]


class Item(Record):
    """One item to score. Code scores an item with `checks`; the judge panel scores other items."""

    id: str = Field(
        pattern=r"^[A-Z][0-9]+$", description="Id of the item: the letter of its category and a number, such as F1"
    )
    text: Text = Field(description="Requirement that earns the points")
    type: Literal["binary", "graduated", "subjective"] = Field(
        description="Kind of scoring: binary is all or nothing, graduated is the mean of the checks' "
        "fractions, subjective is a judge's opinion"
    )
    points: float = Field(default=1.0, gt=0, description="Points of the item within its category")
    checks: tuple[str, ...] = Field(
        default=(), description="Ids of the checkpoints that decide the item; empty: the judge panel decides"
    )
    applies_if: str | None = Field(
        default=None,
        description="Id of a checkpoint that must hold, otherwise the item is N/A; null: the item always applies",
    )
    required: bool = Field(
        default=False,
        exclude_if=lambda required: not required,
        description="If true, a trial passes only if this binary item is met or N/A",
    )

    @model_validator(mode="after")
    def _required_is_binary(self) -> "Item":
        if self.required and self.type != "binary":
            raise ValueError(
                "`required` needs a binary item, which is met or not; make the item binary, or remove `required`"
            )
        return self


class Category(Record):
    """Weighted group of items."""

    id: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    weight: float = Field(
        ge=0, le=1, description="Share of the category in the score; 0: its items are judged and shown, but not scored"
    )
    items: Annotated[tuple[Item, ...], Field(min_length=1)]


class Rubric(Record):
    """Scoring of a scenario's trials; the weights of the categories sum to 1."""

    pass_threshold: float = Field(default=PASS_THRESHOLD, gt=0, le=1, description="Score from which a trial passes")
    categories: Annotated[tuple[Category, ...], Field(min_length=1)]

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, in the order of the categories."""
        return tuple(item for category in self.categories for item in category.items)


def size_of(lines: int) -> Size:
    """Return the paper's size category of a change with this number of added and deleted lines."""
    if lines < 100:  # noqa: PLR2004 the paper's own bounds, table of section 7.1
        return "small"
    return "medium" if lines < 500 else "large"  # noqa: PLR2004


class FixtureSource(Record):
    """Start state: a fixture folder or a remote repository, at a pinned commit."""

    fixture: Slug | None = Field(
        default=None, description="Name of a folder in fixtures/; null: `repo` is the start state"
    )
    repo: str | None = Field(
        default=None,
        description="URL of a git repository, or a path in this repository that begins with `./`, such as a "
        "git bundle; null: `fixture` is the start state",
    )
    hash: Sha = Field(description="Commit from which the task starts; preparation verifies it")

    @model_validator(mode="after")
    def _one_place(self) -> "FixtureSource":
        if (self.fixture is None) == (self.repo is None):
            raise ValueError("give exactly one of fixture and repo")
        if self.repo is not None and (self.repo.startswith("-") or "::" in self.repo):
            raise ValueError("repo: must be a git URL (https, ssh or file) or a path that begins with ./")
        if self.repo is not None and self.repo.startswith("./") and ".." in self.repo.split("/"):
            raise ValueError("repo: is outside the repository; name a file inside it, such as ./fixtures/starts.bundle")
        return self


class ScenarioTask(Record):
    """Prompt and time limit of the agent."""

    prompt_file: str = Field(description="File with the exact text that the agent gets on standard input")
    timeout_seconds: Seconds
    tools: tuple[Text, ...] | None = Field(
        default=None,
        exclude_if=lambda tools: tools is None,
        description="Built-in tools of the agent CLI that the task allows, in all arms; null: all tools of the variant",
    )
    calls_skill: Text | None = Field(
        default=None,
        exclude_if=lambda name: name is None,
        description="Skill that the prompt calls by its name; null: none",
    )
    plain_prompt_file: str | None = Field(
        default=None,
        exclude_if=lambda name: name is None,
        description="File with the prompt of variants that do not have the skill of `calls_skill`; null: they do not "
        "get the task",
    )


class Validation(Record):
    """Rubric of the scenario; `timeout_seconds` limits each check."""

    rubric_file: str
    timeout_seconds: Seconds = 60
    expected: Text | None = Field(
        default=None,
        exclude_if=lambda expected: expected is None,
        description="Expected result in words, which judges read beside the task; null: none",
    )
    masked_names: tuple[Text, ...] = Field(
        default=(),
        exclude_if=lambda names: not names,
        description="Names of skills that judges must not see, since they show which arm a trial is of",
    )


class AnswerCondition(Record):
    """Condition on the agent's final message. It never holds if the agent said nothing."""

    matches: tuple[Text, ...] = Field(
        default=(), description="Regular expressions (multiline) that must all match in the message"
    )
    never_matches: tuple[Text, ...] = Field(
        default=(), description="Regular expressions (multiline) of which none may match in the message"
    )


class UseCondition(Record):
    """Condition on the skills, MCP servers and sub-agents that the agent used, by what the gateway saw.

    The oracle uses none of them, so it cannot prove a scenario with such a required checkpoint.
    """

    all: tuple[Text, ...] = Field(
        default=(), description="Resources that must all be used: skill/NAME, mcp/NAME or agent/NAME"
    )
    none: tuple[Text, ...] = Field(default=(), description="Resources of which none may be used")
    counts_reading: bool = Field(
        default=True, description="If true, a skill is also used if another tool read its SKILL.md"
    )


class DiffCondition(Record):
    """Condition on the agent's diff. It never holds for an empty diff."""

    only: tuple[str, ...] = Field(
        default=(), description="gitignore-style patterns; every changed file must match one of them; empty: any file"
    )
    never: tuple[str, ...] = Field(default=(), description="gitignore-style patterns that no changed file may match")
    max_files: int | None = Field(default=None, ge=1, description="Maximum number of changed files; null: no limit")
    max_lines: int | None = Field(
        default=None, ge=1, description="Maximum number of added and deleted lines together; null: no limit"
    )


class Checkpoint(Record):
    """Condition that code verifies after the agent's work.

    It is on a command (`run`), a file (`file`), the diff (`changes`), the final message (`answer`), the use of skills,
    servers and sub-agents (`uses`), GitHub's state (`github`), a repository there (`git`), or everything outside the
    scenario's `may_change` (`unchanged`).
    """

    id: Slug
    what: Text = Field(description="The condition in one sentence, which is shown as evidence")
    run: str | None = Field(
        default=None,
        description="Command for `sh -c` in a fresh copy of the result; $CHECKS and $BASE are the folders of "
        "the checks and of the start state",
    )
    exit: int = Field(default=0, description="Exit code that `run` must have")
    stdout: str | None = Field(
        default=None, description="Text that must be the whole standard output of `run`; null: any"
    )
    stdout_matches: str | None = Field(
        default=None, description="Regular expression (multiline) that must match in the output of `run`; null: none"
    )
    stdout_never_matches: str | None = Field(
        default=None,
        exclude_if=lambda pattern: pattern is None,
        description="Regular expression (multiline) that must not match in the output of `run`; null: none",
    )
    graduated: bool = Field(
        default=False,
        description="If true, the last line of the output is `k/n`, and the value of the check is that fraction",
    )
    timeout_seconds: Seconds | None = None
    file: str | None = Field(
        default=None, description="Path of a regular file that must exist, or must not if `absent` is true"
    )
    absent: bool = Field(default=False, description="If true, `file` must not exist")
    matches: str | None = Field(
        default=None, description="Regular expression (multiline) that must match in `file`; null: none"
    )
    changes: DiffCondition | None = None
    answer: AnswerCondition | None = Field(
        default=None,
        exclude_if=lambda answer: answer is None,
        description="Condition on the agent's final message; for scenarios with `answers: true`",
    )
    uses: UseCondition | None = Field(
        default=None,
        exclude_if=lambda uses: uses is None,
        description="Condition on the skills, MCP servers and sub-agents that the agent used",
    )
    github: StateCondition | None = Field(
        default=None, description="Condition on the GitHub records at the end of the trial"
    )
    git: GitCondition | None = Field(default=None, description="Condition on a repository at the end of the trial")
    checkout: Checkout | None = Field(
        default=None,
        description="Revision of a repository on the trial's GitHub, in which `run` works; null: the copy of "
        "the workspace",
    )
    unchanged: bool = Field(
        default=False,
        description="If true, GitHub may differ from the start only in `may_change`; every scenario with "
        "GitHub gets such a checkpoint",
    )
    required: bool = Field(default=True, description="If true, a trial passes only if the checkpoint holds")
    guard: bool = Field(
        default=False,
        description="If true, the checkpoint already holds on the base, and a change that breaks it fails the trial",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> "Checkpoint":
        on_github = (self.github, self.git, self.unchanged or None)
        kinds = (self.run, self.file, self.changes, self.answer, self.uses, *on_github)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("give exactly one of run, file, changes, answer, uses, github, git and unchanged")
        if self.run is None and self.checkout is not None:
            raise ValueError("`checkout` needs `run`; add it, or remove `checkout`")
        outputs = (self.stdout is not None, self.stdout_matches, self.stdout_never_matches, self.graduated, self.exit)
        if self.run is None and any(outputs):
            raise ValueError(
                "exit, stdout, stdout_matches, stdout_never_matches and graduated need `run`; add it, or remove them"
            )
        if self.file is None and (self.absent or self.matches):
            raise ValueError("`absent` and `matches` need `file`; add it, or remove them")
        if [self.stdout, self.stdout_matches, self.graduated or None].count(None) < 2:  # noqa: PLR2004
            raise ValueError("give at most one of stdout, stdout_matches and graduated")
        if self.absent and self.matches:
            raise ValueError("give at most one of absent and matches")
        if self.guard and not self.required:
            raise ValueError("a guard is always required; remove `required: false`")
        return self


class ProgressStep(Record):
    """Expected step towards the goal, bound to the checkpoint or the item that shows it."""

    step: Text
    checkpoint: str | None = None
    item: str | None = None
    weight: float = Field(default=1.0, gt=0, description="Weight of the step in the progress of a trial")

    @model_validator(mode="after")
    def _one_proof(self) -> "ProgressStep":
        if (self.checkpoint is None) == (self.item is None):
            raise ValueError("bind the step to exactly one of checkpoint and item")
        return self


class SkillStop(Record):
    """End of a trial as soon as skills were called, for scenarios that only ask whether they are."""

    skills: Annotated[tuple[Text, ...], Field(min_length=1, description="Names of skills that must all be called")]
    answers: int = Field(
        gt=0,
        le=99,
        description="Number of whole answers of the main conversation after which the trial ends in any case",
    )


class Scenario(Record):
    """A task with its start state and its verification (`scenarios/<suite>/<id>/scenario.yaml`)."""

    id: Annotated[
        Slug,
        Field(
            pattern=r"^[0-9]{3}-[a-z0-9]+([._-][a-z0-9]+)*$",
            description="Id of the scenario, NNN-name, equal to the folder's name",
        ),
    ]
    title: Text
    category: WorkflowCategory
    size: Size = Field(
        description="Size of the reference solution: small below 100 lines, medium below 500, otherwise large"
    )
    difficulty: Literal["trivial", "easy", "medium", "hard"]
    source: FixtureSource
    github: GitHubStart | None = Field(
        default=None, description="Use of the GitHub state in the fixture's github.yaml; null: the task has no GitHub"
    )
    task: ScenarioTask
    validation: Validation
    checkpoints: Annotated[tuple[Checkpoint, ...], Field(min_length=1)]
    progress: Annotated[tuple[ProgressStep, ...], Field(min_length=1)]
    tiers: tuple[TierName, ...] = Field(min_length=1, description="Tiers for which the scenario is meant")
    answers: bool = Field(
        default=False,
        exclude_if=lambda answers: not answers,
        description="If true, the agent's final message is a result too: a trial that changed nothing is judged",
    )
    setup: tuple[Text, ...] = Field(
        default=(),
        exclude_if=lambda setup: not setup,
        description="Commands for `sh -c` that run in the workspace before the agent, in its sandbox and without "
        "network; what they change is a part of the diff",
    )
    runs_per_tier: int = Field(default=10, gt=0, description="Number of repetitions if the experiment does not set one")
    tools: Tools = Tools()
    container: str | None = Field(
        default=None,
        description="Name of the scenario's image recipe, which is a part of the key; null: any sandbox",
    )
    network: NetworkAccess = NetworkAccess()
    overrides: dict[str, str] = Field(
        default={}, description="Files to copy into the agent's HOME: path there -> file of this folder"
    )
    stop: SkillStop | None = Field(
        default=None,
        exclude_if=lambda stop: stop is None,
        description="Calls of skills at which the trial ends as completed; null: it ends when the agent ends",
    )
    human_baseline_usd: float | None = Field(
        default=None, gt=0, description="Cost of a person's solution in USD; null: unknown"
    )

    @model_validator(mode="after")
    def _unchanged_by_default(self) -> "Scenario":
        if self.github is None or any(checkpoint.unchanged for checkpoint in self.checkpoints):
            return self
        what = "Nothing on GitHub changed beside what the task is about"
        default = Checkpoint(id=UNCHANGED_ID, what=what, unchanged=True, guard=True)
        return self.model_copy(update={"checkpoints": (*self.checkpoints, default)})
