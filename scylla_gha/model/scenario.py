"""A scenario: a task, its start state, and how success is verified."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from scylla_gha.model.network import Reach
from scylla_gha.model.record import Record, Sha, Slug, Text

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


def size_of(lines: int) -> Size:
    """The paper's size category of a change of so many lines (added and deleted)."""
    if lines < 100:  # noqa: PLR2004 the paper's own bounds, table of section 7.1
        return "small"
    return "medium" if lines < 500 else "large"  # noqa: PLR2004


class Source(Record):
    """Where the task starts: a fixture folder or a remote repository, at a pinned commit."""

    fixture: Annotated[Slug | None, Field(description="a folder in fixtures/")] = None
    repo: Annotated[str | None, Field(description="the URL of a git repository")] = None
    hash: Annotated[Sha, Field(description="the commit the task starts from; preparation verifies it")]

    @model_validator(mode="after")
    def _one_place(self) -> "Source":
        if (self.fixture is None) == (self.repo is None):
            raise ValueError("give exactly one of fixture and repo")
        return self


class Task(Record):
    """What the agent is asked, and how long it may take."""

    prompt_file: Annotated[str, Field(description="the exact text that the agent gets on its standard input")]
    timeout_seconds: Seconds


class Validation(Record):
    """How the result is judged; `timeout_seconds` bounds each check."""

    rubric_file: str
    timeout_seconds: Seconds = 60


class Tools(Record):
    """What agent and checks find on PATH."""

    python: Annotated[dict[str, str], Field(description="PyPI packages at exact versions, e.g. pytest: 9.2.0")] = {}
    system: Annotated[tuple[Slug, ...], Field(description="programs that must be on the machine")] = ()


class Changes(Record):
    """A condition on the agent's diff. It never holds where nothing was changed."""

    only: Annotated[tuple[str, ...], Field(description="gitignore-style patterns; every changed file matches one")] = ()
    never: Annotated[tuple[str, ...], Field(description="patterns that no changed file may match")] = ()
    max_files: Annotated[int | None, Field(ge=1)] = None
    max_lines: Annotated[int | None, Field(ge=1, description="lines added and deleted together")] = None


class Checkpoint(Record):
    """A post-condition that code verifies: a command (`run`), a file (`file`), or the diff (`changes`)."""

    id: Slug
    what: Annotated[Text, Field(description="the condition in a sentence, shown as evidence")]
    run: Annotated[str | None, Field(description="`sh -c` in a fresh copy; $CHECKS and $BASE are folders")] = None
    exit: Annotated[int, Field(description="the exit code that is expected of `run`")] = 0
    stdout: Annotated[str | None, Field(description="the exact standard output of `run`")] = None
    stdout_matches: Annotated[str | None, Field(description="a regex found in the output (multiline)")] = None
    graduated: Annotated[bool, Field(description="the last line of the output is `k/n`")] = False
    timeout_seconds: Seconds | None = None
    file: Annotated[str | None, Field(description="a regular file of this path exists")] = None
    absent: Annotated[bool, Field(description="the file must not exist")] = False
    matches: Annotated[str | None, Field(description="a regex found in the file (multiline)")] = None
    changes: Changes | None = None
    required: Annotated[bool, Field(description="a trial passes only where it holds")] = True
    guard: Annotated[bool, Field(description="holds on the base already; a change that breaks it failed")] = False

    @model_validator(mode="after")
    def _one_kind(self) -> "Checkpoint":
        if [self.run, self.file, self.changes].count(None) != 2:  # noqa: PLR2004
            raise ValueError("give exactly one of run, file and changes")
        if self.run is None and (self.stdout is not None or self.stdout_matches or self.graduated or self.exit):
            raise ValueError("exit, stdout, stdout_matches and graduated belong to run")
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
    """An expected step towards the goal, bound to the checkpoint or the item that shows it."""

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
        Slug, Field(pattern=r"^[0-9]{3}-[a-z0-9]+([._-][a-z0-9]+)*$", description="NNN-name, the folder's name")
    ]
    title: Text
    category: WorkflowCategory
    size: Annotated[Size, Field(description="lines of the reference solution: small < 100, medium < 500, large")]
    difficulty: Literal["trivial", "easy", "medium", "hard"]
    source: Source
    task: Task
    validation: Validation
    checkpoints: Annotated[tuple[Checkpoint, ...], Field(min_length=1)]
    progress: Annotated[tuple[ProgressStep, ...], Field(min_length=1)]
    tiers: Annotated[tuple[TierName, ...], Field(min_length=1, description="tiers it is meant for")]
    runs_per_tier: Annotated[int, Field(gt=0, description="repetitions where an experiment does not say")] = 10
    tools: Tools = Tools()
    container: Annotated[str | None, Field(description="the image recipe it must run in; recorded, in the key")] = None
    network: Reach = Reach()
    overrides: Annotated[
        dict[str, str], Field(description="files laid into the agent's HOME: path there -> file of this folder")
    ] = {}
    human_baseline_usd: Annotated[float | None, Field(gt=0, description="what a person's solution costs")] = None
