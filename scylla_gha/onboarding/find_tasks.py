"""Find tasks: commits that are proved as scenarios, or a small example that works in every repository."""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from scylla_gha.config.scenario_folder import ONLY_ONE
from scylla_gha.counting import counted
from scylla_gha.errors import ScyllaError
from scylla_gha.mining.languages import SAFE_NAME
from scylla_gha.mining.project_tests import ProjectStates
from scylla_gha.mining.repository import LINK, CommitFile, RepositoryCheckout, contents, is_shallow, tree_of
from scylla_gha.model.scenario import Checkpoint
from scylla_gha.onboarding.scaffold import (
    FIRST,
    PROGRAM,
    ScaffoldFile,
    ScaffoldTask,
    TaskStart,
    filled,
    folders_of,
    new_file,
)
from scylla_gha.onboarding.task_from_history import (
    Candidate,
    candidates,
    shortened,
    task_name,
    task_of,
)

_MOST_TRIED: Final = 8  # commits per wanted task
_SECONDS: Final = 600.0  # time per task after which no further candidate is started
_SUBJECT: Final = 60  # characters of a subject
_REASON: Final = 300  # characters of a reason
_MOST_EQUAL: Final = 3  # commits in a row that fail for the same reason
_CANNOT_RUN: Final = "its tests cannot be run"
_FAIL: Final = "its tests fail with the commit's own code"
_GUARD: Final = "older tests already fail before the change"
_NETWORK: Final = re.compile(r"resol(ve|ution)|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|[Cc]onnection|unreachable|[Nn]etwork")
_WRONG: Final = 2  # wrong solutions that a scenario must have

Tried = tuple[tuple[str, bool, str | None], ...]  # (nop | solution | wrong/NAME, passed, fault of this verdict)
_LIST: Final = "FILE-LIST.md"
_EXAMPLE_FILES: Final = 12
_EXAMPLE_BYTES: Final = 8192
_LEAST_FILES: Final = 2
_MADE_UP_FILES: Final = (
    ScaffoldFile("README.md", b"# A place to start\n"),
    ScaffoldFile("notes/first.txt", b"Replace this fixture with your own code.\n"),
    ScaffoldFile("notes/second.txt", b"Nothing in these notes matters.\n"),
)
_PROMPT: Final = f"""\
Write a file `{_LIST}` that lists all files of this repository, except itself: one line per file, each of the form
`- path/of/the/file`, sorted by the path (byte by byte, as `LC_ALL=C sort` does), and no other line. Change no other
file.
"""


@dataclass(frozen=True, slots=True)
class TaskTrial:
    """Settings for proving candidates.

    Attributes:
        prove: function that runs a task's proof, or raises ScyllaError.
        say: function that prints a line of progress.
        keep: function that stores an accepted task immediately.
        seconds: time per wanted task after which no further candidate is started.
    """

    prove: Callable[[ScaffoldTask], Tried]
    say: Callable[[str], None]
    seconds: float = _SECONDS
    keep: Callable[[ScaffoldTask], None] = lambda _: None


def find_tasks(
    states: ProjectStates, name: str, trial: TaskTrial, goal: int, existing: Sequence[str] = ()
) -> list[ScaffoldTask]:
    """Return at most `goal` tasks from the repository's history, without those of the suite's `existing` scenarios.

    If no task is found (or `goal` is 0) and the suite has no scenarios, return the small example.
    """
    checkout, search = states.checkout, _Search(states, name, trial, goal, existing)
    for candidate in candidates(states, folders_of(name)):
        if search.is_over():
            break
        search.consider(candidate)
    tasks = search.tasks
    _report_total(trial, len(tasks), goal, search.reasons)
    if len(tasks) < goal and is_shallow(checkout):
        trial.say("this clone is shallow: to try older commits, run `git fetch --unshallow`, then init again")
    if not tasks and not existing:
        tasks.append(example(checkout, folders_of(name)))
        trial.keep(tasks[0])
    return tasks


@dataclass(slots=True)
class _Search:
    """Search through commits; collects accepted tasks, and counts the reasons why other commits were refused."""

    states: ProjectStates
    name: str
    trial: TaskTrial
    goal: int
    existing: Sequence[str]
    tasks: list[ScaffoldTask] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    _tried: int = 0
    _last: list[str] = field(default_factory=list)  # reasons of the latest tested commits
    _start: float = field(default_factory=time.monotonic)

    def is_over(self) -> bool:
        """Return whether the search ends; print why, unless the limit of tasks or commits was reached."""
        if len(self.tasks) == self.goal or self._tried == _MOST_TRIED * self.goal:
            return True
        are_equal = len(self._last) == _MOST_EQUAL and len(set(self._last)) == 1
        if are_equal and self._last[0].startswith((_CANNOT_RUN, _FAIL)):
            advice = _advice(self._last[0])
            self.trial.say(f"no more commits are tried: {_MOST_EQUAL} in a row failed for the same reason; {advice}")
            return True
        seconds = self.trial.seconds * self.goal
        if time.monotonic() - self._start > seconds:
            self.trial.say(f"no more commits are tried: the search has taken more than {seconds:.0f} s")
            return True
        return False

    def consider(self, candidate: Candidate | str) -> None:
        """Accept the task of a commit, or count the reason why the commit has none or its task is refused."""
        if isinstance(candidate, str):
            self.reasons[candidate] += 1
            return
        if task_name(candidate.commit.message) in map(_name_of, (*self.existing, *(task.id for task in self.tasks))):
            self.reasons["a task with that name exists already"] += 1
            return
        self._tried += 1
        task = task_of_commit(self.states, candidate, self.name, self.trial)
        if isinstance(task, str):
            self.reasons[task] += 1
            self._last = [*self._last, task][-_MOST_EQUAL:]
        else:
            self._accept(replace(task, id=f"{FIRST + len(self.existing) + len(self.tasks)}-{_name_of(task.id)}"))

    def _accept(self, task: ScaffoldTask) -> None:
        self.tasks.append(task)
        self._last.clear()
        self.trial.say(f"  accepted ({len(self.tasks)} of {self.goal}): {task.id}")
        self.trial.keep(task)


def _advice(reason: str) -> str:
    """Return advice for tests that cannot be run, by the reason."""
    if _NETWORK.search(reason):
        return "tests run without a network; use --tests to select tests that need none"
    return "use --setup COMMAND to install what the tests need, or --tests to select tests that run without it"


def _name_of(scenario: str) -> str:
    return scenario.partition("-")[2]


def _report_total(trial: TaskTrial, count: int, goal: int, reasons: Counter[str]) -> None:
    """Print the number of found tasks; if there are too few, also why commits were not used."""
    examined = counted(count + reasons.total(), "commit")
    if count < goal:
        trial.say(f"{count} of {counted(goal, 'task')} found in {examined}{'; not used:' if reasons else ''}")
        for reason, number in reasons.most_common():
            trial.say(f"  {counted(number, 'commit')}: {reason}")
    elif goal > 1:
        trial.say(f"{counted(count, 'task')} found in {examined}")


def task_of_commit(states: ProjectStates, candidate: Candidate, name: str, trial: TaskTrial) -> ScaffoldTask | str:
    """Return the proved task of a commit, or the reason (perhaps an error message) why it has none."""
    subject = shortened(candidate.commit.message.partition("\n")[0], _SUBJECT)
    trial.say(f"trying commit {candidate.commit.sha[:12]} ({subject})")
    try:
        task = _proved_task(states, candidate, name, trial)
    except ScyllaError as error:
        task = str(error)[:_REASON]
    if isinstance(task, str):
        trial.say(f"  {task}")
    return task


def _proved_task(states: ProjectStates, candidate: Candidate, name: str, trial: TaskTrial) -> ScaffoldTask | str:
    """Return the task if its proof holds, with or without guards; otherwise the reason why it fails."""
    tools = states.tools(candidate.after, candidate.project)
    if isinstance(tools, str):
        return f"{_CANNOT_RUN}: {tools}"[:_REASON]
    task = task_of(states.checkout, candidate, name, tools)
    if isinstance(task, str):
        return task
    proved = _with_wrong_solutions(task, trial)
    without_guards = replace(task, checks=tuple(check for check in task.checks if not check.guard))
    # Older tests may already fail before the change; then the task gets no guards.
    if isinstance(proved, str) and without_guards.checks != task.checks and _GUARD in proved:
        proved = _with_wrong_solutions(without_guards, trial)
    return proved


