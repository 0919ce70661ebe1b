"""Comment and check of a run, in one phase and in two, against a local server that knows GitHub's API."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.github_api.access import GitHubAccess
from scylla_gha.github_api.client import GitHubRepository, RequestLimits, RetryPolicy
from scylla_gha.model.publication import CommentState, RunPage
from scylla_gha.publish.edited_posts import PostedComment, post_comment, read_hidden_line
from scylla_gha.publish.post import MOST_BYTES, post_check, read_pending, verified, write_pending
from scylla_gha.report.comment import marker
from tests.support.comments import Made, facts, report_of
from tests.support.github_api import BOT, FORK, REPOSITORY, TOKEN, Broken, State, serving, sha

GOOD, POOR = (5, 4, 5), (1, 0, 2)
WIN = report_of(Made({"base.cli.m": POOR, "head.cli.m": GOOD}))
LOSS = report_of(Made({"base.cli.m": GOOD, "head.cli.m": POOR}))
HEAD = sha("a")
SERVER = "https://github.com"
MANY_ARMS = [LOSS.arms[0].model_dump(mode="json")] * 1_000


@pytest.fixture
def state() -> Iterator[State]:
    with serving(State()) as served:
        served.pull(7, HEAD)
        yield served


def channel(state: State) -> GitHubRepository:
    return GitHubRepository(
        GitHubAccess(state.url, TOKEN), REPOSITORY, RetryPolicy(print, 5.0), RequestLimits(0.0, 0.01)
    )


def run(number: int, attempt: int = 1) -> RunPage:
    return RunPage(repository=REPOSITORY, run=number, attempt=attempt)


def say(state: State, report: Any = LOSS, number: int = 1, **given: Any) -> PostedComment:
    page = run(number, given.pop("attempt", 1))
    return post_comment(channel(state), report, facts(**{"origin": page, "head": HEAD, **given}), 7, BOT)


def shown(state: State) -> list[str]:
    return [body for body in state.bodies(7) if body.startswith(marker("demo"))]


def test_the_same_verdict_is_edited_in_place_and_another_is_posted_anew(state: State) -> None:
    assert say(state, LOSS, 1).how == "posted"
    assert say(state, LOSS, 2).how == "edited"
    assert len(state.comments) == 1
    posted = say(state, WIN, 3)
    assert posted.how == "posted anew"
    old, new = state.bodies(7)
    assert old == f"<!-- scylla:old suite=demo -->\nThe verdict has changed: [see the newer comment]({posted.url}).\n"
    assert "[!TIP]" in new
    assert [f"actions/runs/{number})" in new for number in (1, 2, 3)] == [True, True, True]


def test_five_verdicts_are_remembered(state: State) -> None:
    for number in range(1, 9):
        say(state, (LOSS, WIN)[number % 2], number)
    (body,) = shown(state)
    memory = read_hidden_line(body, CommentState, "demo")
    assert memory is not None
    assert [one.run for one in memory.verdicts] == [8, 7, 6, 5, 4]
    assert [one.verdict for one in memory.verdicts] == ["worse", "better"] * 2 + ["worse"]


def test_a_run_that_says_it_again_is_remembered_once(state: State) -> None:
    for attempt in (1, 2, 3):
        say(state, LOSS, 1, attempt=attempt)
    memory = read_hidden_line(shown(state)[0], CommentState, "demo")
    assert memory is not None
    assert [one.run for one in memory.verdicts] == [1]


@pytest.mark.parametrize(("number", "attempt"), [(4, 9), (5, 1)])
def test_an_older_run_does_not_overwrite_a_newer_one(state: State, number: int, attempt: int) -> None:
    say(state, LOSS, 5, attempt=2)
    before = state.bodies(7)
    assert say(state, WIN, number, attempt=attempt).how == "kept"
    assert state.bodies(7) == before


def test_comments_of_others_are_never_touched(state: State) -> None:
    say(state)
    mine = shown(state)[0]
    theirs = state.comment(7, mine, "mallory")
    quoted = state.comment(7, f"Look:\n{mine}", BOT)
    say(state, WIN, 2)
    assert state.comments[theirs]["body"] == mine
    assert state.comments[quoted]["body"] == f"Look:\n{mine}"


@pytest.mark.parametrize(
    "line",
    ["<!-- scylla:data AAAA -->", "<!-- scylla:data !!! -->", "text", "<!-- scylla:data " + "A" * 20_000 + " -->"],
)
def test_a_memory_that_is_none_is_passed_over(state: State, line: str) -> None:
    state.comment(7, f"{marker('demo')}\n{line}\n> [!NOTE]")
    assert say(state).how == "edited"
    assert "Earlier verdicts" not in shown(state)[0]


def test_a_comment_that_is_deleted_meanwhile_is_posted_anew(state: State) -> None:
    say(state)
    state.before["PATCH"] = lambda now: now.comments.clear()
    assert say(state, LOSS, 2).how == "posted anew"
    assert len(shown(state)) == 1


def test_two_that_were_posted_at_once_become_one(state: State) -> None:
    def another_job(now: State) -> None:
        now.comment(7, f"{marker('demo')}\nof another job")

    state.before["POST"] = another_job
    say(state)
    assert len(shown(state)) == 2
    say(state, LOSS, 2)
    assert len(shown(state)) == 1
    assert len(state.comments) == 2, "the other became a pointer"


def test_an_answer_that_is_lost_makes_no_second_comment(state: State) -> None:
    state.broken = [Broken(502, "POST", done=True)]
    assert say(state).how == "posted"
    assert len(state.comments) == 1


def test_a_head_that_moved_is_said(state: State) -> None:
    state.pull(7, sha("e"))
    say(state)
    assert "**Out of date**: this is about `aaaaaaa`, and the head is now `eeeeeee`." in shown(state)[0]


def test_an_evaluation_takes_few_calls(state: State) -> None:
    made = channel(state)
    of = facts(origin=run(1), head=HEAD)
    post_comment(made, LOSS, of, 7, BOT)
    post_check(made, LOSS, of, HEAD)
    assert made.calls == 4  # comments, the pull request, the comment, the check run


@pytest.mark.parametrize(
    ("report", "given", "conclusion"),
    [
        (WIN, {}, "success"),
        (LOSS, {}, "failure"),
        (report_of(Made({"head.cli.m": GOOD})), {}, "neutral"),
        (WIN, {"from_fork": True}, "neutral"),
        (LOSS, {"from_fork": True}, "failure"),
        (LOSS, {"has_gate": True}, "success"),
        (WIN, {"has_gate": True, "gate_fault": "gate better does not hold"}, "failure"),
    ],
)
def test_a_check_concludes_by_gate_or_verdict(state: State, report: Any, given: Any, conclusion: str) -> None:
    found = post_check(channel(state), report, facts(origin=run(1), head=HEAD, **given), HEAD)
    assert found == (conclusion, "check run")
    (made,) = state.checks
    assert (made["name"], made["conclusion"], made["head_sha"]) == ("scylla / demo", conclusion, HEAD)
    assert "<!-- scylla:v1" not in made["output"]["summary"]


def forked(state: State, **given: Any) -> int:
    """A run of a fork's pull request, as GitHub knows it."""
    state.pull(8, HEAD, repository=FORK, ref="patch-1")
    state.runs[55] = {"id": 55, "html_url": "https://x", "event": "pull_request", "head_sha": HEAD, "run_attempt": 2,
                      "head_branch": "patch-1", "head_repository": {"full_name": FORK}, **given}  # fmt: skip
    return 55


