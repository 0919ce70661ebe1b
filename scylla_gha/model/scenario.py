"""Scenario: a task, its start state, its checkpoints and its rubric."""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from scylla_gha.model import Record, Sha, Slug, Text
from scylla_gha.model.github_condition import UNCHANGED_ID, Checkout, GitCondition, GitHubStart, StateCondition
from scylla_gha.model.sandbox import NetworkAccess
from scylla_gha.model.tools import Tools

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
    """One item to score. With `checks` it is scored by code, else by the judge panel."""

    id: Annotated[str, Field(pattern=r"^[A-Z][0-9]+$", description="Letter of the category and a number, such as F1")]
    text: Annotated[Text, Field(description="What earns the points")]
    type: Annotated[
        Literal["binary", "graduated", "subjective"],
        Field(description="binary: all or nothing; graduated: mean of the checks' fractions; subjective: a judgment"),
    ]
    points: Annotated[float, Field(gt=0, description="Points of the item within its category")] = 1.0
    checks: Annotated[
        tuple[str, ...], Field(description="Checkpoints that decide the item; empty: the judge panel decides")
    ] = ()
    applies_if: Annotated[str | None, Field(description="A checkpoint; if it does not hold, the item is N/A")] = None
    required: Annotated[
        bool,
        Field(
            description="A trial passes only if the item is met, unless it is N/A; for binary items",
            exclude_if=lambda required: not required,
        ),
    ] = False

    @model_validator(mode="after")
    def _required_is_binary(self) -> "Item":
        if self.required and self.type != "binary":
            raise ValueError("required belongs to binary items, which are met or not")
        return self


class Category(Record):
    """Weighted group of items."""

    id: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    weight: Annotated[float, Field(gt=0, le=1)]
    items: Annotated[tuple[Item, ...], Field(min_length=1)]


class Rubric(Record):
    """Scoring of a scenario's trials; the weights of the categories sum to 1."""

    pass_threshold: Annotated[float, Field(gt=0, le=1)] = PASS_THRESHOLD
    categories: Annotated[tuple[Category, ...], Field(min_length=1)]

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, in the order of the categories."""
        return tuple(item for category in self.categories for item in category.items)


def size_of(lines: int) -> Size:
    """Return the paper's size category of a change of so many lines (added and deleted)."""
    if lines < 100:  # noqa: PLR2004 the paper's own bounds, table of section 7.1
        return "small"
    return "medium" if lines < 500 else "large"  # noqa: PLR2004


class FixtureSource(Record):
    """Start state: a fixture folder or a remote repository, at a pinned commit."""

    fixture: Annotated[Slug | None, Field(description="Folder in fixtures/")] = None
    repo: Annotated[
        str | None,
        Field(description="URL of a git repository; `./` begins a path in this repository, such as a git bundle"),
    ] = None
    hash: Annotated[Sha, Field(description="Commit from which the task starts; preparation verifies it")]

    @model_validator(mode="after")
    def _one_place(self) -> "FixtureSource":
        if (self.fixture is None) == (self.repo is None):
            raise ValueError("give exactly one of fixture and repo")
        if self.repo is not None and (self.repo.startswith("-") or "::" in self.repo):
            raise ValueError("repo: is a URL of git, by https, ssh or file, or a path that begins with ./")
        if self.repo is not None and self.repo.startswith("./") and ".." in self.repo.split("/"):
            raise ValueError("repo: leads out of the repository; name a file in it, such as ./fixtures/starts.bundle")
        return self


class ScenarioTask(Record):
    """Prompt and time limit of the agent."""

    prompt_file: Annotated[str, Field(description="File with the exact text that the agent gets on standard input")]
    timeout_seconds: Seconds
    tools: Annotated[
        tuple[Text, ...] | None,
        Field(
            description="Built-in tools of the agent CLI that the task allows, in all arms; null: all of the variant",
            exclude_if=lambda tools: tools is None,
        ),
    ] = None


class Validation(Record):
    """Rubric of the scenario; `timeout_seconds` limits each check."""

    rubric_file: str
    timeout_seconds: Seconds = 60


class DiffCondition(Record):
    """Condition on the agent's diff. It never holds if nothing was changed."""

    only: Annotated[
        tuple[str, ...], Field(description="gitignore-style patterns; every changed file must match one")
    ] = ()
    never: Annotated[tuple[str, ...], Field(description="Patterns that no changed file may match")] = ()
    max_files: Annotated[int | None, Field(ge=1)] = None
    max_lines: Annotated[int | None, Field(ge=1, description="Lines added and deleted together")] = None


