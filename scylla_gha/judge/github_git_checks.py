"""Checks of the repositories that a trial left. What the agent changed or deleted is evidence, not an error."""

import contextlib
import re
from collections.abc import Iterator
from typing import Final

import pathspec

from scylla_gha.conditions.patterns import is_match
from scylla_gha.errors import ToolError
from scylla_gha.judge.github_trial import GoneError, TrialGitHub
from scylla_gha.model.github_condition import Checkout, FileMatch, GitCondition

_SHOWN: Final = 300
_LISTED: Final = 5
_READ_BYTES: Final = 1_000_000  # of a file


def git_fault(condition: GitCondition, github: TrialGitHub) -> str | None:
    """Return why a condition on git does not hold, or None."""
    try:
        repository, commit = revision_of(condition, github)
        return next(_git_faults(condition, github, repository, commit), None)
    except GoneError as error:
        return str(error)
    except ToolError as error:
        return f"git cannot tell: {str(error)[:_SHOWN]}"


def revision_of(condition: GitCondition | Checkout, github: TrialGitHub, *, start: bool = False) -> tuple[int, str]:
    """Return the repository and the commit that a condition looks at, at the trial's end or start.

    Raises:
        GoneError: there is no such commit.
    """
    if condition.pull is not None:
        return github.head_of(condition.pull, "start" if start else "end")
    repository = github.repository_id(condition.repository)
    return repository, github.revision(repository, f"{'start:' if start else ''}{_ref(condition, github, repository)}")


def _ref(condition: GitCondition | Checkout, github: TrialGitHub, repository: int) -> str:
    if condition.ref is not None:
        return condition.ref
    record = github.end.record("repository", repository) or github.start.records["repository"][repository]
    return str(record["default_branch"])


def _git_faults(condition: GitCondition, github: TrialGitHub, repository: int, commit: str) -> Iterator[str]:
    if (wanted := condition.contains_commit) is not None:
        ancestor = github.revision(repository, wanted)
        if not github.git.is_ancestor(ancestor, commit):
            yield f"{commit[:7]} does not contain {wanted} ({ancestor[:7]})"
    if condition.tree_equals is not None:
        yield from _tree_faults(condition.tree_equals, github, repository, commit)
    if condition.file_matches is not None:
        yield from _file_faults(condition.file_matches, github, commit)
    if condition.touches_only:
        yield from _touch_faults(condition, github, repository, commit)
    if condition.not_forced:
        yield from _force_faults(condition, github, repository, commit)


def _file_faults(file: FileMatch, github: TrialGitHub, commit: str) -> Iterator[str]:
    content = github.git.content(f"{commit}:{file.path}")
    if file.absent:
        yield from () if content is None else (f"{file.path} exists",)
    elif content is None:
        yield f"{file.path} does not exist"
    elif file.matches and len(content) > _READ_BYTES:
        yield f"{file.path} has more than the {_READ_BYTES:,} bytes that are read"
    elif file.matches and not is_match(file.matches, content.decode(errors="replace")):
        yield f"{file.path} does not match {file.matches!r}"


def _tree_faults(wanted: str, github: TrialGitHub, repository: int, commit: str) -> Iterator[str]:
    is_tree = re.fullmatch(r"[0-9a-f]{40}", wanted) and github.git.kind_of(wanted) in (None, "tree")
    tree = wanted if is_tree else github.git.commit(github.revision(repository, wanted)).tree
    if github.git.commit(commit).tree != tree:
        known = github.git.kind_of(tree) is not None
        changed = [file.path for file in github.git.changed_files(tree, commit)] if known else []
        yield f"the files of {commit[:7]} are not those of {wanted}{': ' if changed else ''}{_listed(changed)}"


def _touch_faults(condition: GitCondition, github: TrialGitHub, repository: int, commit: str) -> Iterator[str]:
    if condition.since is not None:
        base = github.revision(repository, condition.since)
    else:
        base = _start_of(condition, github, repository, commit)
    changed = github.git.changed_files(base, commit)
    paths = sorted({path for file in changed for path in (file.path, file.previous) if path})
    only = pathspec.GitIgnoreSpec.from_lines(condition.touches_only)
    outside = [path for path in paths if not only.match_file(path)]
    if not paths:
        yield "nothing was changed"
    if outside:
        yield f"changed outside of {', '.join(condition.touches_only)}: {_listed(outside)}"


def _start_of(condition: GitCondition, github: TrialGitHub, repository: int, commit: str) -> str:
    """Return the commit of the same revision at the start; of a new branch, where it left the default branch."""
    try:
        return revision_of(condition, github, start=True)[1]
    except GoneError:
        default = github.start.records["repository"][repository]["default_branch"]
        base = github.git.merge_base(github.revision(repository, f"start:{default}"), commit)
        if base is None:
            raise
        return base


def _force_faults(condition: GitCondition, github: TrialGitHub, repository: int, commit: str) -> Iterator[str]:
    """Compare with the start, and ask the journal: a rewound branch may have grown again."""
    before = commit  # of a branch that is new
    with contextlib.suppress(GoneError):
        before = revision_of(condition, github, start=True)[1]
    if not github.git.is_ancestor(before, commit):
        yield f"{commit[:7]} does not contain its start {before[:7]}"
    name = _ref(condition, github, repository)
    if condition.pull is not None:
        name = github.start.records["pull_request"][github.names[condition.pull]]["head_ref"]
    for push in github.pushes():
        if push.id == repository and push.ref in (name, f"refs/heads/{name}") and (push.forced or push.new is None):
            yield f"{push.ref} was {'force-pushed' if push.new else 'deleted'} by {push.actor}"


def _listed(paths: list[str]) -> str:
    more = len(paths) - _LISTED
    return ", ".join(paths[:_LISTED]) + (f" and {more} more" if more > 0 else "")
