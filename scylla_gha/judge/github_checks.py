"""Checks of the records that a trial left on GitHub. What the agent changed or deleted is evidence, not an error."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.judge.github_trial import GoneError, TrialGitHub
from scylla_gha.model.github_condition import GitHubCount, GitHubQuery, StateCondition
from scylla_gha.model.github_views import GitHubView

_SHOWN: Final = 300


def state_fault(condition: StateCondition, github: TrialGitHub) -> str | None:
    """Return why a condition on the state does not hold, or None."""
    try:
        value = _selected(condition, github)
    except GoneError as error:
        return None if condition.absent else str(error)
    if condition.absent:
        return f"there is {_shown(value)}" if _is_there(value) else None
    return next(_operator_faults(condition, value, github), None)


def state_evidence(condition: StateCondition, github: TrialGitHub) -> str:
    """Return what a condition that holds has selected."""
    try:
        return _shown(_selected(condition, github))
    except GoneError as error:
        return str(error)


def _selected(condition: GitHubQuery, github: TrialGitHub) -> Any:  # noqa: ANN401 any JSON
    """Return what jmespath selects, as JSON."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    result = github.query(condition.query, condition.target)
    plain = _plain(result)
    try:
        return jmespath.search(condition.select, plain)
    except JMESPathError as error:  # a function on null, where the agent removed a text
        raise GoneError(f"{condition.select}: {error}") from None


def _plain(result: GitHubView | list[GitHubView]) -> Any:  # noqa: ANN401 any JSON
    return [_plain(view) for view in result] if isinstance(result, list) else result.model_dump(mode="json")


def _is_there(value: object) -> bool:
    return value is not None and value != []


def _operator_faults(condition: StateCondition, value: Any, github: TrialGitHub) -> Iterator[str]:  # noqa: ANN401
    if condition.exists and not _is_there(value):
        yield "there is none"
    yield from _value_faults(condition, value)
    if condition.count is not None:
        yield from _count_faults(value, condition.count)
    if condition.by is not None:
        yield from _writer_faults(value, condition.by, github)
    if condition.before is not None:
        yield from _order_faults(value, condition.before, github)


def _value_faults(condition: StateCondition, value: Any) -> Iterator[str]:  # noqa: ANN401
    if condition.has_equals and value != condition.equals:
        yield f"is {_shown(value)}, not {_shown(condition.equals)}"
    if condition.set_equals is not None:
        yield from _set_faults(value, condition.set_equals)
    if condition.has_contains and not _contains(value, condition.contains):
        yield f"{_shown(value)} does not contain {_shown(condition.contains)}"
    if condition.matches is not None and not _matches(value, condition.matches):
        yield f"{_shown(value)} does not match {condition.matches!r}"


def _set_faults(value: object, expected: tuple[Any, ...]) -> Iterator[str]:
    elements = {_canonical(element) for element in value} if isinstance(value, list) else None
    wanted = {_canonical(element) for element in expected}
    if elements is None:
        yield f"is {_shown(value)}, no list"
    elif elements != wanted:
        missing, extra = sorted(wanted - elements), sorted(elements - wanted)
        parts = [f"without {', '.join(missing)}"] if missing else []
        yield "; ".join([*parts, *([f"with {', '.join(extra)} beside"] if extra else [])])[:_SHOWN]
    elif isinstance(value, list) and len(value) != len(elements):
        yield f"has one of its elements twice: {_shown(value)}"


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _contains(value: object, part: Any) -> bool:  # noqa: ANN401 any JSON
    if isinstance(value, str):
        return isinstance(part, str) and part in value
    return isinstance(value, list) and part in value


def _matches(value: object, pattern: str) -> bool:
    return isinstance(value, str) and re.search(pattern, value, re.MULTILINE) is not None


def _count_faults(value: object, count: GitHubCount) -> Iterator[str]:
    number = len(value) if isinstance(value, list) else 0
    if count.min is not None and number < count.min:
        yield f"{counted(number, 'element')}, fewer than {count.min}"
    if count.max is not None and number > count.max:
        yield f"{counted(number, 'element')}, more than {count.max}: {_shown(value)}"


def _objects(value: object) -> list[dict[str, Any]]:
    """Return the selected objects that have an id and a place in the order of the writes."""
    elements = value if isinstance(value, list) else [value]
    return [element for element in elements if isinstance(element, dict) and "id" in element]


def _writer_faults(value: object, login: str, github: TrialGitHub) -> Iterator[str]:
    objects = _objects(value)
    if not objects:
        yield "there is none"
    for selected in objects:
        actor = selected.get("actor") if "ref" in selected else None  # a push has its own
        writers = frozenset({actor}) if actor else github.written_by.get(selected["id"], frozenset())
        if not writers:
            yield f"nobody wrote {_shown(selected)} in the trial"
        elif writers != {login}:
            yield f"written by {', '.join(sorted(writers))}, not by {login} alone: {_shown(selected)}"


def _order_faults(value: object, later: GitHubQuery, github: TrialGitHub) -> Iterator[str]:
    try:
        after = _objects(_selected(later, github))
    except GoneError as error:
        yield str(error)
        return
    first = _objects(value)
    if not first or not after:
        yield "there is none" if not first else f"there is nothing after it: {later.query} {later.select}"
    elif max(earlier["sequence"] for earlier in first) >= min(later["sequence"] for later in after):
        yield f"is not before {_shown(after[0])}"


def _shown(value: object) -> str:
    """Return a value as text of limited length."""
    text = _canonical(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
