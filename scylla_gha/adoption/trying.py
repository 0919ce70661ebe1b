"""A task that holds: candidates are tried as the proof of a scenario tries them, and the first that holds is taken."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from scylla_gha.adoption.example import example
from scylla_gha.adoption.languages import PYTHON
from scylla_gha.adoption.mining import FIRST, Candidate, candidates, folders_of, shortened, task_of
from scylla_gha.adoption.pins import pinned, requirements
from scylla_gha.adoption.repository import Checkout, contents
from scylla_gha.adoption.task import Task
from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError, ToolError

_MOST_TRIED: Final = 8
_SECONDS: Final = 600.0  # after which none is begun any more
_SUBJECT: Final = 60  # characters
_WRONG: Final = 2  # as many as a scenario must have

Tried = tuple[tuple[str, bool, str | None], ...]  # (nop | solution | wrong/NAME, passed, what is wrong with that)


@dataclass(frozen=True, slots=True)
class Trying:
    """How tasks are tried.

    Attributes:
        prove: executes a task's proof; raises FixtureError or ToolError where that cannot be done.
        say: is told what goes on.
        seconds: after so many no further candidate is begun.
    """

    prove: Callable[[Task], Tried]
    say: Callable[[str], None]
    seconds: float = _SECONDS


def find_tasks(checkout: Checkout, name: str, trying: Trying, wanted: int, there: Sequence[str] = ()) -> list[Task]:
    """Tasks from different commits of the repository's history, or else the small example.

    Args:
        checkout: the repository.
        name: of the suite.
        trying: how candidates are tried.
        wanted: how many; 0 is the example.
        there: ids of the suite's scenarios, whose commits are not taken again.
    """
    begun, tried = time.monotonic(), 0
    known = {_bare(each) for each in there}
    found: list[Task] = []
    for candidate in islice(candidates(checkout, folders_of(name)), _MOST_TRIED * wanted):
        if len(found) == wanted:
            break
        if time.monotonic() - begun > trying.seconds * wanted:
            trying.say(f"no more commits are tried: that took more than {trying.seconds * wanted:.0f} s")
            break
        subject = shortened(candidate.commit.message.partition("\n")[0], _SUBJECT)
        trying.say(f"trying commit {candidate.commit.sha[:12]} ({subject})")
        tried += 1
        task = _held(checkout, candidate, name, trying)
        if task is not None and _bare(task.id) not in known:
            known.add(_bare(task.id))
            found.append(replace(task, id=f"{FIRST + len(there) + len(found)}-{_bare(task.id)}"))
    _sum_up(trying, len(found), wanted, tried)
    return found or ([] if there else [example(checkout, folders_of(name))])


def _bare(scenario: str) -> str:
    return scenario.partition("-")[2]


def _sum_up(trying: Trying, found: int, wanted: int, tried: int) -> None:
    """How many were found, and what follows from too few."""
    if found < wanted:
        why = f"{counted(tried, 'commit')} tried, for the reasons above; " if tried else ""
        trying.say(f"{found} of {counted(wanted, 'task')} found: {why}no other commit that was looked at changed code "
                   "together with tests that can be run")  # fmt: skip
    elif wanted > 1:
        trying.say(f"{counted(found, 'task')} found in {counted(tried, 'commit')}")


def _held(checkout: Checkout, candidate: Candidate, name: str, trying: Trying) -> Task | None:
    for pins in _pins(checkout, candidate, trying):
        task = task_of(checkout, candidate, name, pins)
        if task is None:
            trying.say("  it is too large for a task")
            return None
        for form in _forms(task):
            found = _with_wrong_ones(form, trying)
            if found is not None:
                return found
    return None


def _forms(task: Task) -> Iterator[Task]:
    """The task with its guards, and without them: the kept tests may fail for reasons of their own."""
    yield task
    bare = tuple(check for check in task.checks if not check.guard)
    if bare != task.checks:
        yield replace(task, checks=bare)


def _with_wrong_ones(task: Task, trying: Trying) -> Task | None:
    """The task with two solutions that are shown to be wrong; None where it does not hold."""
    fault = _fault(_try(replace(task, wrong={}), trying))
    if fault is not None:
        trying.say(f"  {fault[:300]}")
        return None
    failed = [name for name, _, fault in _try(task, trying) if name.startswith("wrong/") and fault is None]
    kept = {name: patch for name, patch in task.wrong.items() if f"wrong/{name}" in failed[:_WRONG]}
    if len(kept) < _WRONG:
        trying.say("  its tests do not tell enough wrong solutions from the right one")
        return None
    return replace(task, wrong=kept)


def _fault(tried: Tried) -> str | None:
    """Why no-op or solution do not do what they must; None where they do."""
    return next(
        (
            f"{name}: {' '.join(fault.split())}"
            for name, _, fault in tried
            if name in {"nop", "solution", "start"} and fault
        ),
        None,
    )


def _try(task: Task, trying: Trying) -> Tried:
    try:
        return trying.prove(task)
    except (FixtureError, ToolError) as error:
        return (("start", False, str(error)),)


def _pins(checkout: Checkout, candidate: Candidate, trying: Trying) -> Iterator[Mapping[str, str]]:
    """Packages for the tests, by what the start state asks for; and none beside the language's own."""
    files = [candidate.tree.blobs.get(path) for path in ("pyproject.toml", "requirements.txt")]
    texts = [contents(checkout, [blob])[0] if blob else None for blob in files]
    wanted = requirements(*texts) if candidate.language is PYTHON else ()
    if wanted:
        try:
            yield pinned(wanted, tuple(f"{name}=={version}" for name, version in PYTHON.tools.items()))
        except ToolError as error:
            trying.say(f"  {str(error)[:300]}")
    yield {}
