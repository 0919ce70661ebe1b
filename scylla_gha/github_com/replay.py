"""Replay of a trial on github.com: what differs from the fixture is written to the records of the fixture's own hub.

So the trial leaves the same files as one on the hub, in the fixture's words: its logins, its numbers, its ids. GitHub
does not say who changed an object that was there before, nor in which order: such writes have no actor in the journal.
What was created has its author as the actor, in the order of creation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.github_com.canonical import TOPIC
from scylla_gha.github_com.replay_details import ReplayWords, TrialDetails
from scylla_gha.github_com.replay_subjects import SubjectReplay
from scylla_gha.github_com.snapshot import (
    LabelSnapshot,
    MilestoneSnapshot,
    ProtectionSnapshot,
    ReleaseSnapshot,
)
from scylla_gha.github_com.view import FixtureView
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.git_store import NO_COMMIT
from scylla_gha.hub.records import (
    AssetRecord,
    LabelRecord,
    MilestoneRecord,
    ProtectionRecord,
    ReleaseRecord,
)

UNKNOWN: Final = 0  # the actor of writes of which GitHub does not say who did them
_SETTINGS: Final[Mapping[str, str]] = {
    "description": "description",
    "homepage_url": "homepage",
    "has_issues_enabled": "has_issues",
    "has_projects_enabled": "has_projects",
    "has_wiki_enabled": "has_wiki",
    "has_discussions_enabled": "has_discussions",
    "merge_commit_allowed": "allow_merge_commit",
    "squash_merge_allowed": "allow_squash_merge",
    "rebase_merge_allowed": "allow_rebase_merge",
    "auto_merge_allowed": "allow_auto_merge",
    "delete_branch_on_merge": "delete_branch_on_merge",
    "archived": "archived",
    "default_branch": "default_branch",
}
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


@dataclass
class TrialReplay:
    """Writes the differences of a read-back to the hub of a fixture.

    Attributes:
        view: the repository at the end of the trial, as the agent's user sees it.
        world: the hub of the fixture; its records are changed.
        words: translation of the repository's words.
        details: what the view does not tell.
        refs: branches, tags and heads of pull requests at the end, by name.
    """

    view: FixtureView
    world: FixtureWorld
    words: ReplayWords
    details: TrialDetails
    refs: Mapping[str, str]

    def replay(self) -> None:
        """Write all differences."""
        self._settings()
        self._labels()
        self._milestones()
        SubjectReplay(self.view, self.world, self.words, self.details).replay()
        self._releases()
        if self.view.state.viewer_can_administer:  # others are not shown any rule
            self._protections()
        self._refs()

    def _update(self, record: Any, **changes: Any) -> None:  # noqa: ANN401 any record and its fields
        self.world.hub.state.update(UNKNOWN, record, **changes)

    def _settings(self) -> None:
        wanted, actual = self.view.reference.canonical["settings"], self.view.canonical["settings"]
        changes = {_SETTINGS[name]: actual[name] for name in _SETTINGS if wanted[name] != actual[name]}
        if wanted["topics"] != actual["topics"]:
            changes["topics"] = tuple(topic for topic in self.view.state.repository_topics if topic != TOPIC)
        if wanted["name"] != actual["name"]:
            changes["name"] = self.view.state.name
        self._update(self.world.repository, **changes)

    def _labels(self) -> None:
        state, repository = self.world.hub.state, self.world.repository_id
        for record in state.where(LabelRecord, repository=repository):
            label = self.view.objects.labels.get(record.name)
            if label is None:
                state.delete(UNKNOWN, record)
            elif f"label {record.name}" in self._different:
                self._update(record, name=label.name, color=label.color.lower(), description=label.description or None)
        for extra in self.view.objects.extras.values():
            if isinstance(extra, LabelSnapshot):
                state.create(
                    UNKNOWN,
                    LabelRecord(
                        id=state.new_id(),
                        created_at=state.now(),
                        repository=repository,
                        name=extra.name,
                        color=extra.color,
                        description=extra.description or None,
                    ),
                )

    @property
    def _different(self) -> set[str]:
        """Names of the fixture's objects that differ."""
        return {difference.name for difference in self.view.differences}

    def _milestones(self) -> None:
        state, repository = self.world.hub.state, self.world.repository_id
        for record in state.where(MilestoneRecord, repository=repository):
            stone = self.view.objects.milestones.get(record.title)
            if stone is None:
                state.delete(UNKNOWN, record)
            elif f"milestone {record.title}" in self._different:
                self._update(record, **_milestone_fields(stone))
        for extra in self.view.objects.extras.values():
            if isinstance(extra, MilestoneSnapshot):
                creator = self.words.user(self.details.creators[extra.number])
                state.create(
                    creator,
                    MilestoneRecord(
                        id=state.new_id(),
                        created_at=state.now(),
                        updated_at=state.now(),
                        repository=repository,
                        number=extra.number,
                        creator=creator,
                        **_milestone_fields(extra),
                    ),
                )

    def _releases(self) -> None:
        state, objects = self.world.hub.state, self.view.objects
        for key, wanted in self.view.reference.objects.releases.items():
            record, release = state.need(ReleaseRecord, wanted.database_id), objects.releases.get(key)
            if release is None:
                state.delete(UNKNOWN, record)
            elif key in self._different:
                self._update(record, **self._release_changes(key, record, release))
        for extra in objects.extras.values():
            if isinstance(extra, ReleaseSnapshot):
                self._create_release(extra)

    def _release_changes(self, key: str, record: ReleaseRecord, release: ReleaseSnapshot) -> dict[str, Any]:
        fields = {
            "name": self.words.text(release.name) or None,
            "body": self.words.text(release.description),
            "tag": release.tag_name,
            "assets": self._assets(release),
            "draft": release.is_draft,
            "prerelease": release.is_prerelease,
        }
        changes: dict[str, Any] = {name: part for name, part in fields.items() if self.view.differs(key, name)}
        return changes | ({} if release.is_draft == record.draft else {"published_at": self.world.hub.state.now()})

    def _create_release(self, release: ReleaseSnapshot) -> None:
        state = self.world.hub.state
        author = self.words.user(release.author)
        state.create(
            author,
            ReleaseRecord(
                id=state.new_id(),
                created_at=state.now(),
                repository=self.world.repository_id,
                tag=release.tag_name,
                target=self.details.targets.get(release.database_id, self.world.repository.default_branch),
                author=author,
                name=self.words.text(release.name) or None,
                body=self.words.text(release.description),
                draft=release.is_draft,
                prerelease=release.is_prerelease,
                published_at=None if release.is_draft else state.now(),
                assets=self._assets(release),
            ),
        )

    def _assets(self, release: ReleaseSnapshot) -> tuple[AssetRecord, ...]:
        state = self.world.hub.state
        uploader = self.words.user(release.author)
        return tuple(
            AssetRecord(
                id=state.new_id(),
                name=asset.name,
                size=asset.size,
                content_type=asset.content_type,
                blob=self.details.digests.get(f"{release.database_id}/{asset.name}", ""),
                uploader=uploader,
                created_at=state.now(),
                updated_at=state.now(),
            )
            for asset in release.release_assets
        )

    def _protections(self) -> None:
        state, repository = self.world.hub.state, self.world.repository_id
        rules = {rule.pattern: rule for rule in self.view.state.branch_protection_rules}
        for record in state.where(ProtectionRecord, repository=repository):
            rule = rules.pop(record.pattern, None)
            if rule is None:
                state.delete(UNKNOWN, record)
            elif f"protection {record.pattern}" in self._different:
                self._update(record, **_rule_fields(rule))
        for rule in rules.values():
            state.create(
                UNKNOWN,
                ProtectionRecord(
                    id=state.new_id(),
                    created_at=state.now(),
                    repository=repository,
                    pattern=rule.pattern,
                    **_rule_fields(rule),
                ),
            )

    def _refs(self) -> None:
        git, state = self.world.git, self.world.hub.state
        before = {name: sha for name, sha in git.refs().items() if name.startswith(("refs/heads/", "refs/tags/"))}
        heads = {name: sha for name, sha in self.refs.items() if name.startswith("refs/pull/")}
        for name in sorted({*before, *self.refs}):
            old, new = git.ref(name), self.refs.get(name)
            if old == new:
                continue
            git.set_ref(name, new or NO_COMMIT)
            if name not in heads:
                is_forced = bool(old and new and not git.is_ancestor(old, new))
                detail = f"{old or NO_COMMIT} {new or NO_COMMIT}{' forced' if is_forced else ''}"
                state.note_push(UNKNOWN, self.world.repository, name, detail)


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
