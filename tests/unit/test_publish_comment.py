import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.publication import CommentState
from scylla_gha.model.report import Comparison
from scylla_gha.publish.edited_posts import read_hidden_line, write_hidden_line
from scylla_gha.publish.post import PullRequestInfo, comment_facts, run_page_from
from tests.support.comments import HEAD, past
from tests.support.records import make_experiment, make_plan, make_report

RUN = {"GITHUB_REPOSITORY": "octo-org/app", "GITHUB_RUN_ID": "55", "GITHUB_SERVER_URL": "https://ghe.example/"}
PLAN = make_plan(experiment=make_experiment(margin=0.1, gate="better"))


def test_the_run_is_read_from_the_runner() -> None:
    page = run_page_from(RUN)
    assert page.url == "https://ghe.example/octo-org/app/actions/runs/55"
    assert page.artifacts == f"{page.url}#artifacts"
    assert page.results("scylla-results") == "https://ghe.example/octo-org/app/tree/scylla-results"
    assert run_page_from({**RUN, "GITHUB_RUN_ATTEMPT": "3"}).attempt == 3


@pytest.mark.parametrize(
    "change",
    [
        {"GITHUB_REPOSITORY": ""},
        {"GITHUB_RUN_ID": "x"},
        {"GITHUB_RUN_ID": ""},
        {"GITHUB_REPOSITORY": "a/b) @x ("},
        {"GITHUB_SERVER_URL": "javascript:x"},
    ],
)
def test_what_is_no_run_is_told(change: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="do not name a run"):
        run_page_from({**RUN, **change})


def test_facts_are_of_the_plan() -> None:
    worse = tuple(Comparison(arm="nop", baseline="oracle", verdict="worse", why="x" * 999) for _ in range(3))
    info = PullRequestInfo("", 7, HEAD, base_name="x" * 999)
    of = comment_facts(PLAN, make_report(comparisons=worse), info, run_page_from(RUN))
    assert (of.suite, of.experiment, of.margin, of.has_gate, of.pull, of.head) == ("demo", "demo", 0.1, True, 7, HEAD)
    assert [entrant.agent for entrant in of.entrants] == ["oracle", "nop"]
    assert (len(of.base_name), len(of.gate_fault), len(of.digest)) == (300, 300, 64)
    better = (Comparison(arm="nop", baseline="oracle", verdict="better", why="x"),)
    assert comment_facts(PLAN, make_report(comparisons=better), info, run_page_from(RUN)).gate_fault == ""


def test_the_digest_is_of_the_cells_whatever_their_order() -> None:
    turned = PLAN.model_copy(update={"cells": PLAN.cells[::-1]})
    page, info = run_page_from(RUN), PullRequestInfo("demo")
    digests = {comment_facts(plan, make_report(), info, page).digest for plan in (PLAN, turned)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("about", "name"), [(PullRequestInfo("A b"), "--suite"), (PullRequestInfo("demo", head="main"), "--head")]
)
def test_what_is_said_wrongly_is_named(about: PullRequestInfo, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        comment_facts(PLAN, make_report(), about, run_page_from(RUN))


MINE = CommentState(suite="demo", attempt=1, verdicts=(past("worse", 5),))


def body(memory: CommentState) -> str:
    return f"<!-- marker -->\n{write_hidden_line(memory)}\ntext"


def test_what_is_written_is_remembered() -> None:
    evil = CommentState(suite="demo", attempt=1, verdicts=(past(said="--> <!-- x --> @octocat"),))
    assert read_hidden_line(body(evil), CommentState, "demo") == evil
    assert "octocat" not in write_hidden_line(evil)


def test_what_is_of_another_suite_or_form_is_not() -> None:
    assert read_hidden_line(body(MINE), CommentState, "other") is None
    for text in ("", "one line", "a\nb\nc", f"{write_hidden_line(MINE)}\nfirst line", "a\n<!-- scylla:data e30= -->"):
        assert read_hidden_line(text, CommentState, "demo") is None


def test_a_later_line_is_not_read() -> None:
    assert read_hidden_line(f"<!-- marker -->\ntext\n{write_hidden_line(MINE)}", CommentState, "demo") is None
