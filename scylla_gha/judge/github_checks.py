"""Checks of the records that a trial left on GitHub. What the agent changed or deleted is evidence, not an error.

They select from text that the agent wrote, so they are evaluated in a process with limits: `scylla_gha.conditions`.
"""

import json
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha import process
from scylla_gha.conditions.limits import CPU_SECONDS, MEMORY_BYTES, TOO_MUCH
from scylla_gha.errors import ToolError
from scylla_gha.judge.github_trial import GoneError, TrialGitHub
from scylla_gha.model.github_condition import GitHubQuery, StateCondition
from scylla_gha.model.github_texts import GitHubView
from scylla_gha.model.printable_text import HIDDEN

_SECONDS: Final = 600.0  # on a busy machine; its CPU time is limited
# The process reached its CPU time or its memory, or was the one that the kernel chose to end.
_REACHED: Final = frozenset({TOO_MUCH, -signal.SIGXCPU, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT})


@dataclass(frozen=True, slots=True)
class StateVerdict:
    """Why a condition does not hold (None: it holds), and what it selected."""

    fault: str | None
    evidence: str


@dataclass(frozen=True, slots=True)
class ShownText:
    """Part of a text that GitHub's page shows, and the targets of its links; `hidden` is true if the text has more."""

    text: str
    links: list[str]
    hidden: bool


class TooMuchError(Exception):
    """Texts take more time or memory than a reader of them may use; the message is evidence."""


def state_verdicts(conditions: Sequence[StateCondition], github: TrialGitHub) -> list[StateVerdict]:
    """Evaluate all conditions of a trial at once.

    Raises:
        ToolError: they cannot be evaluated, for a reason that is not the agent's text.
    """
    if not conditions:
        return []
    objects: dict[str, Any] = {}
    requests = [_request(condition, objects, github) for condition in conditions]
    written_by = {str(id_): sorted(logins) for id_, logins in github.written_by.items()}
    try:
        answer = _ask(conditions=requests, objects=objects, written_by=written_by, commits=_commits(conditions, github))
    except TooMuchError as error:
        return [StateVerdict(str(error), str(error)) for _ in conditions]
    return [StateVerdict(*verdict) for verdict in answer["verdicts"]]


def shown_texts(texts: Iterable[str]) -> list[ShownText]:
    """Return what GitHub's page shows of Markdown texts; if they take too much time, nothing of them.

    Raises:
        ToolError: they cannot be read, for a reason that is not the agent's text.
    """
    sources = list(texts)
    if not sources:
        return []
    try:
        return [ShownText(**page) for page in _ask(texts=sources)["pages"]]
    except TooMuchError:
        return [ShownText("", [], hidden=True) for _ in sources]


def _request(condition: StateCondition, objects: dict[str, Any], github: TrialGitHub) -> dict[str, Any]:
    fields = condition.model_dump(mode="json", exclude_unset=True)
    for query, part in ((condition, fields), (condition.before, fields.get("before"))):
        if query is not None and part is not None:
            part |= {"select": query.select, "query": query.query, "object": _object(query, objects, github)}
    return fields


def _object(query: GitHubQuery, objects: dict[str, Any], github: TrialGitHub) -> str:
    """Store the result of a query in `objects`, and return its name there."""
    name = f"{query.query} {query.target or ''}"
    if name not in objects:
        try:
            objects[name] = {"json": _plain(github.query(query.query, query.target))}
        except GoneError as error:
            objects[name] = {"gone": str(error)}
    return name


def _commits(conditions: Sequence[StateCondition], github: TrialGitHub) -> dict[str, str]:
    """Return the first lines of all commits' messages by their names, if a condition asks for commits."""
    if not any("commits" in condition.select for condition in conditions):
        return {}
    return {commit.sha: commit.headline for commit in github.git.log("--all")}


def _plain(result: GitHubView | list[GitHubView]) -> Any:  # noqa: ANN401 any JSON
    return [_plain(view) for view in result] if isinstance(result, list) else result.model_dump(mode="json")


def _ask(
    conditions: Sequence[Any] = (),
    objects: Mapping[str, Any] = {},
    written_by: Mapping[str, Any] = {},
    commits: Mapping[str, str] = {},
    texts: Sequence[str] = (),
) -> dict[str, Any]:
    """Ask a process of its own.

    Raises:
        TooMuchError: the texts take more time or memory than it may use.
        ToolError: it failed for another reason.
    """
    request = {
        "conditions": conditions,
        "objects": objects,
        "written_by": written_by,
        "commits": commits,
        "texts": texts,
        "invisible": HIDDEN.pattern,
    }
    argv = [sys.executable, "-P", "-m", "scylla_gha.conditions"]
    ended = process.capture(argv, stdin=json.dumps(request).encode(), seconds=_SECONDS)
    if ended.code in _REACHED:
        raise TooMuchError(
            f"the texts on GitHub take more than {CPU_SECONDS} s or {MEMORY_BYTES // 1024**2} MB to read; "
            "they are too long, or nested too deeply"
        )
    if ended.code:
        raise ToolError(f"conditions on GitHub cannot be evaluated: {ended.message}")
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer
