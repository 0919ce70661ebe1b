"""`scylla-gha regression-alert`, the real command, against a local server that knows GitHub's API."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.store import write_record
from tests.support.comments import Made, report_of
from tests.support.github_api import BOT, State, serving, sha
from tests.support.jobs import Job
from tests.support.records import make_cell, make_experiment, make_plan

MARKER = "<!-- scylla:alert suite=demo -->"
ARMS = ("base.cli.m", "head.cli.m", "other.cli.m")
GOOD, POOR = (5, 4, 5), (1, 0, 2)
ALIKE = (4, *[5] * 11), (5, 4, *[5] * 10), (5, 5, 4, *[5] * 9)
PLAN = make_plan(*(make_cell(arm) for arm in ARMS), experiment=make_experiment(baseline=ARMS[0]))
LOSS = report_of(Made({ARMS[0]: GOOD, ARMS[1]: POOR, ARMS[2]: (5, 4, 5)}))
BOTH = report_of(Made({ARMS[0]: GOOD, ARMS[1]: POOR, ARMS[2]: POOR}))
FINE = report_of(Made(dict(zip(ARMS, ALIKE, strict=True)), margin=0.35))
UNCLEAR = report_of(Made({ARMS[0]: (3, 2, 4), ARMS[1]: (4, 2, 3, 4, 1, 3), ARMS[2]: (2, 4, 3, 1, 4, 3)}))


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with serving(State()) as state:
        yield Job(state, tmp_path, sha("a"))


def alert(job: Job, first: object, confirming: object = None) -> dict[str, str]:
    job.lay(PLAN, first)  # type: ignore[arg-type]
    args = ["regression-alert", "demo"]
    if confirming is not None:
        write_record(job.root / "again.json", confirming)  # type: ignore[arg-type]
        args += ["--confirmed", "again.json"]
    said = job.scylla(*args)
    assert said.code == 0, said.err
    return job.outputs


def test_a_first_alarm_opens_nothing_and_names_the_cells_to_measure_again(job: Job) -> None:
    assert alert(job, LOSS) == {
        "state": "alarm", "alarm": "true", "confirm": "*--head.cli.m--r* *--base.cli.m--r*", "issue": "",
    }  # fmt: skip
    assert job.state.asked == []


def test_an_alarm_that_is_not_confirmed_opens_nothing(job: Job) -> None:
    assert alert(job, LOSS, FINE)["state"] == "unconfirmed"
    assert job.state.asked == []


def test_a_regression_has_one_issue_from_its_opening_to_its_end(job: Job) -> None:
    opened = alert(job, LOSS, LOSS)
    ((number, issue),) = job.state.issues.items()
    assert (opened["state"], opened["issue"]) == ("opened", issue["html_url"])
    assert (issue["title"], issue["labels"]) == ("demo: an agent does worse than it did", ["scylla-regression"])
    assert issue["body"].startswith(f"{MARKER}\n<!-- scylla:data ")
    assert "**1 arm does worse** in `demo`, measured twice" in issue["body"]
    assert job.state.labels == {"scylla-regression"}

    assert alert(job, LOSS, LOSS)["state"] == "updated"
    assert job.state.bodies(number) == [], "nothing new"
    assert alert(job, BOTH, BOTH)["state"] == "updated"
    assert "`other.cli.m`" in job.state.bodies(number)[-1]
    assert alert(job, UNCLEAR)["state"] == "still open"
    assert issue["state"] == "open"

    assert alert(job, FINE)["state"] == "recovered"
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert job.state.bodies(number)[-1].startswith("Recovered: none of the arms does worse any more")
    assert alert(job, FINE)["state"] == "quiet"

    assert alert(job, LOSS, LOSS)["state"] == "reopened"
    assert (len(job.state.issues), issue["state"]) == (1, "open")


def test_an_issue_of_somebody_else_is_left_alone(job: Job) -> None:
    job.state.issues[5] = {"number": 5, "state": "open", "user": {"login": "mallory"}, "body": MARKER,
                           "html_url": "https://x", "labels": ["scylla-regression"]}  # fmt: skip
    assert alert(job, FINE)["state"] == "quiet"
    assert alert(job, LOSS, LOSS)["state"] == "opened"
    assert job.state.issues[5]["body"] == MARKER


def test_an_issue_that_somebody_wrote_over_is_not_closed(job: Job) -> None:
    job.state.issues[5] = {"number": 5, "state": "open", "user": {"login": BOT}, "html_url": "https://x",
                           "body": f"{MARKER}\nmine now", "labels": ["scylla-regression"]}  # fmt: skip
    assert alert(job, FINE)["state"] == "still open"
    assert job.state.issues[5]["state"] == "open"


def test_what_a_comparison_or_a_history_says_counts_too(job: Job) -> None:
    job.lay(PLAN, LOSS)
    said = job.scylla("regression-alert", "demo", "--from", "none.json")
    assert (said.code, "`scylla-gha compare --json`" in said.err) == (3, True)
