"""Checks of a trial's final state on GitHub: records, repositories, and changes that are not allowed.

Conditions select from text that the agent wrote, so a process with limits evaluates them: `scylla_gha.conditions`.

The views of the start and of the end, which have no times, are compared. Consequences of other changes are
ignored: timelines; head commits and refs of pull requests, which follow their branches; runs that a push started, and
the workflows of new files; checks of runs, since jobs are compared; and records that only scripted reviewers wrote.
"""

import contextlib
import json
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import pathspec

from scylla_gha.conditions import CPU_SECONDS, MEMORY_BYTES, TOO_MUCH, is_match
from scylla_gha.counting import first_of
from scylla_gha.errors import ToolError
from scylla_gha.judge.github_trial import GoneError, TrialGitHub
from scylla_gha.model import HIDDEN
from scylla_gha.model.github_condition import (
    AllowedChange,
    Checkout,
    FileMatch,
    GitCondition,
    GitHubQuery,
    StateCondition,
)
from scylla_gha.model.github_views import LIST_QUERIES, CheckView, GitHubView, RunView, WorkflowView
from scylla_gha.system import process

_SECONDS: Final = 600.0  # sufficient on a busy machine; the process's CPU time is limited separately
# The process reached its limit of CPU time or memory, or the kernel ended it when memory was short.
_REACHED: Final = frozenset({TOO_MUCH, -signal.SIGXCPU, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT})
_SHOWN: Final = 300
_LISTED: Final = 5
_READ_BYTES: Final = 1_000_000  # maximum size of a file that is matched
_LEFT_OUT: Final = frozenset({"sequence", "timeline", "head_sha", "branches", "tags", "commit"})
_STARTED_BY_PUSH: Final = frozenset({"push", "pull_request"})
_VALUE_CHARS: Final = 120
_LISTED_FAULTS: Final = 8


@dataclass(frozen=True, slots=True)
class StateVerdict:
    """Verdict on a condition: the reason why it does not hold (None: it holds), and the selected values."""

    fault: str | None
    evidence: str


@dataclass(frozen=True, slots=True)
class ShownText:
    """The part of a text that GitHub's page shows, and its links' targets; `hidden`: the page does not show all."""

    text: str
    links: list[str]
    hidden: bool


class TooMuchError(Exception):
    """Reading the texts takes more time or memory than allowed; the message is evidence."""


def state_verdicts(conditions: Sequence[StateCondition], github: TrialGitHub) -> list[StateVerdict]:
    """Evaluate all conditions of a trial in one process.

    Raises:
        ToolError: the conditions cannot be evaluated, and the cause is not the agent's text.
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
    """Return the visible parts of Markdown texts on GitHub's page; empty texts if that takes too much time.

    Raises:
        ToolError: the texts cannot be read, and the cause is not the agent's text.
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
    """Store the result of a query in `objects`; return its key there."""
    name = f"{query.query} {query.target or ''}"
    if name not in objects:
        try:
            objects[name] = {"json": _plain(github.query(query.query, query.target))}
        except GoneError as error:
            objects[name] = {"gone": str(error)}
    return name


def _commits(conditions: Sequence[StateCondition], github: TrialGitHub) -> dict[str, str]:
    """Return the first lines of all commit messages by hash, if a condition needs commits."""
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
    """Evaluate conditions, or render texts, in a separate process.

    Raises:
        TooMuchError: the process reached its limit of time or memory.
        ToolError: the process failed for another reason.
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


def git_fault(condition: GitCondition, github: TrialGitHub) -> str | None:
    """Return the reason why a condition on git does not hold, or None."""
    try:
        repository, commit = revision_of(condition, github)
        return next(_git_faults(condition, github, repository, commit), None)
    except GoneError as error:
        return str(error)
    except ToolError as error:
        return f"git failed: {str(error)[:_SHOWN]}"


def revision_of(condition: GitCondition | Checkout, github: TrialGitHub, *, start: bool = False) -> tuple[int, str]:
    """Return the repository and the commit of a condition, at the end of the trial or at its start.

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
    if (revision := condition.contains_commit) is not None:
        ancestor = github.revision(repository, revision)
        if not github.git.is_ancestor(ancestor, commit):
            yield f"{commit[:7]} does not contain {revision} ({ancestor[:7]})"
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


def _tree_faults(expected: str, github: TrialGitHub, repository: int, commit: str) -> Iterator[str]:
    is_tree = re.fullmatch(r"[0-9a-f]{40}", expected) and github.git.kind_of(expected) in (None, "tree")
    tree = expected if is_tree else github.git.commit(github.revision(repository, expected)).tree
    if github.git.commit(commit).tree != tree:
        is_stored = github.git.kind_of(tree) is not None
        changed = [file.path for file in github.git.changed_files(tree, commit)] if is_stored else []
        listed = f": {first_of(changed, _LISTED)}" if changed else ""
        yield f"the files of {commit[:7]} differ from those of {expected}{listed}"


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
        yield f"changed outside of {', '.join(condition.touches_only)}: {first_of(outside, _LISTED)}"


def _start_of(condition: GitCondition, github: TrialGitHub, repository: int, commit: str) -> str:
    """Return the commit of the same revision at the start; for a new branch, where it left the default branch."""
    try:
        return revision_of(condition, github, start=True)[1]
    except GoneError:
        default = github.start.records["repository"][repository]["default_branch"]
        base = github.git.merge_base(github.revision(repository, f"start:{default}"), commit)
        if base is None:
            raise
        return base


def _force_faults(condition: GitCondition, github: TrialGitHub, repository: int, commit: str) -> Iterator[str]:
    """Compare with the start, and search the journal, since a rewound branch may have grown again."""
    before = commit  # if the branch is new
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


