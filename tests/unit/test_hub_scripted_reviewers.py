"""Scripted reviewers of a fixture: when and where they review, and what the checks make of their writes."""

from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.github_com.view import make_reference
from scylla_gha.hub.trial_files import write_trial_files
from scylla_gha.judge.github_checks import state_verdicts, unchanged_fault
from scylla_gha.judge.github_trial import trial_github
from scylla_gha.model.github_condition import AllowedChange, StateCondition
from tests.support.scripted_reviewers import REVIEWS, ReviewedCell, seed_of, write_fixture

FIRST = ("hubot", "CHANGES_REQUESTED", "About #1.")
MISSING = ("hubot", "COMMENTED", "The comment is missing.")
SUM = "def add(a, b):\n    return a + b\n"


def test_a_review_follows_each_step_and_none_is_written_twice(tmp_path: Path) -> None:
    cell = ReviewedCell.of(tmp_path)
    cell.push("fix", SUM)
    number = cell.open("fix", "Fixes #1")
    assert cell.reviews(number) == [FIRST]
    (comment,) = cell.get(f"/pulls/{number}/comments")
    assert (comment["path"], comment["line"], comment["body"]) == ("src/app.py", 2, "Why? See #2.")
    cell.push("fix", f"{SUM}\n")
    assert cell.reviews(number) == [FIRST, MISSING], "the file does not match yet"
    cell.push("fix", f"# sum\n{SUM}")
    cell.push("fix", f"# sum\n\n{SUM}")
    assert cell.reviews(number) == [FIRST, MISSING, MISSING], "two reminders at most; the thread has no reply"
    cell.send("POST", f"/pulls/{number}/comments/{comment['id']}/replies", {"body": "So."})
    assert cell.reviews(number)[-1] == ("hubot", "APPROVED", "")
    cell.push("fix", SUM)
    cell.send("POST", f"/issues/{number}/comments", {"body": "And now?"})
    assert len([review for review in cell.reviews(number) if review[0] == "hubot"]) == 4
    assert cell.send("PUT", f"/pulls/{number}/merge", {}, 200)["merged"]


def test_what_is_not_the_reviewers_is_left_alone(tmp_path: Path) -> None:
    cell = ReviewedCell.of(tmp_path)
    for branch, body, draft in (("one", "See #1", False), ("two", "Fixes #2", False), ("three", "Fixes #1", True)):
        cell.push(branch, SUM + branch)
        assert cell.reviews(cell.open(branch, body, draft=draft)) == []
    cell.push("four", SUM)
    other = cell.send("POST", "/pulls", {"title": "Sum", "head": "four", "base": "main", "body": "Fixes #1"},
                      login="monalisa")["number"]  # fmt: skip
    assert cell.reviews(other) == []
    cell.send("PATCH", f"/pulls/{other - 3}", {"body": "Fixes #1"}, 200)
    assert cell.reviews(other - 3) == [FIRST], "the keyword came later"


def test_a_thread_without_its_line_is_on_the_file_and_without_the_file_in_the_text(tmp_path: Path) -> None:
    cell = ReviewedCell.of(tmp_path)
    cell.push("file", "def add(*numbers):\n    return sum(numbers)\n")
    (comment,) = cell.get(f"/pulls/{cell.open('file', 'Fixes #1')}/comments")
    assert (comment["path"], comment["subject_type"]) == ("src/app.py", "file")
    cell.push("text", "New\n", "docs/new.md")
    number = cell.open("text", "Fixes #1")
    assert cell.reviews(number) == [("hubot", "CHANGES_REQUESTED", "About #1.\n\nWhy? See #2.")]
    cell.push("text", f"# sum\n{SUM}")
    assert cell.reviews(number)[-1] == MISSING
    cell.send("POST", f"/issues/{number}/comments", {"body": "Because."})
    assert cell.reviews(number)[-1] == ("hubot", "APPROVED", ""), "without a thread, a comment is the reply"


def test_nobody_asks_for_what_is_there_already(tmp_path: Path) -> None:
    unless = 'unless: [{path: "*.py", matches: sum}, {path: docs/, matches: .}]'
    cell = ReviewedCell.of(tmp_path, REVIEWS.replace("- event: REQ", f"- {unless}\n        event: REQ").replace(
        "replied: true, ", ""))  # fmt: skip
    cell.push("half", f"# sum\n{SUM}")
    assert cell.reviews(cell.open("half", "Fixes #1")) == [FIRST]
    cell.push("whole", f"# sum\n{SUM}")
    cell.push("whole", "New\n", "docs/new.md")
    assert cell.reviews(cell.open("whole", "Fixes #1")) == [("hubot", "APPROVED", "")]


