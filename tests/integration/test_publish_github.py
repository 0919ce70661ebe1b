"""`scylla-gha publish` to GitHub, the real command, against a local server that knows GitHub's API."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.report.comment import marker
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import WavePaths
from tests.support.comments import Made, report_of
from tests.support.github_api import FORK, REPOSITORY, Broken, State, serving, sha
from tests.support.jobs import Job
from tests.support.records import make_cell, make_experiment, make_plan
from tests.support.sent import make_packing

HEAD = sha("a")
ARMS = ("base.cli.m", "head.cli.m")
LOSS = report_of(Made({ARMS[0]: (5, 4, 5), ARMS[1]: (1, 0, 2)}))
PLAN = make_plan(*(make_cell(arm) for arm in ARMS), experiment=make_experiment(baseline=ARMS[0]))
COMMENT = ("publish", "comment", "demo", "--pull", "7", "--head", HEAD)
CHECK = ("publish", "check", "demo", "--commit", HEAD)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with serving(State()) as state:
        state.pull(7, HEAD)
        made = Job(state, tmp_path, HEAD)
        made.lay(PLAN, LOSS)
        yield made


def test_a_verdict_is_posted_and_then_edited(job: Job) -> None:
    said = job.scylla(*COMMENT)
    assert said.code == 0, said.err
    assert "comment posted: https://github.com/octo-org/app/issues/7#issuecomment-" in said.err
    assert "4 API calls" in said.err, "who we are, comments, the pull request, a comment"
    again = job.scylla(*COMMENT, "--author", "scylla-bot", GITHUB_RUN_ATTEMPT="2")
    assert "comment edited" in again.err
    assert "3 API calls" in again.err
    (body,) = job.state.bodies(7)
    assert body.startswith(f"{marker('demo')}\n<!-- scylla:data ")
    assert "✗ head is worse than base" in body
    assert job.state.checks == []


def test_evidence_leads_to_the_artifact_of_the_trial_if_there_is_only_one(job: Job) -> None:
    cell = next(cell for failure in LOSS.failures if failure.arm == ARMS[1] for cell in failure.cells)
    write_record(WavePaths(job.folder.root).packing, make_packing([("a",), ("b",), (cell,)]))
    names = ("scylla-trials-demo-002-1", "scylla-rows-demo-002-1", "scylla-trials-demo-003-1", "scylla-trials-x-002-1")
    job.state.artifacts = [{"id": 900 + at, "name": name, "expired": False} for at, name in enumerate(names)]
    run = f"https://github.com/{REPOSITORY}/actions/runs/55"
    assert job.scylla(*COMMENT).code == 0
    assert f"]({run}/artifacts/900)" in job.state.bodies(7)[0]
    job.state.artifacts.append({"id": 905, "name": "scylla-trials-demo-002-2", "expired": False})
    job.scylla(*COMMENT, GITHUB_RUN_ATTEMPT="2")
    assert f"]({run}#artifacts)" in job.state.bodies(7)[0]
    job.state.broken = [Broken(403, "artifacts", "Resource not accessible by integration")]
    said = job.scylla(*COMMENT, GITHUB_RUN_ATTEMPT="3")
    assert (said.code, "artifacts cannot be listed" in said.err) == (0, True)
    assert f"]({run}#artifacts)" in job.state.bodies(7)[0]


def test_the_variable_of_the_site_makes_comments_link_to_its_pages(job: Job) -> None:
    published = ("--results-branch", "results", "--results-folder", "v1/runs/2026/01/demo/55-1")
    site = {"SCYLLA_SITE_URL": "https://octo-org.github.io/app"}
    assert job.scylla(*COMMENT, *published, **site).code == 0
    assert "[report page](https://octo-org.github.io/app/experiments/demo/runs/55-1.html)" in job.state.bodies(7)[0]
    refused = job.scylla(*COMMENT, *published, SCYLLA_SITE_URL="javascript:x")
    assert "--site 'javascript:x'" in refused.err


def test_a_verdict_is_a_check_of_a_commit(job: Job) -> None:
    said = job.scylla(*CHECK)
    assert said.code == 0, said.err
    assert "check run on aaaaaaa: failure" in said.err
    assert "1 API call" in said.err
    assert job.state.bodies(7) == []


def test_a_job_that_may_make_no_check_run_sets_a_status(job: Job) -> None:
    job.state.broken = [Broken(403, "check-runs", "Resource not accessible by integration")]
    assert "commit status on aaaaaaa: failure" in job.scylla(*CHECK).err
    assert job.state.statuses[0]["target_url"] == f"https://github.com/{REPOSITORY}/actions/runs/55"


def test_a_gate_that_does_not_hold_is_said(job: Job) -> None:
    gated = PLAN.experiment.model_copy(update={"gate": "not_worse"})
    job.lay(PLAN.model_copy(update={"experiment": gated}), LOSS)
    assert [job.scylla(*args).code for args in (COMMENT, CHECK)] == [0, 0]
    assert "gate not\\_worse does not hold" in job.state.bodies(7)[0]
    assert job.state.checks[0]["conclusion"] == "failure"


def test_a_run_that_measured_nothing_says_once_why(job: Job) -> None:
    refused = ("publish", "refusal", "greet", "--reason", "none of its arms differs; ask @octo <b>why</b>", "--pull")
    for _ in range(2):
        said = job.scylla(*refused, "7")
        assert said.code == 0, said.err
    (body,) = job.state.bodies(7)
    assert body == (
        "<!-- scylla:refused run=55 -->\n"
        "This run measured nothing of `greet`: none of its arms differs; ask @<!-- -->octo "
        f"\\<b\\>why\\</b\\>.\n\n[The run](https://github.com/{REPOSITORY}/actions/runs/55) has the whole log.\n"
    )
    assert job.scylla(*refused, "8", "--reason", "", GITHUB_RUN_ID="56").code == 0
    assert "measured nothing of `greet`: its plan failed.\n" in job.state.bodies(8)[0]


def test_a_fork_posts_through_the_second_phase(job: Job) -> None:
    job.state.pull(8, HEAD, repository=FORK, ref="patch-1")
    run = {"id": 55, "html_url": "https://x", "event": "pull_request", "head_sha": HEAD, "head_branch": "patch-1",
           "head_repository": {"full_name": FORK}}  # fmt: skip
    job.state.runs[55] = run
    first = job.scylla("publish", "save-pending", "demo", "--pull", "8", "--head", HEAD, "--into", "pending.json",
                       GITHUB_TOKEN="")  # fmt: skip
    assert first.code == 0, first.err
    assert job.state.asked == [], "no token, no request"
    job.event({"action": "completed", "workflow_run": run})
    into = job.root
    for layout in ("only", "several/scylla-pending-demo-1"):  # as download-artifact unpacks one match, and more
        (into / layout).mkdir(parents=True)
        shutil.copy(into / "pending.json", into / layout)
        source = layout.partition("/")[0]
        second = job.scylla("publish", "post-pending", source, "--event", "event.json", GITHUB_RUN_ID="66")
        assert second.code == 0, second.err
    assert [body.startswith(marker("fork-demo")) for body in job.state.bodies(8)] == [True]
    assert {one["name"] for one in job.state.checks} == {"scylla / fork-demo"}


def test_a_run_of_a_fork_causes_a_few_comments_at_most(job: Job) -> None:
    run = {"id": 55, "html_url": "https://x", "head_sha": HEAD, "conclusion": "success"}
    job.event({"action": "completed", "workflow_run": run})
    for number in range(6):
        (job.root / "left" / str(number)).mkdir(parents=True)
        (job.root / "left" / str(number) / "pending.json").write_text("{}")
    said = job.scylla("publish", "post-pending", "left", "--event", "event.json")
    assert (said.code, "left 6 reports, and at most 5" in said.err, job.state.asked) == (3, True, []), said.err


@pytest.mark.parametrize(("conclusion", "code"), [("success", 3), ("failure", 0)])
def test_a_run_that_left_nothing_is_an_error_where_it_succeeded(job: Job, conclusion: str, code: int) -> None:
    run = {"id": 55, "html_url": "https://x", "head_sha": HEAD, "conclusion": conclusion}
    job.event({"action": "completed", "workflow_run": run})
    (job.root / "empty").mkdir()
    said = job.scylla("publish", "post-pending", "empty", "--event", "event.json")
    assert (said.code, "run 55" in said.err, job.state.writes()) == (code, True, []), said.err


@pytest.mark.parametrize(
    ("args", "env", "code", "why"),
    [
        (("demo", "--pull", "7"), {}, 2, "No such command 'demo'"),
        (("check", "demo", "--commit", "main"), {}, 2, "is not a full commit SHA"),
        (("check", "demo", "--commit", HEAD, "--suite", "A B"), {}, 3, "--suite 'A B'"),
        (CHECK[1:], {"GITHUB_TOKEN": ""}, 3, "GITHUB_TOKEN is not set"),
        (CHECK[1:], {"GITHUB_REPOSITORY": ""}, 3, "do not name a run"),
        (("comment", "demo"), {}, 2, "give --pull N, the number of the pull request"),
        (("refusal", "demo", "--reason", "why"), {}, 2, "Missing option '--pull'"),
        (("save-pending", "demo", "--into", "p", "--pull", "7"), {"GITHUB_SHA": ""}, 3, "--head"),
        (("post-pending", "p"), {"GITHUB_EVENT_PATH": ""}, 2, "Missing option '--event'"),
        (("post-pending", "p", "--event", "e"), {}, 3, "event file not found"),
    ],
)
def test_what_cannot_be_posted_says_why(
    job: Job, args: tuple[str, ...], env: dict[str, str], code: int, why: str
) -> None:
    said = job.scylla("publish", *args, **env)
    assert (said.code, why in said.err) == (code, True), said.err
    assert job.state.writes() == []


def test_without_a_report_it_says_how_to_get_one(job: Job) -> None:
    job.folder.report("json").unlink()
    said = job.scylla(*COMMENT)
    assert said.code == 3
    assert "run `scylla-gha collect demo` and `scylla-gha aggregate demo` first" in said.err