class Checkpoint(Record):
    """Condition that code verifies afterwards.

    It is on a command (`run`), a file (`file`), the diff (`changes`), GitHub's state (`github`), a repository there
    (`git`), or on all that is not in the scenario's `may_change` (`unchanged`).
    """

    id: Slug
    what: Annotated[Text, Field(description="The condition in a sentence, shown as evidence")]
    run: Annotated[
        str | None, Field(description="Command for `sh -c` in a fresh copy; $CHECKS and $BASE are folders")
    ] = None
    exit: Annotated[int, Field(description="Expected exit code of `run`")] = 0
    stdout: Annotated[str | None, Field(description="Exact standard output of `run`")] = None
    stdout_matches: Annotated[str | None, Field(description="Regular expression found in the output (multiline)")] = (
        None
    )
    stdout_never_matches: Annotated[
        str | None,
        Field(
            description="Regular expression that is not found in the output (multiline)",
            exclude_if=lambda pattern: pattern is None,
        ),
    ] = None
    graduated: Annotated[
        bool, Field(description="The last line of the output is `k/n`, and the value is that fraction")
    ] = False
    timeout_seconds: Seconds | None = None
    file: Annotated[str | None, Field(description="Path of a regular file that must exist")] = None
    absent: Annotated[bool, Field(description="The file must not exist")] = False
    matches: Annotated[str | None, Field(description="Regular expression found in the file (multiline)")] = None
    changes: DiffCondition | None = None
    github: Annotated[StateCondition | None, Field(description="Condition on the records that the trial left")] = None
    git: Annotated[GitCondition | None, Field(description="Condition on a repository that the trial left")] = None
    checkout: Annotated[
        Checkout | None, Field(description="`run` works in this revision of a repository of the trial's GitHub")
    ] = None
    unchanged: Annotated[
        bool, Field(description="GitHub differs from the start only in `may_change`; added to each such scenario")
    ] = False
    required: Annotated[bool, Field(description="A trial passes only if the checkpoint holds")] = True
    guard: Annotated[
        bool, Field(description="The checkpoint holds on the base already; a change that breaks it fails the trial")
    ] = False

    @model_validator(mode="after")
    def _one_kind(self) -> "Checkpoint":
        kinds = (self.run, self.file, self.changes, self.github, self.git, self.unchanged or None)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("give exactly one of run, file, changes, github, git and unchanged")
        if self.run is None and self.checkout is not None:
            raise ValueError("checkout belongs to run")
        outputs = (self.stdout is not None, self.stdout_matches, self.stdout_never_matches, self.graduated, self.exit)
        if self.run is None and any(outputs):
            raise ValueError("exit, stdout, stdout_matches, stdout_never_matches and graduated belong to run")
        if self.file is None and (self.absent or self.matches):
            raise ValueError("absent and matches belong to file")
        if [self.stdout, self.stdout_matches, self.graduated or None].count(None) < 2:  # noqa: PLR2004
            raise ValueError("give at most one of stdout, stdout_matches and graduated")
        if self.absent and self.matches:
            raise ValueError("what is absent cannot match")
        if self.guard and not self.required:
            raise ValueError("a guard is always required")
        return self


class ProgressStep(Record):
    """Expected step towards the goal, bound to the checkpoint or the item that shows it."""

    step: Text
    checkpoint: str | None = None
    item: str | None = None
    weight: Annotated[float, Field(gt=0)] = 1.0

    @model_validator(mode="after")
    def _one_proof(self) -> "ProgressStep":
        if (self.checkpoint is None) == (self.item is None):
            raise ValueError("bind the step to exactly one of checkpoint and item")
        return self


class Scenario(Record):
    """A task with its start state and its verification (`scenarios/<suite>/<id>/scenario.yaml`)."""

    id: Annotated[
        Slug,
        Field(pattern=r"^[0-9]{3}-[a-z0-9]+([._-][a-z0-9]+)*$", description="NNN-name, equal to the folder's name"),
    ]
    title: Text
    category: WorkflowCategory
    size: Annotated[Size, Field(description="Lines of the reference solution: small < 100, medium < 500, large")]
    difficulty: Literal["trivial", "easy", "medium", "hard"]
    source: FixtureSource
    github: Annotated[
        GitHubStart | None, Field(description="The agent works with the GitHub state of the fixture's github.yaml")
    ] = None
    task: ScenarioTask
    validation: Validation
    checkpoints: Annotated[tuple[Checkpoint, ...], Field(min_length=1)]
    progress: Annotated[tuple[ProgressStep, ...], Field(min_length=1)]
    tiers: Annotated[tuple[TierName, ...], Field(min_length=1, description="Tiers that the scenario is meant for")]
    runs_per_tier: Annotated[int, Field(gt=0, description="Repetitions if the experiment does not set them")] = 10
    tools: Tools = Tools()
    container: Annotated[str | None, Field(description="Image recipe that it must run in; a part of the key")] = None
    network: NetworkAccess = NetworkAccess()
    overrides: Annotated[
        dict[str, str], Field(description="Files copied into the agent's HOME: path there -> file of this folder")
    ] = {}
    human_baseline_usd: Annotated[float | None, Field(gt=0, description="Cost of a person's solution in USD")] = None

    @model_validator(mode="after")
    def _unchanged_by_default(self) -> "Scenario":
        if self.github is None or any(checkpoint.unchanged for checkpoint in self.checkpoints):
            return self
        what = "Nothing on GitHub changed beside what the task is about"
        default = Checkpoint(id=UNCHANGED_ID, what=what, unchanged=True, guard=True)
        return self.model_copy(update={"checkpoints": (*self.checkpoints, default)})
