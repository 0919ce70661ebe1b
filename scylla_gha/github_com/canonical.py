"""Canonical form of a repository's state, with names instead of ids, numbers and logins, and its digest.

It maps each object's name to its fields. It leaves out times, timelines, edits, and who closed, resolved or merged.
A review that only has line comments is represented by its threads. An issue's reason REOPENED equals no reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.github_com.identify import Dialect, FixtureObjects
from scylla_gha.github_com.snapshot import (
    PullSnapshot,
    RepositorySnapshot,
    StateSnapshot,
    SubjectSnapshot,
    SubmittedReview,
    TextSnapshot,
)
from scylla_gha.model import digest

TOPIC: Final = "scylla-fixture"  # topic of each repository that fixtures may change
Canonical = Mapping[str, Mapping[str, Any]]
# From fields of `RepositorySnapshot` to names in REST and in the hub's records.
SETTINGS_OF_GRAPHQL: Final = {  # settings that GraphQL's `updateRepository` can change
    "description": "description",
    "homepage_url": "homepage",
    "has_issues_enabled": "has_issues",
    "has_projects_enabled": "has_projects",
    "has_wiki_enabled": "has_wiki",
    "has_discussions_enabled": "has_discussions",
}
SETTINGS_OF_REST: Final = {  # settings that only REST can change
    "merge_commit_allowed": "allow_merge_commit",
    "squash_merge_allowed": "allow_squash_merge",
    "rebase_merge_allowed": "allow_rebase_merge",
    "auto_merge_allowed": "allow_auto_merge",
    "delete_branch_on_merge": "delete_branch_on_merge",
}
SETTINGS: Final = {**SETTINGS_OF_GRAPHQL, **SETTINGS_OF_REST}


@dataclass(frozen=True, slots=True)
class StateDifference:
    """Field of an object that differs. If an object is missing or extra, the field is `exists`: True or None."""

    name: str
    field: str
    wanted: Any
    actual: Any

    def __str__(self) -> str:
        """Return the difference for messages."""
        if self.field == "exists":
            return f"{self.name}: {'is missing' if self.wanted else 'is not part of the fixture'}"
        return f"{self.name}: {self.field} is {_short(self.actual)}, not {_short(self.wanted)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004 characters of a line


def canonical_state(state: RepositorySnapshot, objects: FixtureObjects, dialect: Dialect) -> Canonical:
    """Return the canonical form of a state."""
    return dict(_entries(state, objects, dialect))


def canonical_digest(state: Canonical) -> str:
    """Return the SHA-256 of a canonical form."""
    return digest(state)


def differences(wanted: Canonical, actual: Canonical) -> list[StateDifference]:
    """Return the fields that differ, in the order of the wanted objects."""
    different = []
    for name in dict.fromkeys((*wanted, *actual)):
        expected, current = wanted.get(name), actual.get(name)
        if expected is None or current is None:
            different.append(StateDifference(name, "exists", expected is not None or None, current is not None or None))
        else:
            different += [
                StateDifference(name, field, value, current[field])
                for field, value in expected.items()
                if value != current[field]
            ]
    return different


def _entries(
    state: RepositorySnapshot, objects: FixtureObjects, dialect: Dialect
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    texts = ("description", "homepage_url")
    settings = {name: getattr(state, name) or (None if name in texts else False) for name in SETTINGS}
    yield (
        "settings",
        {
            **settings,
            "archived": state.is_archived,
            "default_branch": state.default_branch_ref,
            "name": dialect.with_placeholders(state.name_with_owner),
            "topics": sorted(topic for topic in state.repository_topics if topic != TOPIC),
        },
    )
    yield from ((name, {"object": sha}) for name, sha in state.refs.items())
    for name, label in objects.labels.items():
        fields = {"name": label.name, "color": label.color.lower(), "description": label.description or None}
        yield f"label {name}", fields
    for title, milestone in objects.milestones.items():
        due = milestone.due_on.date().isoformat() if milestone.due_on else None  # GitHub stores only the day
        yield (
            f"milestone {title}",
            {
                "title": milestone.title,
                "description": milestone.description or None,
                "state": milestone.state,
                "due_on": due,
            },
        )
    yield from _subjects(objects, dialect)
    yield from _releases(objects, dialect)
    for rule in state.branch_protection_rules:
        checks = sorted(rule.required_status_check_contexts)
        others = rule.model_dump(exclude={"id", "pattern", "required_status_check_contexts"})
        yield f"protection {rule.pattern}", {**others, "required_status_check_contexts": checks}
    yield from ((f"extra {name_of(node)}", {"extra": True}) for node in objects.extras.values())


def name_of(node: object) -> str:
    """Return a name for messages for an object that is not in the fixture."""
    if isinstance(node, SubjectSnapshot):
        return f"{'pull request' if isinstance(node, PullSnapshot) else 'issue'} #{node.number}"
    if isinstance(node, TextSnapshot):
        return f"text {node.id} of {node.author}"
    names = (getattr(node, name, None) for name in ("tag_name", "title", "name"))
    return f"{type(node).__name__.removesuffix('Snapshot').lower()} {next(name for name in names if name)}"


def _text(node: TextSnapshot, key: str, dialect: Dialect) -> dict[str, Any]:
    return {
        "author": dialect.user(node.author),
        "body": dialect.with_placeholders(node.body),
        "marker": dialect.marker(key, node.body),
    }


def _subjects(objects: FixtureObjects, dialect: Dialect) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, subject in objects.subjects.items():
        fields = {
            **_text(subject, key, dialect),
            "title": dialect.with_placeholders(subject.title),
            "state": subject.state,
            "locked": subject.locked,
            "labels": sorted(subject.labels),
            "assignees": sorted(map(dialect.user, subject.assignees)),
            "milestone": subject.milestone,
            "comments": _keys_of(objects.comments, subject.comments),
        }
        yield key, {**fields, **(_pull(objects, subject, dialect) if isinstance(subject, PullSnapshot) else {})}
    for key, issue in objects.issues.items():
        reason = None if issue.state_reason == "REOPENED" else issue.state_reason
        twin = dialect.keys.get(issue.duplicate_of or 0, issue.duplicate_of)
        yield f"{key}/closing", {"reason": reason, "duplicate_of": twin}
    for group in (objects.comments, objects.reviews, objects.lines):
        for key, text in group.items():
            verdict = {"state": text.state, "commit": text.commit} if isinstance(text, SubmittedReview) else {}
            yield key, _text(text, key, dialect) | verdict


def _keys_of(texts: Mapping[str, StateSnapshot], nodes: tuple[TextSnapshot, ...]) -> list[str]:
    """Return the keys of the fixture's texts among `nodes`, in their order."""
    keys = {node.id: key for key, node in texts.items()}  # type: ignore[attr-defined]
    return [keys[node.id] for node in nodes if node.id in keys]