def test_the_second_phase_posts_what_github_bears_out(state: State, tmp_path: Path) -> None:
    number = forked(state)
    told = {"branch": "anything", "site": "https://evil.example", "folder": "v1/runs/2026/01/demo/1-1"}
    claimed = facts(head=HEAD, pull=8, base=None, origin=RunPage(repository="evil/evil", run=1), **told)
    write_pending(tmp_path / "pending.json", WIN, claimed)
    pending = read_pending(tmp_path / "pending.json")
    of = verified(channel(state), pending, number, SERVER)
    assert (of.suite, of.from_fork, of.branch, of.base, of.base_name) == ("fork-demo", True, "", None, "main")
    assert of.origin == RunPage(repository=REPOSITORY, run=55, attempt=2)
    post_comment(channel(state), pending.report, of, 8, BOT)
    (body,) = state.bodies(8)
    assert body.startswith(marker("fork-demo"))
    assert "do not merge on these numbers alone" in body
    assert "evil" not in body


def test_a_pull_request_of_the_same_repository_is_not_called_a_forks(state: State, tmp_path: Path) -> None:
    number = forked(state, head_repository={"full_name": REPOSITORY})
    state.pull(8, HEAD, repository=REPOSITORY, ref="patch-1")
    write_pending(tmp_path / "pending.json", WIN, facts(head=HEAD, pull=8))
    of = verified(channel(state), read_pending(tmp_path / "pending.json"), number, SERVER)
    assert (of.suite, of.from_fork) == ("pull-demo", False)


