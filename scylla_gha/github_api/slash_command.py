"""Slash commands: `/scylla evaluate|compare EXPERIMENT [--only GLOB]... [--repetitions N] [SHA]` in a comment.

`evaluate` uses the configuration of the pull request; `compare` compares the variants that the pull request changes
with their versions at its merge base, with everything else as it is at the merge base. `/scylla skill [NAME]` measures
the Agent Skills that the pull request changes, or one of them, against their versions at the merge base.

Every word must match an allowed pattern. The words are later passed in environment variables, never in the text of a
shell script or a workflow.
"""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.errors import RefusedError
from scylla_gha.github_api.client import GitHubRepository
from scylla_gha.github_api.pulls import can_write, dispatch_workflow, last_push, merge_base, read_pull_request
from scylla_gha.github_api.responses import CommentEvent, PullEvent, PullRequest

USAGE: Final = (
    "/scylla evaluate|compare EXPERIMENT [--only GLOB]... [--repetitions N] [SHA]` or "
    "`/scylla skill [NAME] [--repetitions N] [SHA]"
)
_PREFIX: Final = "/scylla"
COMPARE: Final = "compare"
SKILL: Final = "skill"
_VERBS: Final = ("evaluate", COMPARE, SKILL)
_EXPERIMENT: Final = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_GLOB: Final = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9._*?\[\]-]*")
_SHA: Final = re.compile(r"[0-9a-f]{7,40}")
_REPETITIONS: Final = re.compile(r"[1-9][0-9]{0,3}")
_MAX_LINE: Final = 1000
_MAX_WORD: Final = 200
_MAX_GLOBS: Final = 10


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A parsed command.

    Attributes:
        verb: evaluate, compare or skill.
        experiment: id of the experiment; for `skill`, the name of a skill, or empty for all changed skills.
        only: globs of cell ids.
        repetitions: number as typed; empty: the experiment's.
        sha: commit as typed, perhaps abbreviated; empty: the current head.
    """

    verb: str
    experiment: str = ""
    only: tuple[str, ...] = ()
    repetitions: str = ""
    sha: str = ""


def is_command(body: str) -> bool:
    """Return whether the first line of a comment is `/scylla`, alone or followed by a space."""
    return body.split("\n", 1)[0].rstrip().split(" ", 1)[0].rstrip() == _PREFIX


def parse_command(body: str) -> SlashCommand:
    """Parse the first line of a comment; further lines are ignored.

    Raises:
        RefusedError: it is not a command; the message does not quote the comment, so it can be posted.
    """
    line = body.split("\n", 1)[0].strip()
    if len(line) > _MAX_LINE or not line.isascii() or not line.isprintable():
        raise RefusedError("the first line is too long, or contains characters other than printable ASCII")
    try:
        words = shlex.split(line)[1:]
    except ValueError:
        raise RefusedError("a quotation mark is missing") from None
    if not words or words[0] not in _VERBS:
        raise RefusedError("the only commands are `evaluate`, `compare` and `skill`")
    options, arguments = _split_options(words[1:])
    return _command(words[0], options, arguments)


def _split_options(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options with their values, and the arguments."""
    options, arguments, rest = [], [], iter(words)
    for word in rest:
        if not word.startswith("-"):
            arguments.append(word)
            continue
        name, sign, value = word.partition("=")
        if name not in {"--only", "--repetitions"}:
            raise RefusedError("the only options are `--only` and `--repetitions`")
        text = value if sign else next(rest, None)
        if text is None:
            raise RefusedError(f"`{name}` has no value")
        options.append((name, text))
    return options, arguments


def _command(verb: str, options: Sequence[tuple[str, str]], arguments: Sequence[str]) -> SlashCommand:
    if verb == SKILL and (not arguments or _SHA.fullmatch(arguments[0])):
        arguments = ["", *arguments]
    if not 1 <= len(arguments) <= 2:  # noqa: PLR2004 an experiment, and optionally a commit
        raise RefusedError("name one experiment or skill, and after it at most one commit")
    globs = tuple(value for name, value in options if name == "--only")
    counts = [value for name, value in options if name == "--repetitions"]
    if verb == SKILL and globs:
        raise RefusedError("`skill` does not take `--only`, which selects cells of an experiment")
    if len(globs) > _MAX_GLOBS or len(counts) > 1:
        raise RefusedError(f"`--repetitions` can be given at most once, and `--only` at most {_MAX_GLOBS} times")
    names = [name for name in arguments[:1] if name or verb != SKILL]
    _require(_EXPERIMENT, names, "a name consists of a-z, 0-9, `.`, `_` and `-`")
    _require(_GLOB, globs, "a glob of `--only` consists of letters, digits and `. _ - * ? [ ]`")
    _require(_REPETITIONS, counts, "`--repetitions` must be a number from 1 to 9999")
    _require(_SHA, arguments[1:], "a commit is 7 to 40 of the digits 0-9 and a-f")
    return SlashCommand(verb, arguments[0], globs, next(iter(counts), ""), next(iter(arguments[1:]), ""))


