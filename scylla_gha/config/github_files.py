"""GitHub's part of a scenario: names and facts of the fixture, and checks of conditions on GitHub's state.

Prompts and conditions may state a fixture's facts before it is made. Numbers are known: issues and
pull requests share one sequence, in the order of the history. Ids and commits are not known.
"""

import datetime
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

from scylla_gha.conditions import pattern_fault
from scylla_gha.config import did_you_mean, load_yaml, there_are
from scylla_gha.config.selection_types import (
    ANY,
    TEXT,
    SelectionError,
    ValueType,
    list_of,
    mismatch,
    selection_type,
    type_of,
    type_of_value,
)
from scylla_gha.errors import ConfigError
from scylla_gha.model import Record, digest
from scylla_gha.model.github_condition import (
    AllowedChange,
    GitCondition,
    GitHubQuery,
    GitHubStart,
    GitRevision,
    StateCondition,
)
from scylla_gha.model.github_fixture import FIXTURE_FILE, FIXTURE_FOLDER, FixtureEntry, GitHubFixture
from scylla_gha.model.github_history import FixtureIssue, FixturePullRequest, FixtureReview
from scylla_gha.model.github_views import LIST_QUERIES, OBJECT_QUERIES, PUSHES, QUERIES, PushView
from scylla_gha.model.scenario import Checkpoint, Scenario
from scylla_gha.path_patterns import gitignore_fault

Facts = Mapping[str, str | int]
_SITE: Final = "https://github.com"
R = TypeVar("R", bound=Record)
Names = Mapping[str, Mapping[str, str | int]]  # facts of the fixture's objects, such as the number, by their names
PREFIXES: Final = {"repository": "repo", "pull_request": "pr"}  # prefixes of names that differ from the query's name
_PLACEHOLDER: Final = re.compile(r"(?<!\$)\{\{\s*([a-z_]+\.[a-z0-9_-]+)\.([a-z_]+)\s*\}\}")


def has_github(fixture: Path) -> bool:
    """Return whether a fixture's folder has GitHub state."""
    return (fixture / FIXTURE_FILE).is_file()


def github_digest(fixture: Path) -> str:
    """Return the digest of a fixture's `github.yaml` and of the files that it uses."""
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
        ConfigError: its `github.yaml` is missing or invalid, or contains a name twice.
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
                f"{fixture / FIXTURE_FILE}; choose another user"
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


def condition_faults(scenario: Scenario, names: Names) -> Iterator[str]:
    """Yield the faults of all conditions on GitHub in a scenario; `names` is empty without GitHub state."""
    for checkpoint in scenario.checkpoints:
        yield from (
            f"checkpoints.{checkpoint.id}: {fault}" for fault in _checkpoint_faults(scenario, checkpoint, names)
        )
    if scenario.github is not None:
        yield from (f"github.may_change: {fault}" for fault in _allowance_faults(scenario.github, names))
        logins = [facts["login"] for name, facts in names.items() if name.startswith("user.")]
        if f"user.{scenario.github.identity}" not in names and scenario.github.identity not in logins:
            users = [name.removeprefix("user.") for name in names if name.startswith("user.")]
            yield f"github.identity: there is no user {scenario.github.identity!r}; there are: {', '.join(users)}"


def _checkpoint_faults(scenario: Scenario, checkpoint: Checkpoint, names: Names) -> Iterator[str]:
    parts = (checkpoint.github, checkpoint.git, checkpoint.checkout, checkpoint.unchanged or None)
    if any(part is not None for part in parts) and scenario.github is None:
        yield "needs `github` in the scenario; add it, with the agent's identity"
        return
    if checkpoint.github is not None:
        yield from _state_faults(checkpoint.github, names)
    if checkpoint.git is not None:
        yield from _git_faults(checkpoint.git, names)
    if checkpoint.checkout is not None:
        yield from _revision_faults(checkpoint.checkout, names)


def _known(name: str | None, names: Names, kind: str = "") -> Iterator[str]:
    if name is None:
        return
    if name not in names:
        yield f"the fixture has no {name!r}{did_you_mean(name, list(names)) or _listed(names)}"
    elif kind and not name.startswith(f"{PREFIXES.get(kind, kind)}."):
        yield f"target: {name!r} is not a {kind}; names of this kind begin with {PREFIXES.get(kind, kind)}."


