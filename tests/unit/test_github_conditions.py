"""Conditions on GitHub at load: faulty names, queries, selections and types are refused before anything runs."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.config.github_files import condition_faults, rendered, rendered_scenario
from scylla_gha.model.github_condition import UNCHANGED_ID
from scylla_gha.model.scenario import Scenario
from tests.support.records import make_checkpoint, make_scenario

NAMES: dict[str, dict[str, str | int]] = {
    "user.author": {"login": "octocat"},
    "repo.demo": {"full_name": "octo-org/demo"},
    "pr.sum": {"number": 3},
    "issue.crash": {"number": 1},
    "thread.why": {},
}


def checkpoint(**given: Any) -> dict[str, Any]:
    return {"id": "state", "what": "It is so", **given}


def scenario(*checkpoints: dict[str, Any], may_change: Any = ()) -> Scenario:
    plain = make_scenario().model_dump(mode="json", exclude_unset=True)
    start = {"identity": "author", "may_change": may_change}
    return Scenario.model_validate_json(json.dumps({**plain, "checkpoints": checkpoints, "github": start}))


def faults(**given: Any) -> list[str]:
    return list(condition_faults(scenario(checkpoint(**given)), NAMES))


PULL = {"query": "pull_request", "target": "pr.sum"}
GOOD: list[dict[str, Any]] = [
    {**PULL, "select": "reviews[?author=='octocat'].state", "set_equals": ("APPROVED",)},
    {**PULL, "select": "threads[?path=='a.py' && line >= `3`]", "count": {"min": 1}, "by": "octocat"},
    {**PULL, "select": "length(commits || labels)", "equals": 1} | {"select": "length(labels)"},
    {**PULL, "select": "sort_by(comments, &id)[-1].body", "matches": "^Fixed"},
    {**PULL, "select": "join(', ', labels)", "contains": "bug"},
    {**PULL, "select": "{a: state, b: number}.b", "equals": 3},
    {**PULL, "select": "timeline[?event=='closed' && data.reason=='x']", "before": {"query": "pushes"}},
    {**PULL, "select": "threads[].comments[].body | [0]", "equals": None},
    {"query": "repository", "select": "branches[].name", "contains": "main"},
    {"query": "issues", "select": "max_by(@, &number).title", "exists": True},
    {"query": "issues", "target": "repo.demo", "absent": True},
]


@pytest.mark.parametrize("condition", GOOD)
def test_a_sound_condition_has_no_fault(condition: dict[str, Any]) -> None:
    assert faults(github=condition) == []


BAD: list[tuple[dict[str, Any], str]] = [
    ({"query": "pull_requets", "exists": True}, "there is no 'pull_requets'"),
    (
        {"query": "pull_request", "target": "pr.sun", "exists": True},
        "the fixture has no 'pr.sun'; did you mean \"pr.sum\"",
    ),
    ({"query": "pull_request", "target": "issue.crash", "exists": True}, "'issue.crash' is not a pull_request"),
    ({"query": "pull_request", "exists": True}, "name the pull_request"),
    ({**PULL, "select": "reviews[?", "exists": True}, "is not a jmespath expression"),
    ({**PULL, "select": "stat", "exists": True}, "there is no field 'stat'; did you mean \"state\""),
    ({**PULL, "select": "reviews.state", "exists": True}, "'state' is looked up in a list"),
    ({**PULL, "select": "title.x", "exists": True}, "which has no fields"),
    ({**PULL, "select": "reviews[?state=='approved']", "exists": True}, "'approved' is none of PENDING"),
    ({**PULL, "select": "threads[?line=='3']", "exists": True}, "the comparison is never true"),
    ({**PULL, "select": "threads[?path > `3`]", "exists": True}, "compares numbers"),
    ({**PULL, "select": "lenght(labels)", "equals": 1}, "there is no function 'lenght'; did you mean \"length\""),
    ({**PULL, "select": "number", "equals": "3"}, "equals: it is a string, but must be a number"),
    ({**PULL, "select": "state", "equals": "merged"}, "equals: 'merged' is none of open, closed"),
    ({**PULL, "select": "labels", "set_equals": (1,)}, "set_equals: it is a number"),
    ({**PULL, "select": "title", "count": {"min": 1}}, "count: needs a list"),
    ({**PULL, "select": "[labels]", "count": {"max": 1}}, "builds a list of fixed length itself"),
    ({**PULL, "select": "labels", "matches": "bug"}, "matches: it is a string, but must be a list"),
    ({**PULL, "select": "title", "matches": "("}, "is not a regular expression"),
    ({**PULL, "select": "merged", "contains": "x"}, "contains: needs a list or a text"),
    ({**PULL, "select": "labels", "by": "octocat"}, "need objects with an id"),
    ({**PULL, "exists": True, "before": {"query": "pushes", "select": "[].reff"}}, "before: select: there is no field"),
]


@pytest.mark.parametrize(("condition", "message"), BAD)
def test_a_faulty_condition_is_refused_at_load(condition: dict[str, Any], message: str) -> None:
    assert [fault for fault in faults(github=condition) if message in fault and fault.startswith("checkpoints.state: ")]


@pytest.mark.parametrize(("given", "message"), [
    ({"git": {"pull": "pr.sun", "not_forced": True}}, "the fixture has no 'pr.sun'"),
    ({"git": {"file_matches": {"path": "a", "matches": "("}}}, "is not a regular expression"),
    ({"run": "true", "checkout": {"repository": "repo.gone"}}, "the fixture has no 'repo.gone'"),
])  # fmt: skip
def test_faults_of_git_conditions(given: dict[str, Any], message: str) -> None:
    assert [fault for fault in faults(**given) if message in fault]


@pytest.mark.parametrize(("allowance", "message"), [
    ({"target": "issue.crahs"}, "did you mean \"issue.crash\""),
    ({"target": "issue.crash", "fields": ["label"]}, "issue has no field 'label'; did you mean \"labels\""),
    ({"target": "thread.why"}, "name that, such as pr.review_me"),
    ({"created": "issue"}, "there is no 'issue'; did you mean \"issues\""),
])  # fmt: skip
def test_faults_of_what_may_change(allowance: dict[str, Any], message: str) -> None:
    faulty = condition_faults(scenario(checkpoint(run="true"), may_change=[allowance]), NAMES)
    assert [fault for fault in faulty if message in fault]


def test_a_scenario_with_github_refuses_other_changes_by_default() -> None:
    default = scenario(checkpoint(run="true")).checkpoints[-1]
    assert (default.id, default.unchanged, default.guard) == (UNCHANGED_ID, True, True)
    assert [one.id for one in scenario(checkpoint(unchanged=True)).checkpoints] == ["state"]


def test_a_condition_on_github_needs_a_scenario_with_github() -> None:
    plain = make_scenario(checkpoints=(make_checkpoint(github={"query": "issues", "absent": True}),))
    assert "needs `github` in the scenario" in next(condition_faults(plain, {}))


def test_facts_of_the_fixture_stand_in_prompts_and_conditions() -> None:
    assert rendered("Review #{{ pr.sum.number }} of {{repo.demo.full_name}}", NAMES) == "Review #3 of octo-org/demo"
    with pytest.raises(ValueError, match=r"has no 'title'; it has: number"):
        rendered("{{ pr.sum.title }}", NAMES)
    with pytest.raises(ValueError, match=r'did you mean "pr\.sum"'):
        rendered("{{ pr.sun.number }}", NAMES)
    condition = {**PULL, "select": "body", "matches": "Closes #{{ issue.crash.number }}"}
    github = rendered_scenario(scenario(checkpoint(github=condition)), NAMES).checkpoints[0].github
    assert github is not None
    assert github.matches == "Closes #1"


def test_what_is_absent_meets_no_other_condition() -> None:
    with pytest.raises(ValidationError, match="`absent` excludes all other conditions; give it alone"):
        make_checkpoint(github={**PULL, "absent": True, "exists": True})
    with pytest.raises(ValidationError, match="give at least one of exists"):
        make_checkpoint(github=PULL)
    with pytest.raises(ValidationError, match="contains: needs a value"):
        make_checkpoint(github={**PULL, "select": "labels", "contains": None})
