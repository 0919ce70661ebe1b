"""Conditions on hostile text: the harness goes on, and a condition whose text cannot be read does not hold."""

import time
from pathlib import Path

import pytest

from scylla_gha.conditions import TEXT_CHARS
from scylla_gha.hub.records import CommentRecord, IssueRecord
from scylla_gha.judge.github_checks import shown_texts, state_verdicts, unchanged_fault
from scylla_gha.model.github_condition import StateCondition
from tests.unit.test_github_checks import World

COMMENTS = {"query": "issue", "target": "issue.crash", "select": "join(' ', comments[].body)"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_conditions_see_the_page_and_its_facts(world: World) -> None:
    topic = world.git.branch("topic") or ""
    body = f"## Fixed\n\n- by {topic[:9]} and [that](https://x.example/o/r/pull/3), see #2 <!-- #1 `not` -->"
    world.add(CommentRecord, subject=world.issue.id, author=world.agent.id, body=body)
    comments = {"query": "issue", "target": "issue.crash"}
    assert world.fault(**comments, select="comments[].references[]", set_equals=[2, 3]) is None
    assert world.fault(**comments, select="comments[].commits[]", set_equals=["Change the sum"]) is None
    assert world.fault(**comments, select="comments[].links[]", equals=["https://x.example/o/r/pull/3"]) is None
    assert world.fault(**comments, select="comments[].sections[].heading", equals=["Fixed"]) is None
    assert world.fault(**comments, select="comments[0].body", contains="not") is not None
    assert world.fault(**comments, select="comments[0].source", contains="not") is None
    numbers = {**comments, "select": "comments[].body", "extract": r"#([0-9]+)"}
    assert world.fault(**numbers, set_equals=["2"]) is None
    assert world.fault(**numbers, absent=True) == 'there is ["2"]'
    assert "+ {" in (world.unexpected() or ""), "what must not change is compared as it is stored"


def test_a_comment_of_newlines_does_not_stop_the_harness(world: World) -> None:
    for _ in range(3):
        world.add(CommentRecord, subject=world.issue.id, author=world.agent.id, body="a" + "\n" * 65_000)
    began = time.monotonic()
    assert "does not match" in (world.fault(**COMMENTS, matches=r"(\s*\n)*\s+x") or "")
    assert time.monotonic() - began < 20


def test_more_text_than_is_read_makes_conditions_false_with_that_reason(world: World) -> None:
    for number in range(5):
        world.add(CommentRecord, subject=world.issue.id, author=world.agent.id, body=f"{number} " * 30_000)
    reason = f"the texts on GitHub have more than the {TEXT_CHARS:,} characters that are read"
    with world.left() as github:
        many = StateCondition.model_validate({**COMMENTS, "matches": "1"}, strict=False)
        absent = StateCondition.model_validate({**COMMENTS, "select": "comments[?body == 'x']", "absent": True})
        other = StateCondition.model_validate(
            {"query": "issue", "target": "issue.slow", "select": "state", "equals": "open"}
        )
        assert [verdict.fault for verdict in state_verdicts([many, absent, other], github)] == [reason, reason, None]


def test_text_that_is_nested_without_end_is_read_in_time() -> None:
    began = time.monotonic()
    shown = shown_texts(["> " * 32_000 + "a", "- " * 32_000 + "b", "<div>" * 13_000 + "c", "words"])
    assert (shown[-1].text, shown[2].text) == ("words", "c")
    assert time.monotonic() - began < 30


def test_thousands_of_issues_and_comments_are_compared_in_seconds(world: World) -> None:
    for number in range(10, 1_510):
        issue = world.add(IssueRecord, repository=world.repository.id, number=number, title="x", author=world.agent.id)
        world.add(CommentRecord, subject=issue.id, author=world.agent.id, body="y")
        world.add(CommentRecord, subject=issue.id, author=world.agent.id, body="z")
    with world.left() as github:
        began = time.process_time()
        assert "was created" in (unchanged_fault([], github) or "")
        assert time.process_time() - began < 5
