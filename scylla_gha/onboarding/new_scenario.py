"""Make a scenario: a proved task from a range of commits, or a skeleton from an issue's text or a session.

A skeleton has the prompt and the start state. `validate` refuses it until its check and solutions are written.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from scylla_gha.errors import ConfigError
from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.mining.project_tests import ProjectStates
from scylla_gha.mining.repository import RepositoryCheckout, UserCommit, commit_message, merge_base, resolved, tree_of
from scylla_gha.model import slug
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.scenario import Checkpoint
from scylla_gha.onboarding.find_tasks import TaskTrial, task_of_commit
from scylla_gha.onboarding.scaffold import FIRST, ScaffoldTask, folders_of
from scylla_gha.onboarding.task_from_history import candidate_of, short_name, shortened, start_of, title_and_prompt

UNFINISHED: Final = "false  # TODO: a command that succeeds only when the task is solved"
_TITLE_CHARS: Final = 100
_MOST_BYTES: Final = 50_000_000  # of a session's file


def range_of(checkout: RepositoryCheckout, text: str) -> tuple[str, str]:
    """Return the first and the last state of a range of commits, `A..B`.

    Raises:
        ConfigError: the text is not a range, or a commit does not exist.
    """
    names = re.fullmatch(r"([^.\s]\S*?)\.\.([^.\s]\S*)", text)
    if names is None:
        raise ConfigError(f"--from-commits: {text!r} is not a range of commits; write A..B, such as main..my-branch")
    return _commit(checkout, names[1], "--from-commits"), _commit(checkout, names[2], "--from-commits")


def range_of_pull_request(checkout: RepositoryCheckout, number: int) -> tuple[str, str]:
    """Return the merge base (with HEAD) and the head of a fetched pull request.

    Raises:
        ConfigError: the pull request was not fetched, or has no common ancestor with HEAD.
    """
    head = next(filter(None, (resolved(checkout, name) for name in (f"refs/pull/{number}/head", f"pr-{number}"))), None)
    base = head and checkout.head and merge_base(checkout, checkout.head, head)
    if not head or not base:
        raise ConfigError(
            f"--from-pull-request: this clone has no commits of pull request {number} with an ancestor of its HEAD; "
            f"run `git fetch origin pull/{number}/head:pr-{number}` first"
        )
    return base, head


def _commit(checkout: RepositoryCheckout, name: str, option: str) -> str:
    if commit := resolved(checkout, name):
        return commit
    raise ConfigError(f"{option}: {name!r} is not a commit, branch or tag of {checkout.root}")


def task_of_range(
    states: ProjectStates, commits: tuple[str, str], suite: str, number: int, trial: TaskTrial
) -> ScaffoldTask:
    """Return the proved task of a range of commits, treated as a single change.

    Raises:
        ConfigError: no task can be made from the commits; the message says why.
    """
    start, end = commits
    change = UserCommit(end, start, commit_message(states.checkout, end))
    candidate = candidate_of(states, change, folders_of(suite))
    task = candidate if isinstance(candidate, str) else task_of_commit(states, candidate, suite, trial)
    if isinstance(task, str):
        raise ConfigError(f"{start[:12]}..{end[:12]}: no task can be made from these commits: {task}")
    return replace(task, id=f"{number}-{task.id.partition('-')[2]}")


def skeleton(states: ProjectStates, text: str, origin: str, suite: str, number: int) -> ScaffoldTask:
    """Return a scenario without a working check or solutions, which a person adds.

    Args:
        states: the repository; its last commit is the start state.
        text: the task's text; its first line becomes the title.
        origin: description of the text's source.
        suite: name of the suite.
        number: number of the scenario.

    Raises:
        ConfigError: the text is empty, or the repository cannot be copied.
    """
    head = states.checkout.head
    if not text.strip() or head is None:
        what = "the text is empty" if head else f"{states.checkout.root} has no commit from which the task could start"
        raise ConfigError(f"scenario new: {what}")
    title, prompt = title_and_prompt(re.sub(r"^#+\s*", "", text.strip()))
    start = start_of(states.checkout, tree_of(states.checkout, head), head, folders_of(suite))
    if start is None:
        raise ConfigError(
            "scenario new: the repository is too large to be copied, and has no remote `origin` to fetch it from"
        )
    return ScaffoldTask(
        id=f"{number}-{short_name(slug(title))}",
        title=shortened(title, _TITLE_CHARS),
        origin=f"{origin}; still missing: a check, the reference solution, two wrong solutions",
        category="bug_fixing",
        prompt=prompt,
        start=start,
        solution=b"",
        wrong={},
        checks=(Checkpoint(id="solved", what="TODO: the condition in a sentence", run=UNFINISHED),),
        hidden=(),
        tools=_tools(states, head),
    )


def _tools(states: ProjectStates, commit: str) -> Tools:
    """Return the tools that the project's tests need; no tools if they are unknown or cannot be installed."""
    tree = tree_of(states.checkout, commit)
    tested = (tests for tests in states.tests(tree) if tests.reason is None and any(map(tests.runs, tree.blobs)))
    tools = next((states.tools(tree, tests) for tests in tested), "")
    return Tools() if isinstance(tools, str) else tools


def first_message(path: Path) -> tuple[str, str]:
    """Return the user's first message in a session of Claude Code, and the session's folder ("" if unknown).

    Sessions are in `~/.claude/projects/*/*.jsonl`.

    Raises:
        ConfigError: the file has no such message, or is larger than 50 MB.
    """
    if path.stat().st_size <= _MOST_BYTES:
        for event in filter(None, map(_user_event, path.read_bytes().splitlines())):
            if text := _user_text(event).strip():
                return text, str(event.get("cwd") or "")
    raise ConfigError(
        f"{path}: contains no user message, or is larger than {_MOST_BYTES // 1_000_000} MB; name a file of a session, "
        "such as one of ~/.claude/projects/*/*.jsonl"
    )


def _user_event(line: bytes) -> dict[str, Any] | None:
    try:
        event = parse_json(line)
    except InvalidJsonError:
        return None
    if not isinstance(event, dict) or event.get("type") != "user" or event.get("isMeta"):
        return None
    return event


def _user_text(event: dict[str, Any]) -> str:
    message = event.get("message")
    content: Any = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def next_number(existing: list[str]) -> int:
    """Return the number after the highest number of a suite's scenarios."""
    numbers = [int(name[:3]) for name in existing if re.match(r"\d{3}-", name)]
    return max(numbers, default=FIRST - 1) + 1