def _with_wrong_solutions(task: ScaffoldTask, trial: TaskTrial) -> ScaffoldTask | str:
    """Return the task with two wrong solutions that its checks refuse, or the reason why its proof fails.

    Wrong solutions are tried two at a time until two are refused, since each takes two runs. One is enough if only one
    can be made from the change.
    """
    fault = _fault(_try(replace(task, wrong={}), trial))
    if fault is not None:
        return fault[:_REASON]
    names, refused = list(task.wrong), list[str]()
    for batch in (names[at : at + _WRONG] for at in range(0, len(names), _WRONG)):
        if len(refused) < _WRONG:
            tried = _try(replace(task, wrong={name: task.wrong[name] for name in batch}), trial)
            refused += [name for name in batch if any(run[0] == f"wrong/{name}" and not run[2] for run in tried)]
    if len(refused) >= min(_WRONG, len(names)) > 0:
        solutions = {name: task.wrong[name] for name in refused[:_WRONG]}
        return replace(
            task, wrong=solutions if len(names) > 1 else {names[0]: ONLY_ONE.encode() + task.wrong[names[0]]}
        )
    if not names:
        return "no wrong solution can be made from its change, but at least one is needed to prove its tests"
    return f"its tests refuse {len(refused)} of {counted(len(names), 'wrong solution')}; {_WRONG} are needed"


def _fault(tried: Tried) -> str | None:
    """Return why the proof of the start state, the solution or no change (nop) fails; None if it holds."""
    words = {"start": _CANNOT_RUN, "solution": _FAIL, "nop": _GUARD}
    for name, passed, fault in tried:
        if name in words and fault:
            is_solved = name == "nop" and passed
            line = re.sub(r"^.*?\(exit code \d+, not 0: (.*)\)$", r"\1", " ".join(fault.split()))
            return "its tests pass before the change" if is_solved else f"{words[name]}: {line}"
    return None


def _try(task: ScaffoldTask, trial: TaskTrial) -> Tried:
    try:
        return trial.prove(task)
    except ScyllaError as error:
        return (("start", False, str(error)),)


def example(checkout: RepositoryCheckout, ours: tuple[str, ...]) -> ScaffoldTask:
    """Return the example task, on files of the repository if it has enough outside the folders `ours`."""
    files = _some_files(checkout, ours) if checkout.head else ()
    enough = len(files) >= _LEAST_FILES
    start = files if enough else _MADE_UP_FILES
    names = sorted((file.path for file in start), key=str.encode)
    return ScaffoldTask(
        id="101-list-the-files",
        title="List the files of the repository",
        origin=f"an example on {'files of this repository' if enough else 'made-up files'}; it shows the parts of a "
        "scenario, but measures little",
        category="documentation",
        prompt=_PROMPT,
        start=TaskStart(files=start),
        solution=_lists(names),
        wrong={"last-one-missing": _lists(names[:-1]), "not-sorted": _lists(names[::-1])},
        checks=(
            _check("complete", "Every file is listed, and nothing else"),
            _check("in-order", "The list is sorted"),
            _check("untouched", "The other files are as they were", guard=True),
        ),
        is_example=True,
        hidden=(ScaffoldFile("list.sh", filled("list.sh", file=_LIST).encode(), PROGRAM),),
    )


def _check(name: str, what: str, *, guard: bool = False) -> Checkpoint:
    return Checkpoint(id=name, what=what, run=f'sh "$CHECKS/list.sh" {name}', guard=guard)


def _lists(names: list[str]) -> bytes:
    return new_file(_LIST, "".join(f"- {name}\n" for name in names))


def _some_files(checkout: RepositoryCheckout, ours: tuple[str, ...]) -> tuple[ScaffoldFile, ...]:
    """Return at most 12 small text files of the last commit, top-level files first."""
    blobs = tree_of(checkout, checkout.head or "").blobs
    small = [(path, blob) for path, blob in blobs.items() if _fits(path, blob) and not path.startswith(ours)]
    small.sort(key=lambda item: (item[0].count("/"), not item[0].startswith("README"), item[0]))
    first = small[: 2 * _EXAMPLE_FILES]
    texts = contents(checkout, [blob for _, blob in first])
    pairs = zip(first, texts, strict=True)
    files = [ScaffoldFile(path, text, blob.mode) for (path, blob), text in pairs if b"\0" not in text]
    return tuple(files[:_EXAMPLE_FILES])


def _fits(path: str, blob: CommitFile) -> bool:
    plain = SAFE_NAME.fullmatch(path) and not any(part.startswith(".") for part in path.split("/"))
    return bool(plain) and blob.mode != LINK and blob.size <= _EXAMPLE_BYTES and path != _LIST
