"""Selection of tasks: each candidate is proved like a scenario, and those whose proof holds are used."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.onboarding.example_task import example
from scylla_gha.onboarding.languages import PYTHON
from scylla_gha.onboarding.pinned_packages import pinned, requirements
from scylla_gha.onboarding.task import ScaffoldTask
from scylla_gha.onboarding.task_from_history import FIRST, Candidate, candidates, folders_of, shortened, task_of
from scylla_gha.onboarding.user_repository import RepositoryCheckout, contents

_MOST_TRIED: Final = 8
_SECONDS: Final = 600.0  # per task; after that no further candidate is started
_SUBJECT: Final = 60  # characters
_WRONG: Final = 2  # wrong solutions that a scenario must have

Tried = tuple[tuple[str, bool, str | None], ...]  # (nop | solution | wrong/NAME, passed, what is wrong with that)


@dataclass(frozen=True, slots=True)
class TaskTrial:
    """Settings for proving candidates.

    Attributes:
        prove: executes a task's proof; raises FixtureError or ToolError if it cannot be executed.
        say: prints a line of progress.
        seconds: time per task after which no further candidate is started.
    """

    prove: Callable[[ScaffoldTask], Tried]
    say: Callable[[str], None]
    seconds: float = _SECONDS


def find_tasks(
    checkout: RepositoryCheckout, name: str, trying: TaskTrial, wanted: int, there: Sequence[str] = ()
) -> list[ScaffoldTask]:
    """Return tasks from different commits of the repository's history, or the small example if there are none.

    Args:
        checkout: the repository.
        name: name of the suite.
        trying: settings for proving candidates.
        wanted: number of tasks; 0: the example.
        there: ids of the suite's scenarios, whose commits are not used again.
    """
    start, tried = time.monotonic(), 0
    known = {_bare(scenario) for scenario in there}
    tasks: list[ScaffoldTask] = []
    for candidate in islice(candidates(checkout, folders_of(name)), _MOST_TRIED * wanted):
        if len(tasks) == wanted:
            break
        if time.monotonic() - start > trying.seconds * wanted:
            trying.say(f"no more commits are tried: they took more than {trying.seconds * wanted:.0f} s")
            break
        subject = shortened(candidate.commit.message.partition("\n")[0], _SUBJECT)
        trying.say(f"trying commit {candidate.commit.sha[:12]} ({subject})")
        tried += 1
        task = _proved_task(checkout, candidate, name, trying)
        if task is not None and _bare(task.id) not in known:
            known.add(_bare(task.id))
            tasks.append(replace(task, id=f"{FIRST + len(there) + len(tasks)}-{_bare(task.id)}"))
    _sum_up(trying, len(tasks), wanted, tried)
    return tasks or ([] if there else [example(checkout, folders_of(name))])


def _bare(scenario: str) -> str:
    return scenario.partition("-")[2]


def _sum_up(trying: TaskTrial, found: int, wanted: int, tried: int) -> None:
    """Print how many tasks were found, and why there are no more."""
    if found < wanted:
        why = f"{counted(tried, 'commit')} tried, for the reasons above; " if tried else ""
        trying.say(f"{found} of {counted(wanted, 'task')} found: {why}none of the other recent commits changed code "
                   "together with tests that can be run")  # fmt: skip
    elif wanted > 1:
        trying.say(f"{counted(found, 'task')} found in {counted(tried, 'commit')}")


def _proved_task(
    checkout: RepositoryCheckout, candidate: Candidate, name: str, trying: TaskTrial
) -> ScaffoldTask | None:
    for pins in _pins(checkout, candidate, trying):
        task = task_of(checkout, candidate, name, pins)
        if task is None:
            trying.say("  the commit is too large for a task")
            return None
        for form in _forms(task):
            proved = _with_wrong_ones(form, trying)
            if proved is not None:
                return proved
    return None


def _forms(task: ScaffoldTask) -> Iterator[ScaffoldTask]:
    """Yield the task with its guards, and without them: tests from before may fail for other reasons."""
    yield task
    bare = tuple(check for check in task.checks if not check.guard)
    if bare != task.checks:
        yield replace(task, checks=bare)


def _with_wrong_ones(task: ScaffoldTask, trying: TaskTrial) -> ScaffoldTask | None:
    """Return the task with two solutions that its checks refuse; None if its proof fails.

    The first two wrong solutions are tried first, and the others only if these do not suffice: each costs two runs.
    """
    fault = _fault(_try(replace(task, wrong={}), trying))
    if fault is not None:
        trying.say(f"  {fault[:300]}")
        return None
    names, failed = list(task.wrong), list[str]()
    for batch in (names[:_WRONG], names[_WRONG:]):
        if len(failed) < _WRONG and batch:
            tried = _try(replace(task, wrong={name: task.wrong[name] for name in batch}), trying)
            failed += [name for name in batch if any(run[0] == f"wrong/{name}" and not run[2] for run in tried)]
    refused = {name: task.wrong[name] for name in failed[:_WRONG]}
    if len(refused) < _WRONG:
        trying.say("  its tests accept too many wrong solutions")
        return None
    return replace(task, wrong=refused)


def _fault(tried: Tried) -> str | None:
    """Return why the proof of no-op, solution or start state fails; None if it holds."""
    return next(
        (
            f"{name}: {' '.join(fault.split())}"
            for name, _, fault in tried
            if name in {"nop", "solution", "start"} and fault
        ),
        None,
    )


def _try(task: ScaffoldTask, trying: TaskTrial) -> Tried:
    try:
        return trying.prove(task)
    except (FixtureError, ToolError) as error:
        return (("start", False, str(error)),)


def _pins(checkout: RepositoryCheckout, candidate: Candidate, trying: TaskTrial) -> Iterator[Mapping[str, str]]:
    """Yield the packages that the start state requires, and then none but the language's own."""
    files = [candidate.tree.blobs.get(path) for path in ("pyproject.toml", "requirements.txt")]
    texts = [contents(checkout, [blob])[0] if blob else None for blob in files]
    wanted = requirements(*texts) if candidate.language is PYTHON else ()
    if wanted:
        try:
            yield pinned(wanted, tuple(f"{name}=={version}" for name, version in PYTHON.tools.items()))
        except ToolError as error:
            trying.say(f"  {str(error)[:300]}")
    yield {}
