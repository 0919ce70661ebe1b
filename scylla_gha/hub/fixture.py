"""Start states of GitHub from a fixture's `github.yaml`, made by the same operations that clients use.

What GitHub would refuse is an error of the file. The clock is the fixture's own, so a file always gives the same ids,
commits and times.
"""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scylla_gha.config import load_yaml
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.hub import fixture_runs, fixture_steps, fixture_subjects
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import Blobs, Hub
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.fixture_world import FixtureWorld, StepMaker
from scylla_gha.hub.git_objects import fetch
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.labels import create_label
from scylla_gha.hub.operations.milestones import create_milestone
from scylla_gha.hub.operations.refs import BRANCH
from scylla_gha.hub.operations.repositories import set_topics
from scylla_gha.hub.operations.workflow_files import register_workflows
from scylla_gha.hub.records import Permission, RepositoryRecord, UserRecord
from scylla_gha.hub.scripted_reviewers import add_scripted_reviewer
from scylla_gha.hub.state import HubState
from scylla_gha.model.github_fixture import FIXTURE_FILE, GitHubFixture

_STEPS: Final[Mapping[str, StepMaker]] = {
    **fixture_steps.STEPS,
    **fixture_subjects.STEPS,
    **fixture_runs.STEPS,
}
_PREFIXES: Final = {"pull": "pr"}


@dataclass(frozen=True, slots=True)
class StartCommit:
    """Commit of a fixture's own files, and a git directory that has it."""

    sha: str
    git_dir: Path


def read_fixture(folder: Path) -> GitHubFixture:
    """Read the `github.yaml` of a fixture's folder.

    Raises:
        ConfigError: it is missing or invalid.
    """
    return load_yaml(folder / FIXTURE_FILE, GitHubFixture)


def build_fixture(folder: Path, target: Path, start: StartCommit | None = None) -> FixtureWorld:
    """Make the GitHub of a fixture in an empty folder. Its journal is empty, and no token is valid.

    Raises:
        ConfigError: the file is invalid, or GitHub would refuse a step; the message names file and key.
    """
    fixture = read_fixture(folder)
    hub = Hub(target, HubState(fixture.begin), Blobs(target / "blobs"))
    world = FixtureWorld(hub, fixture, folder)
    _attempt(world, "users and repository", lambda: _begin(world, start))
    for number, entry in enumerate(fixture.history):
        kind, step = entry.step
        key = getattr(step, "key", None)
        where = f"history.{number}.{kind}{f' ({_PREFIXES.get(kind, kind)}.{key})' if key else ''}"
        if entry.at is not None:
            if entry.at < hub.state.clock:
                raise ConfigError(f"{folder / FIXTURE_FILE}: {where}: at: is before the end of the step before, "
                                  f"{hub.state.clock:%Y-%m-%dT%H:%M:%SZ}; give a later time")  # fmt: skip
            hub.state.clock = entry.at
        _attempt(world, where, functools.partial(_STEPS[kind], world, step))
    for number, reviewer in enumerate(fixture.scripted_reviewers):
        where = f"scripted_reviewers.{number} ({reviewer.reviewer})"
        _attempt(world, where, functools.partial(add_scripted_reviewer, world, reviewer))
    register_workflows(world.owner, world.repository)  # those of the fixture's own files, which no step has pushed
    _refuse_older_than_parents(world)
    hub.state.clock = max(hub.state.clock, fixture.now or hub.state.clock)
    hub.state.journal.clear()
    return world