def _pull(objects: FixtureObjects, pull: PullSnapshot, dialect: Dialect) -> dict[str, Any]:
    threads = {}
    for key, thread in objects.threads.items():
        if any(thread.id == listed.id for listed in pull.review_threads):
            fields = thread.model_dump(exclude={"id", "resolved_by", "comments"})
            threads[key] = {**fields, "comments": _keys_of(objects.lines, thread.comments)}
    return {
        "base": pull.base_ref_name,
        "head": pull.head_ref_name,
        "head_object": pull.head_ref_oid,
        "draft": pull.is_draft,
        "reviewers": sorted(map(dialect.user, pull.review_requests)),
        "reviews": _keys_of(objects.reviews, pull.reviews),
        "threads": threads,
    }


def _releases(objects: FixtureObjects, dialect: Dialect) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, release in objects.releases.items():
        yield (
            key,
            {
                "tag": release.tag_name,
                "name": dialect.with_placeholders(release.name),
                "body": dialect.with_placeholders(release.description),
                "marker": dialect.marker(key, release.description),
                "draft": release.is_draft,
                "prerelease": release.is_prerelease,
                "author": dialect.user(release.author),
                "assets": {
                    asset.name: asset.size for asset in sorted(release.release_assets, key=lambda asset: asset.name)
                },
            },
        )
