"""Names of a fixture's GitHub objects, with the facts that prompts and conditions may state before it is made.

Numbers are known: issues and pull requests share one sequence, in the order of the history. Ids and commits are not.
"""

import datetime
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scylla_gha.config import load_yaml
from scylla_gha.errors import ConfigError
from scylla_gha.model import digest
from scylla_gha.model.github_fixture import FIXTURE_FILE, FIXTURE_FOLDER, FixtureEntry, GitHubFixture
from scylla_gha.model.github_history import FixtureIssue, FixturePullRequest, FixtureReview
from scylla_gha.model.scenario import Scenario

Facts = Mapping[str, str | int]
_SITE: Final = "https://github.com"


def has_github(fixture: Path) -> bool:
    """Return whether a fixture's folder has GitHub state."""
    return (fixture / FIXTURE_FILE).is_file()


def github_digest(fixture: Path) -> str:
    """Return the digest of a fixture's `github.yaml` and of the files beside it that it uses."""
    files = [fixture / FIXTURE_FILE, *sorted((fixture / FIXTURE_FOLDER).rglob("*"))]
    return digest(
        {
            str(path.relative_to(fixture)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.is_file()
        }
    )


def begin_of_history(fixture: Path) -> datetime.datetime:
    """Return the time at which a fixture's history on GitHub begins.

    Raises:
        ConfigError: its `github.yaml` is invalid.
    """
    return load_yaml(fixture / FIXTURE_FILE, GitHubFixture).begin


def fixture_names(fixture: Path) -> dict[str, Facts]:
    """Return the facts of a fixture's objects by their names, such as `pr.review_me`.

    Raises:
        ConfigError: its `github.yaml` is missing or invalid, or has a name twice.
    """
    path = fixture / FIXTURE_FILE
    if not has_github(fixture):
        raise ConfigError(f"{path}: there is no such file; a scenario with `github` needs it in its fixture")
    content = load_yaml(path, GitHubFixture)
    names: dict[str, Facts] = {}
    for name, facts in (*_ground(content), *_history(content)):
        if name in names:
            raise ConfigError(f"{path}: the name {name} is given twice; rename one")
        names[name] = facts
    return names


def check_identity(file: Path, scenario: Scenario, fixture: Path) -> None:
    """Refuse a scenario, in `file`, whose agent acts as a scripted reviewer of its fixture."""
    identity = scenario.github.identity if scenario.github else None
    content = load_yaml(fixture / FIXTURE_FILE, GitHubFixture)
    for reviewer in content.scripted_reviewers:
        user = content.users.get(reviewer.reviewer)
        if user is not None and identity in (reviewer.reviewer, user.login):
            raise ConfigError(
                f"{file}: github.identity: {identity!r} is a scripted reviewer of "
                f"{fixture / FIXTURE_FILE}; let the agent act as somebody else"
            )


def _ground(content: GitHubFixture) -> Iterator[tuple[str, Facts]]:
    for name, user in content.users.items():
        yield f"user.{name}", {"login": user.login, "name": user.name or user.login}
    settings, owner = content.repository, content.users.get(content.repository.owner)
    full_name = f"{owner.login if owner else settings.owner}/{settings.name}"
    yield (
        "repo.main",
        {
            "owner": full_name.partition("/")[0],
            "name": settings.name,
            "full_name": full_name,
            "url": f"{_SITE}/{full_name}",
            "default_branch": settings.default_branch,
        },
    )
    yield from ((f"label.{_key(label.name)}", {"name": label.name}) for label in content.labels)
    for number, milestone in enumerate(content.milestones, start=1):
        yield f"milestone.{_key(milestone.title)}", {"number": number, "title": milestone.title}


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _history(content: GitHubFixture) -> Iterator[tuple[str, Facts]]:
    number = 0
    for entry in content.history:
        _, step = entry.step
        if isinstance(step, (FixtureIssue, FixturePullRequest)):
            number += 1
            yield from _subject(content, step, number)
        elif isinstance(step, FixtureReview):
            yield from _review(step)
        else:
            yield from _others(entry)


def _subject(
    content: GitHubFixture, step: FixtureIssue | FixturePullRequest, number: int
) -> Iterator[tuple[str, Facts]]:
    owner = content.users.get(content.repository.owner)
    site = f"{_SITE}/{owner.login if owner else ''}/{content.repository.name}"
    facts: dict[str, str | int] = {"number": number}
    if isinstance(step, FixtureIssue):
        yield from _named("issue", step.key, {**facts, "url": f"{site}/issues/{number}"})
    else:
        base = step.base or content.repository.default_branch
        pull = {**facts, "url": f"{site}/pull/{number}", "head": step.head, "branch": step.head, "base": base}
        yield from _named("pr", step.key, pull)
        for review in step.reviews:
            yield from _review(review)
    for comment in step.comments:
        yield from _named("comment", comment.key, {})


def _review(step: FixtureReview) -> Iterator[tuple[str, Facts]]:
    yield from _named("review", step.key, {})
    for thread in step.threads:
        yield from _named("thread", thread.key, {"path": thread.path, "line": thread.line or 0})
        for reply in thread.replies:
            yield from _named("comment", reply.key, {})


def _others(entry: FixtureEntry) -> Iterator[tuple[str, Facts]]:
    if entry.comment is not None:
        yield from _named("comment", entry.comment.key, {})
    if entry.release is not None:
        release = entry.release
        yield from _named("release", release.key, {"tag": release.tag, "name": release.name or release.tag})
    if entry.check is not None:
        yield from _named("check", entry.check.key, {"name": entry.check.name})
    if entry.run is not None:
        yield from _named("run", entry.run.key, {"branch": entry.run.branch})
        yield from _named("workflow", entry.run.key, {"path": entry.run.workflow})


def _named(kind: str, key: str | None, facts: Facts) -> Iterator[tuple[str, Facts]]:
    if key is not None:
        yield f"{kind}.{key}", facts
