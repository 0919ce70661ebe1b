"""Replay of a trial on github.com: writes the repository's differences from the fixture to the fixture's hub.

So the trial leaves the same files as a trial on the hub, with the fixture's logins, numbers and ids. GitHub does not
tell who changed an existing object, nor in which order, so these writes have no actor in the journal. Objects are
created in their order on GitHub, with their author as the actor.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from scylla_gha.github_com.canonical import SETTINGS, TOPIC
from scylla_gha.github_com.replay_subjects import UNKNOWN, ReplayWords, SubjectReplay, TrialDetails
from scylla_gha.github_com.snapshot import (
    LabelSnapshot,
    MilestoneSnapshot,
    ProtectionSnapshot,
    ReleaseSnapshot,
)
from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.git_store import NO_COMMIT
from scylla_gha.hub.records import (
    AssetRecord,
    LabelRecord,
    MilestoneRecord,
    ProtectionRecord,
    ReleaseRecord,
)

N = TypeVar("N")
_SETTINGS: Final = {**SETTINGS, "archived": "archived", "default_branch": "default_branch"}
_RULES: Final[Mapping[str, str]] = {
    "required_approving_review_count": "required_reviews",
    "dismisses_stale_reviews": "dismiss_stale_reviews",
    "requires_code_owner_reviews": "code_owner_reviews",
    "required_status_check_contexts": "required_checks",
    "requires_strict_status_checks": "strict",
    "is_admin_enforced": "enforce_admins",
    "allows_force_pushes": "allow_force_pushes",
    "allows_deletions": "allow_deletions",
    "requires_linear_history": "linear_history",
    "requires_conversation_resolution": "conversation_resolution",
}


class TrialReplay:
    """Writes the differences of a repository at the end of a trial to the hub of its fixture."""

    def __init__(self, words: ReplayWords, details: TrialDetails, refs: Mapping[str, str]) -> None:
        """Prepare for one trial.

        Args:
            words: translation into the hub's numbers and logins, with the repository as the agent's user sees it.
            details: facts that are missing in the repository's state.
            refs: commits of branches, tags and pull-request heads at the end, by ref.
        """
        self._words, self._details, self._refs = words, details, refs
        self._view, self._world = words.view, words.world

    def replay(self) -> None:
        """Write all differences."""
        self._replay_settings()
        self._replay_labels()
        self._replay_milestones()
        SubjectReplay(self._words, self._details).replay()
        self._replay_releases()
        if self._view.state.viewer_can_administer:  # GitHub shows rules to administrators only
            self._replay_protections()
        self._replay_refs()

    def _settle(
        self,
        records: Mapping[str, HubRecord],
        objects: Mapping[str, N],
        prefix: str,
        fields_of: Callable[[str, N], Mapping[str, Any]],
    ) -> None:
        """Delete the records of objects that are gone, and update the records of objects that differ.

        Args:
            records: the hub's records, by name.
            objects: objects of the repository, by name.
            prefix: prefix of the names in the canonical form.
            fields_of: converts an object to the fields of its record.
        """
        state = self._world.hub.state
        different = {difference.name for difference in self._view.differences}
        for name, record in records.items():
            if name not in objects:
                state.delete(UNKNOWN, record)
            elif f"{prefix}{name}" in different:
                state.update(UNKNOWN, record, **fields_of(name, objects[name]))

    def _replay_settings(self) -> None:
        wanted, actual = self._view.reference.canonical["settings"], self._view.canonical["settings"]
        changes = {column: actual[name] for name, column in _SETTINGS.items() if wanted[name] != actual[name]}
        if wanted["topics"] != actual["topics"]:
            changes["topics"] = tuple(topic for topic in self._view.state.repository_topics if topic != TOPIC)
        if wanted["name"] != actual["name"]:
            changes["name"] = self._view.state.name
        self._world.hub.state.update(UNKNOWN, self._world.repository, **changes)

    def _replay_labels(self) -> None:
        repository = self._world.repository_id
        records = {record.name: record for record in self._world.hub.state.where(LabelRecord, repository=repository)}
        self._settle(records, self._view.objects.labels, "label ", lambda _, label: _label_fields(label))
        for label in self._view.objects.extras_of(LabelSnapshot):
            fields = {**_label_fields(label), "color": label.color}
            self._words.create(UNKNOWN, LabelRecord, repository=repository, **fields)

    def _replay_milestones(self) -> None:
        repository = self._world.repository_id
        listed = self._world.hub.state.where(MilestoneRecord, repository=repository)
        records = {record.title: record for record in listed}
        self._settle(records, self._view.objects.milestones, "milestone ", lambda _, stone: _milestone_fields(stone))
        for stone in self._view.objects.extras_of(MilestoneSnapshot):
            creator = self._words.user(self._details.creators[stone.number])
            fields = {"number": stone.number, "creator": creator, **_milestone_fields(stone)}
            self._words.create(creator, MilestoneRecord, repository=repository, **fields)

    def _replay_releases(self) -> None:
        state, objects = self._world.hub.state, self._view.objects
        wanted = self._view.reference.objects.releases
        records = {key: state.need(ReleaseRecord, release.database_id) for key, release in wanted.items()}
        self._settle(records, objects.releases, "", self._release_changes)
        for release in objects.extras_of(ReleaseSnapshot):
            author = self._words.user(release.author)
            target = self._details.targets.get(release.database_id, self._world.repository.default_branch)
            self._words.create(
                author,
                ReleaseRecord,
                repository=self._world.repository_id,
                target=target,
                author=author,
                published_at=None if release.is_draft else state.now(),
                **self._release_fields(release),
            )

    def _release_changes(self, key: str, release: ReleaseSnapshot) -> dict[str, Any]:
        fields = self._release_fields(release)
        changes = {name: value for name, value in fields.items() if self._view.differs(key, name)}
        return {**changes, "published_at": self._world.hub.state.now()} if "draft" in changes else changes

    def _release_fields(self, release: ReleaseSnapshot) -> dict[str, Any]:
        return {
            "name": self._words.text(release.name) or None,
            "body": self._words.text(release.description),
            "tag": release.tag_name,
            "assets": self._assets(release),
            "draft": release.is_draft,
            "prerelease": release.is_prerelease,
        }

    def _assets(self, release: ReleaseSnapshot) -> tuple[AssetRecord, ...]:
        state = self._world.hub.state
        uploader = self._words.user(release.author)
        return tuple(
            AssetRecord(
                id=state.new_id(),
                name=asset.name,
                size=asset.size,
                content_type=asset.content_type,
                blob=self._details.digests.get(f"{release.database_id}/{asset.name}", ""),
                uploader=uploader,
                created_at=state.now(),
                updated_at=state.now(),
            )
            for asset in release.release_assets
        )

    def _replay_protections(self) -> None:
        repository = self._world.repository_id
        rules = {rule.pattern: rule for rule in self._view.state.branch_protection_rules}
        listed = self._world.hub.state.where(ProtectionRecord, repository=repository)
        records = {record.pattern: record for record in listed}
        self._settle(records, rules, "protection ", lambda _, rule: _rule_fields(rule))
        for pattern in [pattern for pattern in rules if pattern not in records]:
            fields = _rule_fields(rules[pattern])
            self._words.create(UNKNOWN, ProtectionRecord, repository=repository, pattern=pattern, **fields)

    def _replay_refs(self) -> None:
        git = self._world.git
        before = {name for name in git.refs() if name.startswith(("refs/heads/", "refs/tags/"))}
        for name in sorted({*before, *self._refs}):
            old, new = git.ref(name), self._refs.get(name)
            if old == new:
                continue
            git.set_ref(name, new or NO_COMMIT)
            if not name.startswith("refs/pull/"):
                is_forced = bool(old and new and not git.is_ancestor(old, new))
                detail = f"{old or NO_COMMIT} {new or NO_COMMIT}{' forced' if is_forced else ''}"
                self._world.hub.state.note_push(UNKNOWN, self._world.repository, name, detail)


def _label_fields(label: LabelSnapshot) -> dict[str, Any]:
    return {"name": label.name, "color": label.color.lower(), "description": label.description or None}


def _milestone_fields(stone: MilestoneSnapshot) -> dict[str, Any]:
    return {
        "title": stone.title,
        "description": stone.description or None,
        "state": stone.state.lower(),
        "due_on": stone.due_on,
    }


def _rule_fields(rule: ProtectionSnapshot) -> dict[str, Any]:
    fields = {column: getattr(rule, name) for name, column in _RULES.items()}
    if not rule.requires_approving_reviews:
        fields["required_reviews"] = None
    if not rule.requires_status_checks:
        fields["required_checks"] = ()
    return fields
