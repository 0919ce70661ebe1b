"""GitHub of a fixture in the making: what the steps so far can be named by, in later steps and in prompts."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scylla_gha.errors import ConfigError
from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.cell import Hub, HubSession
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.records import RepositoryRecord, UserRecord
from scylla_gha.model.github_fixture import FIXTURE_FILE, FIXTURE_FOLDER, GitHubFixture, ScriptedReviewer

_NAME: Final = re.compile(r"(?<!\$)\{\{ *([a-z]+\.[a-z0-9_-]+)\.([a-z_0-9]+) *\}\}")
Binding = Mapping[str, str | int]


@dataclass
class FixtureWorld:
    """Hub in the making, and what the steps so far can be named by.

    Attributes:
        names: ids of records, by names such as `pr.review_me`.
        bindings: facts for prompts by the same names and those of commits, such as number, id, sha or branch.
        scripted_reviewers: those of the file, with the facts that their texts name.
    """

    hub: Hub
    fixture: GitHubFixture
    folder: Path
    repository_id: int = 0
    names: dict[str, int] = field(default_factory=dict)
    bindings: dict[str, dict[str, str | int]] = field(default_factory=dict)
    scripted_reviewers: list[ScriptedReviewer] = field(default_factory=list)

    @property
    def repository(self) -> RepositoryRecord:
        """The repository as it is now."""
        return self.hub.state.need(RepositoryRecord, self.repository_id)

    @property
    def git(self) -> GitRepository:
        """The repository's git."""
        return self.hub.git(self.repository_id)

    def user(self, name: str) -> UserRecord:
        """Return a user of the file.

        Raises:
            ConfigError: there is none of this name.
        """
        if f"user.{name}" not in self.names:
            raise ConfigError(f"there is no user {name!r}; the users are {', '.join(self.fixture.users)}")
        return self.hub.state.need(UserRecord, self.names[f"user.{name}"])

    def session(self, name: str) -> HubSession:
        """Return the session of a user of the file."""
        return HubSession(self.hub, self.user(name))

    @property
    def owner(self) -> HubSession:
        """The session of the repository's owner, who may do all."""
        return self.session(self.fixture.repository.owner)

    def remember(self, kind: str, key: str | None, record: HubRecord | None = None, **facts: str | int) -> None:
        """Name what a step made.

        Raises:
            ConfigError: the name is taken.
        """
        if key is None:
            return
        name = f"{kind}.{key}"
        if name in self.bindings:
            raise ConfigError(f"the key {key!r} is taken by another {kind}; rename one")
        ids = {} if record is None else {"id": record.id}
        self.bindings[name] = {**ids, **facts}
        self.names.update({name: record.id} if record is not None else {})

    def named(self, name: str, kind: str) -> int:
        """Return the id of what was named before, such as `issue.crash`.

        Raises:
            ConfigError: no step before has this name.
        """
        if not name.startswith(f"{kind}.") or name not in self.names:
            raise ConfigError(f"no step before is {name!r}; name one as {kind}.KEY")
        return self.names[name]

    def text(self, text: str | None) -> str | None:
        """Return a text with the facts that it names."""
        return None if text is None else fill_in(text, self.bindings)

    def revision(self, name: str) -> str:
        """Return the commit of a branch, a tag, `commit.KEY` or `pr.KEY`.

        Raises:
            ConfigError: there is none.
        """
        facts = self.bindings.get(name, {})
        sha = (
            self.git.ref(f"refs/pull/{facts['number']}/head") if name.startswith("pr.") and facts else facts.get("sha")
        )
        commit = str(sha) if sha else self.git.resolve(name)
        if commit is None:
            raise ConfigError(f"there is no commit {name!r}; give a branch, a tag, commit.KEY or pr.KEY")
        return commit

    def beside(self, name: str) -> bytes:
        """Return a file of the folder beside the YAML file.

        Raises:
            ConfigError: there is none in this folder.
        """
        root = (self.folder / FIXTURE_FOLDER).resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            raise ConfigError(f"there is no file {name!r} in {FIXTURE_FOLDER}/")
        return path.read_bytes()


StepMaker = Callable[[FixtureWorld, Any], None]


def fill_in(text: str, bindings: Mapping[str, Binding]) -> str:
    """Replace names such as `{{ pr.review_me.number }}` in a text.

    Raises:
        ConfigError: a name is unknown.
    """

    def value(matched: "re.Match[str]") -> str:
        facts = bindings.get(matched[1])
        if facts is None:
            raise ConfigError(f"{matched[0]}: there is no {matched[1]} in {FIXTURE_FILE}")
        if matched[2] not in facts:
            raise ConfigError(f"{matched[0]}: {matched[1]} has no {matched[2]}; it has {', '.join(facts)}")
        return str(facts[matched[2]])

    return _NAME.sub(value, text)