@pytest.mark.parametrize(
    ("told", "claimed", "why"),
    [
        ({"event": "push"}, {}, "only runs of pull_request"),
        ({"head_sha": sha("c")}, {}, "is about aaaaaaa, but run 55 was of ccccccc"),
        ({}, {"pull": 7}, "#7 is not the pull request of run 55"),
        ({}, {"pull": None}, "names no pull request"),
        ({"head_branch": "other"}, {}, "#8 is not the pull request"),
        ({"head_repository": None}, {}, "#8 is not the pull request"),
    ],
)
def test_the_second_phase_refuses_what_github_does_not_know(
    state: State, told: dict[str, Any], claimed: dict[str, Any], why: str, tmp_path: Path
) -> None:
    number = forked(state, **told)
    write_pending(tmp_path / "p", WIN, facts(**{"head": HEAD, "pull": 8, **claimed}))
    with pytest.raises(ConfigError, match=why):
        verified(channel(state), read_pending(tmp_path / "p"), number, SERVER)
    assert state.writes() == []


def test_the_second_phase_waits_for_the_run_of_a_newer_head(state: State, tmp_path: Path) -> None:
    number = forked(state)
    state.pulls[8]["head"]["sha"] = sha("d")
    write_pending(tmp_path / "p", WIN, facts(head=HEAD, pull=8))
    with pytest.raises(ConfigError, match="the head of #8 is ddddddd by now"):
        verified(channel(state), read_pending(tmp_path / "p"), number, SERVER)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "is refused: 'facts'"),
        ("not json", "is refused"),
        (json.dumps({"facts": {}, "report": {}, "more": 1}), "is refused"),
        (" " * (MOST_BYTES + 1), "more than"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "p").write_text(text)
    with pytest.raises(ConfigError, match=why):
        read_pending(tmp_path / "p")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"scenarios": [{"scenario": "x", "passed": {}}]}, r"cannot be shown \(KeyError\)"),
        ({"scenarios": [{"scenario": "x", "passed": {}}] * 1_000, "arms": MANY_ARMS}, "more than any experiment has"),
    ],
)
def test_a_report_that_does_not_hang_together_is_refused(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    told = {"facts": json.loads(facts().model_dump_json()), "report": json.loads(LOSS.model_dump_json())}
    (tmp_path / "p").write_text(json.dumps({**told, "report": {**told["report"], **change}}))
    with pytest.raises(ConfigError, match=why):
        read_pending(tmp_path / "p")


def test_a_link_is_refused(tmp_path: Path) -> None:
    write_pending(tmp_path / "real", WIN, facts())
    (tmp_path / "p").symlink_to(tmp_path / "real")
    with pytest.raises(ConfigError, match="is not a regular file"):
        read_pending(tmp_path / "p")
    with pytest.raises(ConfigError, match="no such file"):
        read_pending(tmp_path / "none")


def test_an_address_in_a_file_cannot_smuggle_markdown(tmp_path: Path) -> None:
    write_pending(tmp_path / "p", WIN, facts())
    told = json.loads((tmp_path / "p").read_text())
    for name, value in (("branch", "x) @octocat ("), ("suite", "a --> b"), ("experiment", "a`b")):
        (tmp_path / "q").write_text(json.dumps({**told, "facts": {**told["facts"], name: value}}))
        with pytest.raises(ConfigError, match=f"refused: 'facts.{name}'"):
            read_pending(tmp_path / "q")