def _require(pattern: re.Pattern[str], values: Sequence[str], rule: str) -> None:
    for value in values:
        if len(value) > _MAX_WORD or not pattern.fullmatch(value):
            raise RefusedError(rule)


def is_unknown_bot(event: CommentEvent, bots: Collection[str]) -> bool:
    """Return whether a bot that is not in `bots` wrote the comment; do not reply to it, since bots could loop."""
    user = event.comment.user
    return (user.type == "Bot" or user.login.endswith("[bot]")) and user.login not in bots


def authorise(repository: GitHubRepository, event: CommentEvent) -> Mapping[str, str]:
    """Check a comment's command and its author, and return the inputs for dispatching it on one commit.

    Raises:
        RefusedError: the author cannot write to the repository, the command is invalid, or the commit is uncertain.
    """
    if not can_write(repository, event.comment.user.login):
        raise RefusedError("an evaluation costs money, so only accounts that can write to this repository start one")
    command = parse_command(event.comment.body or "")
    pull = read_pull_request(repository, event.issue.number)
    if pull.state != "open":
        raise RefusedError("the pull request is closed")
    _require_seen_head(repository, event, command, pull)
    return _inputs(repository, command, pull)


def _inputs(repository: GitHubRepository, command: SlashCommand, pull: PullRequest) -> Mapping[str, str]:
    """Return the inputs of the workflow that the command starts."""
    inputs = {
        "skill" if command.verb == SKILL else "experiment": command.experiment,
        "only": " ".join(command.only),
        "repetitions": command.repetitions,
        "pull": str(pull.number),
        "head": pull.head.sha,
        "base": merge_base(repository, pull) if command.verb in {COMPARE, SKILL} else "",
    }
    return {name: value for name, value in inputs.items() if value}


def resolve_pull_event(repository: GitHubRepository, event: PullEvent, command: SlashCommand) -> Mapping[str, str]:
    """Return the dispatch inputs of a command for a pull request whose head is in this repository.

    Raises:
        RefusedError: the head is in another repository, the pull request is closed, or its head has changed.
    """
    pull = read_pull_request(repository, event.pull_request.number)
    if pull.head.repo is None or pull.head.repo.full_name != event.repository.full_name:
        order = f"/scylla {command.verb} {command.experiment}".rstrip()
        raise RefusedError(f"the head is in another repository; a maintainer can review it and comment `{order}`")
    if pull.state != "open" or pull.head.sha != event.pull_request.head.sha:
        raise RefusedError(
            f"the pull request is closed, or its head has moved to `{pull.head.sha[:10]}`, which gets a separate run"
        )
    return _inputs(repository, command, pull)


def _require_seen_head(
    repository: GitHubRepository, event: CommentEvent, command: SlashCommand, pull: PullRequest
) -> None:
    """Require that the head was pushed before the command was written; a later push could contain anything.

    Raises:
        RefusedError: the command names another commit, or the push is later or its time unknown.
    """
    head = pull.head.sha
    words = filter(None, ("/scylla", command.verb, command.experiment, head[:10]))
    hint = f"review it, and comment `{' '.join(words)}`"
    if command.sha:
        if not head.startswith(command.sha):
            raise RefusedError(f"the head is `{head[:10]}`, not `{command.sha}`; {hint}")
        return
    push = last_push(repository, pull)
    if push is None or push.after != head:
        raise RefusedError(f"GitHub does not show when the head `{head[:10]}` was pushed; {hint}")
    if push.timestamp >= event.comment.created_at:
        raise RefusedError(f"the head `{head[:10]}` was pushed after your comment; {hint}")


def start_command(repository: GitHubRepository, inputs: Mapping[str, str], workflow: str, branch: str) -> str:
    """Dispatch a command on the default branch; return the run's URL.

    Raises:
        RefusedError: the head has moved.
    """
    head = read_pull_request(repository, int(inputs["pull"])).head.sha
    if head != inputs["head"]:
        raise RefusedError(
            f"the head has just moved to `{head[:10]}`; review it, and repeat the command with that commit at its end"
        )
    return dispatch_workflow(repository, workflow, branch, inputs).html_url