@dataclass(frozen=True, slots=True)
class GitHubChange:
    """Difference between start and end, in an object (by kind and id) or in a ref."""

    repository: int
    text: str
    kind: str = ""
    id: int = 0
    field: str = ""
    created: bool = False
    ref: str = ""


def unchanged_fault(allowed: Iterable[AllowedChange], github: TrialGitHub) -> str | None:
    """Return the changes that are not allowed, or None."""
    allowances = tuple(allowed)
    faults = [
        change.text
        for change in all_changes(github)
        if not any(_allows(allowance, change, github) for allowance in allowances)
    ]
    return first_of(faults, _LISTED_FAULTS, "; ") or None


def _allows(allowance: AllowedChange, change: GitHubChange, github: TrialGitHub) -> bool:
    if allowance.target is not None:
        is_object = bool(change.id) and github.names[allowance.target] == change.id and not change.created
        return is_object and (not allowance.fields or change.field in allowance.fields)
    if allowance.repository is not None and github.names[allowance.repository] != change.repository:
        return False
    if allowance.created is not None:
        return change.created and LIST_QUERIES[allowance.created] == change.kind
    return bool(change.ref) and any(fnmatchcase(change.ref, pattern) for pattern in allowance.refs)


def all_changes(github: TrialGitHub) -> Iterator[GitHubChange]:
    """Yield all differences between a trial's start and its end."""
    for kind in LIST_QUERIES.values():
        before = {view.id: view for view in github.start.views(kind)}
        after = {view.id: view for view in github.end.views(kind)}
        for id_ in sorted(before.keys() | after.keys()):
            yield from _object_changes(kind, before.get(id_), after.get(id_), github)
    yield from _ref_changes(github)


def _object_changes(
    kind: str, before: GitHubView | None, after: GitHubView | None, github: TrialGitHub
) -> Iterator[GitHubChange]:
    view = after or before
    if view is None or (isinstance(view, CheckView) and view.run is not None):
        return
    is_pushed_run = isinstance(view, RunView) and view.event in _STARTED_BY_PUSH
    if before is None and (is_pushed_run or isinstance(view, WorkflowView)):
        return
    repository, name = _repository_of(kind, view, github), _name(kind, view, github)
    if before is None:
        yield GitHubChange(repository, f"{name} was created", kind, view.id, created=True)
    elif after is None:
        yield GitHubChange(repository, f"{name} was deleted", kind, view.id)
    else:
        old, new = _unscripted(before, github), _unscripted(after, github)
        for field in old:
            if field not in _LEFT_OUT and _compared(old[field]) != _compared(new[field]):
                text = f"{name}: {field}: {_difference(old[field], new[field])}"
                yield GitHubChange(repository, text, kind, view.id, field)


def _unscripted(view: GitHubView, github: TrialGitHub) -> dict[str, Any]:
    """Return an object's fields without the reviews and threads of scripted reviewers."""
    fields = view.model_dump(mode="json")
    for field in ("reviews", "threads"):
        if field in fields:
            fields[field] = [element for element in fields[field] if not _ids(element) <= github.scripted]
    if asked := fields.get("requested_reviewers"):
        fields["requested_reviewers"] = [login for login in asked if login not in github.scripted_reviewers(view.id)]
    return fields


def _ids(review_or_thread: Mapping[str, Any]) -> set[int]:
    return {review_or_thread["id"], *(comment["id"] for comment in review_or_thread.get("comments", ()))}


def _repository_of(kind: str, view: GitHubView, github: TrialGitHub) -> int:
    """Return the id of an object's repository, which may have been created in the trial."""
    if kind == "repository":
        return view.id
    record = github.end.record(kind, view.id) or github.start.record(kind, view.id)
    return int(record["repository"]) if record else 0


def _name(kind: str, view: GitHubView, github: TrialGitHub) -> str:
    """Return an object's name in the fixture; if it has none, its kind with its number or title."""
    fixture_name = next((name for name, id_ in github.names.items() if id_ == view.id), None)
    shown = next(
        (
            value
            for field in ("number", "tag", "title", "name", "path", "pattern")
            if (value := getattr(view, field, None)) is not None
        ),
        view.id,
    )
    return fixture_name or f"{kind.replace('_', ' ')} {f'#{shown}' if isinstance(shown, int) else repr(shown)}"


def _compared(value: Any) -> Any:  # noqa: ANN401 any JSON
    """Return a value without the numbers of writes."""
    if isinstance(value, dict):
        return {key: _compared(part) for key, part in value.items() if key != "sequence"}
    return [_compared(part) for part in value] if isinstance(value, list) else value


def _difference(old: Any, new: Any) -> str:  # noqa: ANN401 any JSON
    """Describe the change of a field; for lists, only the added and removed elements."""
    if isinstance(old, list) and isinstance(new, list):
        before, after = _compared(old), _compared(new)
        parts = [f"- {_short(part)}" for part in before if part not in after]
        parts += [f"+ {_short(part)}" for part in after if part not in before]
        return ", ".join(parts) or "in another order"
    return f"{_short(old)} -> {_short(new)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}..."


def _ref_changes(github: TrialGitHub) -> Iterator[GitHubChange]:
    """Yield the changed refs of the fixture's repositories, without refs of new repositories."""
    for repository, before in github.start.refs.items():
        after = github.end.refs.get(repository, {})
        for ref in sorted({*before, *after}):
            old, new = before.get(ref), after.get(ref)
            if old != new and not ref.startswith(("refs/pull/", "refs/hub/")):
                text = f"{ref}: {old[:7] if old else 'none'} -> {new[:7] if new else 'none'}"
                yield GitHubChange(int(repository), text, ref=ref)