def _listed(names: Names) -> str:
    return f"; there are: {', '.join(sorted(names)) or 'none'}"


def _query_faults(query: GitHubQuery, names: Names) -> Iterator[str]:
    if query.query not in QUERIES:
        known = f"; there are: {', '.join(QUERIES)}"
        yield f"query: there is no {query.query!r}{did_you_mean(query.query, QUERIES) or known}"
        return
    is_object = query.query in OBJECT_QUERIES
    yield from _known(query.target, names, query.query if is_object else "repository")
    if is_object and query.target is None and query.query != "repository":
        yield f"target: is missing; name the {query.query}, or query all and select one"
    if query.target is None and query.query == "repository":
        yield from _one_repository(None, names)


def _one_repository(name: str | None, names: Names) -> Iterator[str]:
    repositories = [known for known in names if known.startswith("repo.")]
    if name is None and len(repositories) > 1:
        yield f"the fixture has several repositories; name one: {', '.join(repositories)}"
    yield from _known(name, names, "repository")


def _query_type(query: GitHubQuery) -> ValueType:
    if query.query in OBJECT_QUERIES:
        return type_of(OBJECT_QUERIES[query.query])
    return list_of(type_of(PushView if query.query == PUSHES else OBJECT_QUERIES[LIST_QUERIES[query.query]]))


def _login_faults(login: str | None, names: Names) -> Iterator[str]:
    """Yield a fault if no user of the fixture has this login, since no trial could meet the condition."""
    logins = [str(facts["login"]) for name, facts in names.items() if name.startswith("user.")]
    if login is not None and login not in logins:
        yield f"by: the fixture has no user with the login {login!r}{did_you_mean(login, logins) or there_are(logins)}"


def _state_faults(condition: StateCondition, names: Names) -> Iterator[str]:
    yield from _login_faults(condition.by, names)
    for part, query in (("", condition), ("before: ", condition.before)):
        if query is None:
            continue
        faults = list(_query_faults(query, names))
        yield from (f"{part}{fault}" for fault in faults)
        if faults:
            return
        try:
            selected = selection_type(query.select, _query_type(query))
        except SelectionError as error:
            yield f"{part}select: {error}"
            return
        if query.extract is not None:
            yield from (f"{part}{fault}" for fault in _extract_faults(query.extract, selected))
            selected = list_of(TEXT)
        if condition.before is not None or condition.by is not None:
            yield from (f"{part}{fault}" for fault in _object_faults(selected))
        if query is condition:
            yield from _operator_faults(condition, selected)


def _extract_faults(pattern: str, selected: ValueType) -> Iterator[str]:
    text = selected.item if selected.kind == "list" and selected.item else selected
    if fault := mismatch(TEXT, text):
        yield f"extract: needs a text or a list of texts, but {fault}"
    yield from _pattern_faults("extract", pattern)


def _object_faults(selected: ValueType) -> Iterator[str]:
    item = selected.item if selected.kind == "list" and selected.item else selected
    if item.kind != "any" and (item.kind != "object" or "id" not in (item.fields or {"id": ANY})):
        yield f"select: by and before need objects with an id, but {selected} is selected"


def _operator_faults(condition: StateCondition, selected: ValueType) -> Iterator[str]:
    if condition.has_equals and (fault := mismatch(type_of_value(condition.equals), selected)):
        yield f"equals: {fault}"
    if condition.count is not None or condition.set_equals is not None:
        operator = "count" if condition.count is not None else "set_equals"
        if selected.kind not in ("any", "list"):
            yield f"{operator}: needs a list, but {selected} is selected"
        elif selected.fixed:
            yield f"{operator}: the selection builds a list of fixed length itself; leave out [ ]"
    yield from _element_faults(condition, selected)
    if condition.matches is not None:
        if fault := mismatch(TEXT, selected):
            yield f"matches: {fault}; join(', ', ...) turns a list into a text"
        yield from _pattern_faults("matches", condition.matches)