def _refuse_older_than_parents(world: FixtureWorld) -> None:
    """Refuse a commit that is older than its parent: git walks histories by date, and would count it wrongly.

    A rebase leaves the author's date alone, so authors are compared only if neither commit was written anew.

    Raises:
        ConfigError: there is one; the message names both commits and their dates.
    """
    commits = {commit.sha: commit for commit in world.git.log("--all")}
    pairs = [(commit, commits[sha]) for commit in commits.values() for sha in commit.parents if sha in commits]
    for child, parent in pairs:
        dates = [("committer", child.committer.date, parent.committer.date)]
        if all(commit.author.date == commit.committer.date for commit in (child, parent)):
            dates.append(("author", child.author.date, parent.author.date))
        for role, date, date_of_parent in dates:
            if date < date_of_parent:
                raise ConfigError(
                    f"{world.folder}: commit {child.sha} ({child.headline}) has the {role} date "
                    f"{date:%Y-%m-%dT%H:%M:%SZ}, which is before that of its parent {parent.sha} ({parent.headline}), "
                    f"{date_of_parent:%Y-%m-%dT%H:%M:%SZ}; give `begin` of {FIXTURE_FILE} the date of the first commit"
                )


def _attempt(world: FixtureWorld, where: str, make: Callable[[], None]) -> None:
    file = world.folder / FIXTURE_FILE
    try:
        make()
    except HubError as error:
        details = "; ".join(_detail(part) for part in error.errors)
        message = f"{error.message}: {details}" if details else error.message
        raise ConfigError(f"{file}: {where}: GitHub refuses this: {message}") from None
    except (ConfigError, ToolError) as error:
        raise ConfigError(f"{file}: {where}: {error}") from None


def _detail(error: Mapping[str, Any] | str) -> str:
    if isinstance(error, str):
        return error
    return str(error.get("message") or f"{error.get('field', error.get('resource'))}: {error.get('code')}")


def _begin(world: FixtureWorld, start: StartCommit | None) -> None:
    """Create users, repository, labels and milestones."""
    state, fixture = world.hub.state, world.fixture
    for name, user in fixture.users.items():
        if state.user(user.login) is not None:
            raise ConfigError(f"users.{name}: the login {user.login} is taken; logins ignore case")
        fields = user.model_dump(exclude={"permission"})
        record = state.create(0, UserRecord(id=state.new_id(), created_at=state.now(), **fields))
        world.remember("user", name, record, login=user.login, name=user.name or user.login)
    _create_repository(world, start)
    for label in fixture.labels:
        created = create_label(world.owner, world.repository, label.name, label.color, label.description)
        world.remember("label", _key(label.name), created, name=label.name)
    for milestone in fixture.milestones:
        record_of = create_milestone(
            world.owner, world.repository, milestone.title, description=milestone.description,
            due_on=milestone.due_on, state="closed" if milestone.closed else "open",
        )  # fmt: skip
        world.remember("milestone", _key(milestone.title), record_of, number=record_of.number, title=milestone.title)


def _create_repository(world: FixtureWorld, start: StartCommit | None) -> None:
    state, settings = world.hub.state, world.fixture.repository
    owner, now = world.user(settings.owner), state.now()
    permissions: tuple[tuple[int, Permission], ...] = tuple(
        (world.user(name).id, user.permission)
        for name, user in world.fixture.users.items()
        if user.permission is not None and user.kind != "Organization" and name != settings.owner
    )
    record = RepositoryRecord(id=state.new_id(), created_at=now, updated_at=now, pushed_at=now, owner=owner.id,
                              permissions=permissions, **settings.model_dump(exclude={"owner", "topics"}))  # fmt: skip
    state.create(owner, record)
    world.repository_id = record.id
    git = GitRepository.create(world.hub.git_folder(record.id))
    git.run("symbolic-ref", "HEAD", f"{BRANCH}{settings.default_branch}")
    if start is not None:
        fetch(git, GitRepository(start.git_dir), start.sha)
        git.set_ref(f"{BRANCH}{settings.default_branch}", start.sha)
        world.remember("commit", "start", sha=start.sha, short=start.sha[:7], branch=settings.default_branch)
    full_name = state.full_name(record)
    world.remember("repo", "main", record, owner=owner.login, name=settings.name, full_name=full_name,
                   url=f"{SITE}/{full_name}", default_branch=settings.default_branch)  # fmt: skip
    if settings.topics:
        set_topics(world.owner, world.repository, settings.topics)


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
