import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.posting.facts import About, facts_of, run_page_from
from tests.support.comments import HEAD
from tests.support.records import make_experiment, make_plan

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
    of = facts_of(PLAN, About("demo", 7, HEAD, base_name="x" * 999), run_page_from(RUN), "f" * 999)
    assert (of.experiment, of.margin, of.has_gate, of.pull, of.head) == ("demo", 0.1, True, 7, HEAD)
    assert [one.agent for one in of.entrants] == ["oracle", "nop"]
    assert (len(of.base_name), len(of.gate_fault), len(of.digest)) == (300, 300, 64)


def test_the_digest_is_of_the_cells_whatever_their_order() -> None:
    turned = PLAN.model_copy(update={"cells": PLAN.cells[::-1]})
    page = run_page_from(RUN)
    assert facts_of(PLAN, About("demo"), page, "").digest == facts_of(turned, About("demo"), page, "").digest


@pytest.mark.parametrize(("about", "name"), [(About("A b"), "--suite"), (About("demo", head="main"), "--head")])
def test_what_is_said_wrongly_is_named(about: About, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        facts_of(PLAN, about, run_page_from(RUN), "")