def _element_faults(condition: StateCondition, selected: ValueType) -> Iterator[str]:
    """Yield the elements of `set_equals` and `contains` that do not fit the list or text."""
    item = selected.item or ANY
    for element in condition.set_equals or ():
        if selected.kind == "list" and (fault := mismatch(type_of_value(element), item)):
            yield f"set_equals: {fault}"
    if condition.has_contains:
        whole = selected if selected.kind == "string" else item
        if selected.kind not in ("any", "list", "string"):
            yield f"contains: needs a list or a text, but {selected} is selected"
        elif fault := mismatch(type_of_value(condition.contains), TEXT if whole is selected else whole):
            yield f"contains: {fault}"


def _pattern_faults(where: str, pattern: str | None) -> Iterator[str]:
    if fault := pattern_fault(pattern):
        yield f"{where}: {fault}"


def _revision_faults(revision: GitRevision, names: Names) -> Iterator[str]:
    yield from _known(revision.pull, names, "pull_request")
    if revision.pull is None:
        yield from _one_repository(revision.repository, names)


def _git_faults(condition: GitCondition, names: Names) -> Iterator[str]:
    yield from _revision_faults(condition, names)
    if condition.file_matches is not None:
        yield from _pattern_faults("file_matches", condition.file_matches.matches)
    for pattern in condition.touches_only:
        if fault := gitignore_fault(pattern):
            yield f"touches_only: {fault}"


def _allowance_faults(start: GitHubStart, names: Names) -> Iterator[str]:
    for allowance in start.may_change:
        yield from _known(allowance.target, names)
        yield from _known(allowance.repository, names, "repository")
        if allowance.created is not None and allowance.created not in LIST_QUERIES:
            hint = did_you_mean(allowance.created, list(LIST_QUERIES)) or f"; there are: {', '.join(LIST_QUERIES)}"
            yield f"created: there is no {allowance.created!r}{hint}"
        yield from _field_faults(allowance)


def _field_faults(allowance: AllowedChange) -> Iterator[str]:
    prefix = (allowance.target or "").partition(".")[0]
    kind = next((kind for kind, other in PREFIXES.items() if other == prefix), prefix)
    if allowance.target is not None and kind not in LIST_QUERIES.values():
        yield (
            f"target: {allowance.target!r}: changes of a {kind} count for its issue or pull request; "
            "name that, such as pr.review_me"
        )
        return
    fields = OBJECT_QUERIES[kind].model_fields if allowance.target is not None else {}
    for field in allowance.fields:
        if field not in fields:
            yield f"fields: {kind} has no field {field!r}{did_you_mean(field, list(fields))}"


def rendered(text: str, names: Names) -> str:
    """Fill facts of the fixture into the placeholders of a text, such as `{{ pr.review_me.number }}`.

    Raises:
        ValueError: the fixture lacks the name, or its object lacks the fact.
    """

    def fact(match: re.Match[str]) -> str:
        name, field = match[1], match[2]
        if name not in names:
            raise ValueError(
                f"{match[0]}: the fixture has no {name!r}{did_you_mean(name, list(names)) or _listed(names)}"
            )
        if field not in names[name]:
            raise ValueError(f"{match[0]}: {name} has no {field!r}; it has: {', '.join(names[name])}")
        return str(names[name][field])

    return _PLACEHOLDER.sub(fact, text)


def rendered_record(record: R, names: Names) -> R:
    """Fill facts of the fixture into the placeholders of all texts of a record, as `rendered` does."""

    def render(value: object) -> object:
        if isinstance(value, str):
            return rendered(value, names)
        if isinstance(value, dict):
            return {key: render(part) for key, part in value.items()}
        return [render(part) for part in value] if isinstance(value, list) else value

    fields = render(record.model_dump(mode="json", exclude_unset=True))
    return type(record).model_validate_json(json.dumps(fields))


def rendered_scenario(scenario: Scenario, names: Names) -> Scenario:
    """Fill facts of the fixture into the placeholders of a scenario's checkpoints and `github`, as `rendered` does."""
    github = scenario.github and rendered_record(scenario.github, names)
    checkpoints = tuple(rendered_record(checkpoint, names) for checkpoint in scenario.checkpoints)
    return scenario.model_copy(update={"github": github, "checkpoints": checkpoints})
