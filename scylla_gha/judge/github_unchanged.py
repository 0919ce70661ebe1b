"""Check that a trial changed nothing on GitHub but what its scenario allows.

Compared are views, so times do not count. What follows from other changes is left out: timelines; the head's commit and
the refs of pull requests, which follow their branches; runs that a push started, with the workflows of new files;
checks of runs, which are compared with their jobs; and what scripted reviewers wrote, if nobody else changed it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from scylla_gha.judge.github_trial import TrialGitHub
from scylla_gha.model.github_condition import AllowedChange
from scylla_gha.model.github_texts import GitHubView
from scylla_gha.model.github_views import LIST_QUERIES, CheckView, RunView, WorkflowView

_LEFT_OUT: Final = frozenset({"sequence", "timeline", "head_sha", "branches", "tags", "commit"})
_STARTED_BY_PUSH: Final = frozenset({"push", "pull_request"})
_SHOWN: Final = 120
_LISTED: Final = 8


@dataclass(frozen=True, slots=True)
class GitHubChange:
    """Difference between start and end: of an object (by kind and id), or of a ref."""

    repository: int
    text: str
    kind: str = ""
    id: int = 0
    field: str = ""
    created: bool = False
    ref: str = ""


def unchanged_fault(allowed: Iterable[AllowedChange], github: TrialGitHub) -> str | None:
    """Return what was changed though it must not be, or None."""
    allowances = tuple(allowed)
    faults = [change.text for change in all_changes(github)
              if not any(_allows(allowance, change, github) for allowance in allowances)]  # fmt: skip
    more = f"; and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
    return "; ".join(faults[:_LISTED]) + more if faults else None


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
    if view is None or _is_of_run(view) or (before is None and _follows_from_push(view)):
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
    """Return the fields of an object, without the reviews and threads of scripted reviewers."""
    fields = view.model_dump(mode="json")
    for field in ("reviews", "threads"):
        if field in fields:
            fields[field] = [element for element in fields[field] if not _ids(element) <= github.scripted]
    if asked := fields.get("requested_reviewers"):
        fields["requested_reviewers"] = [login for login in asked if login not in github.scripted_reviewers(view.id)]
    return fields


def _ids(review_or_thread: Mapping[str, Any]) -> set[int]:
    return {review_or_thread["id"], *(comment["id"] for comment in review_or_thread.get("comments", ()))}


def _follows_from_push(view: GitHubView) -> bool:
    return (isinstance(view, RunView) and view.event in _STARTED_BY_PUSH) or isinstance(view, WorkflowView)


def _is_of_run(view: GitHubView) -> bool:
    return isinstance(view, CheckView) and view.run is not None


def _repository_of(kind: str, view: GitHubView, github: TrialGitHub) -> int:
    """Return the id of an object's repository, which may be one of the trial."""
    if kind == "repository":
        return view.id
    record = github.end.record(kind, view.id) or github.start.record(kind, view.id)
    return int(record["repository"]) if record else 0


def _name(kind: str, view: GitHubView, github: TrialGitHub) -> str:
    """Return the fixture's name of an object, or its kind with what a person calls it."""
    known = next((name for name, id_ in github.names.items() if id_ == view.id), None)
    shown = next((value for field in ("number", "tag", "title", "name", "path", "pattern")
                  if (value := getattr(view, field, None)) is not None), view.id)  # fmt: skip
    return known or f"{kind.replace('_', ' ')} {f'#{shown}' if isinstance(shown, int) else repr(shown)}"


def _compared(value: Any) -> Any:  # noqa: ANN401 any JSON
    """Return a value without the order of the writes in it."""
    if isinstance(value, dict):
        return {key: _compared(part) for key, part in value.items() if key != "sequence"}
    return [_compared(part) for part in value] if isinstance(value, list) else value


def _difference(old: Any, new: Any) -> str:  # noqa: ANN401 any JSON
    """Return how a field differs; of lists, only the elements that are not in both."""
    if isinstance(old, list) and isinstance(new, list):
        before, after = _compared(old), _compared(new)
        parts = [f"- {_short(part)}" for part in before if part not in after]
        parts += [f"+ {_short(part)}" for part in after if part not in before]
        return ", ".join(parts) or "in another order"
    return f"{_short(old)} -> {_short(new)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _ref_changes(github: TrialGitHub) -> Iterator[GitHubChange]:
    """Yield the changed refs of the fixture's repositories; those of a new repository follow from its creation."""
    for repository, before in github.start.refs.items():
        after = github.end.refs.get(repository, {})
        for ref in sorted({*before, *after}):
            old, new = before.get(ref), after.get(ref)
            if old != new and not ref.startswith(("refs/pull/", "refs/hub/")):
                text = f"{ref}: {old[:7] if old else 'none'} -> {new[:7] if new else 'none'}"
                yield GitHubChange(int(repository), text, ref=ref)
