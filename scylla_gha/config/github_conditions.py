"""Checks of a scenario's conditions on GitHub's state, before anything runs: names, queries, types and patterns."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from scylla_gha.conditions import pattern_fault
from scylla_gha.config import did_you_mean, there_are
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
from scylla_gha.model import Record
from scylla_gha.model.github_condition import (
    AllowedChange,
    GitCondition,
    GitHubQuery,
    GitHubStart,
    GitRevision,
    StateCondition,
)
from scylla_gha.model.github_views import LIST_QUERIES, OBJECT_QUERIES, PUSHES, QUERIES, PushView
from scylla_gha.model.scenario import Checkpoint, Scenario
from scylla_gha.path_patterns import gitignore_fault

R = TypeVar("R", bound=Record)
Names = Mapping[str, Mapping[str, str | int]]  # facts of the fixture's objects, such as the number, by their names
PREFIXES: Final = {"repository": "repo", "pull_request": "pr"}  # prefixes of names, if not the query's name
_PLACEHOLDER: Final = re.compile(r"(?<!\$)\{\{\s*([a-z_]+\.[a-z0-9_-]+)\.([a-z_]+)\s*\}\}")


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
        yield "is about GitHub, but the scenario has no `github`; add it, with the agent's identity"
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
        yield f"target: name the {query.query}; or query all, and select one"
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
            yield f"matches: {fault}; join(', ', ...) makes a text of a list"
        yield from _pattern_faults("matches", condition.matches)


def _element_faults(condition: StateCondition, selected: ValueType) -> Iterator[str]:
    """Yield the faults of `set_equals` and `contains`, whose elements must fit the list or text."""
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
            f"target: {allowance.target!r}: changes of a {kind} are those of its issue or pull request; "
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
        ValueError: the fixture has no such name, or its object no such fact.
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