def test_what_github_refuses_is_tried_again(tmp_path: Path) -> None:
    cell = ReviewedCell.of(tmp_path)
    cell.push("fix", SUM)
    number = cell.open("fix", "See #1")
    cell.hub.state.update(0, cell.repository, archived=True)
    cell.hub.state.update(0, cell.pull(number), body="Fixes #1")
    cell.script.follow(cell.hub)
    assert cell.reviews(number) == []
    cell.hub.state.update(0, cell.repository, archived=False)
    cell.script.follow(cell.hub)
    assert cell.reviews(number) == [FIRST]


def test_a_repeated_trial_gets_the_same_reviews(tmp_path: Path) -> None:
    journals = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        cell = ReviewedCell.of(tmp_path / name)
        cell.push("fix", SUM)
        cell.open("fix", "Fixes #1")
        journals.append(cell.hub.state.journal)
    first, second = ([(entry.sequence, entry.kind, entry.id, entry.scripted) for entry in journal]
                     for journal in journals)  # fmt: skip
    assert first == second
    last = [entry.scripted for entry in journals[0]]
    assert last == sorted(last), "the review follows the event"
    assert {journals[0][-1].actor} == {cell.hub.tokens["hubot"]}


ON_OLD = """\
  - reviewer: other
    pulls: {pull: pr.old}
    reviews: [{when: {pushed: true}, event: APPROVE, body: "Yes."}]
  - reviewer: reviewer
    pulls: {pull: pr.old}
    reviews: [{when: {requested: true}, event: COMMENT, threads: [{path: src/app.py, line: return, body: "Fine."}]}]
"""


def test_reviews_of_the_script_are_no_change_of_the_agents(tmp_path: Path) -> None:
    cell = ReviewedCell.of(tmp_path, ON_OLD)
    cell.push("old", SUM)
    assert cell.reviews(3) == [
        ("monalisa", "CHANGES_REQUESTED", "No."), ("monalisa", "APPROVED", "Yes."), ("hubot", "COMMENTED", ""),
    ]  # fmt: skip
    push = AllowedChange(refs=("refs/heads/old",))
    assert unchanged(cell, tmp_path / "one", push) is None
    query = StateCondition(query="pull_request", target="pr.old", select="reviews[?state=='APPROVED']", by="monalisa")
    with trial_github(tmp_path / "one") as github:
        assert state_verdicts([query], github)[0].fault is None
    thread = cell.get("/pulls/3/comments")[0]["id"]
    cell.send("POST", f"/pulls/3/comments/{thread}/replies", {"body": "Thank you."})
    fault = unchanged(cell, tmp_path / "two", push) or ""
    assert "pr.old: reviews: + " in fault, "a reply is the agent's"
    assert "pr.old: threads: + " in fault
    cell.send("POST", "/pulls/3/requested_reviewers", {"reviewers": ["monalisa"]})
    assert "requested_reviewers: + 'monalisa'" in (unchanged(cell, tmp_path / "three", push) or "")


def unchanged(cell: ReviewedCell, folder: Path, *allowed: AllowedChange) -> str | None:
    folder.mkdir()
    write_trial_files(folder, cell.hub, cell.seed.exported, cell.seed.facts["names"])
    with trial_github(folder) as github:
        return unchanged_fault(allowed, github)


def test_a_repository_on_github_com_has_no_scripted_reviewers(tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path / "fixture")
    (tmp_path / "made").mkdir()
    reference = make_reference("demo", fixture, tmp_path / "made", None, {})
    assert reference.not_seeded == ("1 scripted reviewer: nobody reviews on github.com during a trial",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reviewer: reviewer", "reviewer: nobody", "scripted_reviewers.0 (nobody): there is no user 'nobody'"),
        ("reviewer: reviewer", "reviewer: org", "'org' is an organization"),
        ("closes: issue.crash", "closes: issue.gone", "no step before is 'issue.gone'"),
        ("issue.other.number", "issue.other.title2", "issue.other has no title2"),
        ("return a", "return (a", "'return (a' is not a regular expression"),
        ("when: {pushed: true, replied: true, ", "when: {}  # {", "reviews: all but the first need `when`"),
        ("event: REQUEST_CHANGES", "event: APPROVED", "must be one of 'APPROVE', 'REQUEST_CHANGES'"),
    ],
)
def test_a_script_that_cannot_work_is_an_error_of_the_fixture(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in REVIEWS
    with pytest.raises(ConfigError, match=r"github\.yaml") as error:
        seed_of(tmp_path, REVIEWS.replace(old, new))
    assert message in str(error.value)
