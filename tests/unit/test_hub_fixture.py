"""Start states of GitHub from `github.yaml`: reproducible, by GitHub's rules, and with names for prompts."""

import re
from pathlib import Path

import pytest

from scylla_gha.config.library import toolkit_root
from scylla_gha.errors import ConfigError
from scylla_gha.hub.actions_records import RunRecord
from scylla_gha.hub.fixture import StartCommit, build_fixture
from scylla_gha.hub.fixture_world import FixtureWorld, fill_in
from scylla_gha.hub.records import CommentRecord, IssueRecord, PullRequestRecord, ThreadRecord
from scylla_gha.hub.trial_files import exported_state
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.prepare.start_state import commit_of, own_files_commit, start_state
from tests.support.hub import Caller

FOLDER = Path(__file__).parents[1] / "support/hub_fixture"
REPO = "/repos/octo-org/demo"
HEAD = """\
begin: 2026-01-05T09:00:00Z
users:
  me: {login: octocat, permission: admin}
  other: {login: hubot, permission: read}
repository: {owner: me, name: demo}
history:
  - commit: {key: first, branch: main, author: me, message: Begin, files: {a.txt: "a\\n"}}
"""


def built(folder: Path, steps: str) -> FixtureWorld:
    folder.mkdir(exist_ok=True)
    (folder / "github.yaml").write_text(HEAD + steps)
    return build_fixture(folder, folder / "hub")


def test_the_same_file_gives_the_same_state_to_the_byte(tmp_path: Path) -> None:
    first, second = (build_fixture(FOLDER, tmp_path / name) for name in ("a", "b"))
    assert exported_state(first.hub) == exported_state(second.hub)
    assert first.hub.state.snapshot() == second.hub.state.snapshot()
    assert (first.names, first.bindings) == (second.names, second.bindings)
    assert first.hub.state.journal == []
    assert f"{first.hub.state.now():%d}" == "20", "a trial begins at `now`"


def test_steps_do_what_they_say(tmp_path: Path) -> None:
    world = build_fixture(FOLDER, tmp_path / "hub")
    state, names = world.hub.state, world.names
    issue = state.need(IssueRecord, names["issue.crash"])
    pull = state.need(PullRequestRecord, names["pr.review_me"])
    merged = state.need(PullRequestRecord, names["pr.done"])
    duplicate = state.need(IssueRecord, names["issue.dup"])
    assert (issue.number, pull.number, pull.body) == (1, 2, "Closes #1")
    assert state.need(ThreadRecord, names["thread.test"]).resolved_by == names["user.author"]
    assert merged.merged_by == names["user.author"]
    assert world.git.branch("main") == merged.merge_commit == world.bindings["pr.done"]["merge_commit"]
    assert world.git.branch("other") is None
    assert (duplicate.state_reason, duplicate.duplicate_of) == ("duplicate", issue.id)
    world.hub.tokens = {"octocat": world.names["user.author"]}
    run = Caller(world.hub).get(f"{REPO}/actions/runs/{names['run.red']}")
    assert (run["conclusion"], run["head_branch"]) == ("failure", "fix-add")


def test_reruns_and_dispatches_end_as_the_fixture_says(tmp_path: Path) -> None:
    """https://docs.github.com/en/rest/actions/workflow-runs#re-run-a-workflow"""
    text = "{on: workflow_dispatch, jobs: {a: {runs-on: x, steps: [{run: make}]}}}"
    steps = (
        f"  - commit: {{branch: main, author: me, message: CI, files: {{.github/workflows/ci.yml: '{text}'}}}}\n"
        "  - run: {key: ci, workflow: .github/workflows/ci.yml, branch: main, actor: me, scripted: [startup_failure],\n"
        "      dispatched: [cancelled, success], attempts: [[{name: a, steps: [{name: Run make}]}]]}\n"
    )
    world = built(tmp_path / "fixture", steps)
    world.hub.tokens = {"octocat": world.names["user.me"]}
    caller, actions = Caller(world.hub), "/repos/octocat/demo/actions"
    assert caller.rest("POST", f"{actions}/runs/{world.names['run.ci']}/rerun").status == 201
    for _ in range(3):
        assert caller.rest("POST", f"{actions}/workflows/ci.yml/dispatches", {"ref": "main"}).status == 204
    runs = caller.get(f"{actions}/runs")["workflow_runs"]
    assert [run["conclusion"] for run in runs] == [None, "success", "cancelled", "startup_failure"]
    jobs = [caller.get(f"{actions}/runs/{run['id']}/jobs")["jobs"][-1]["conclusion"] for run in runs]
    assert jobs == [None, "success", "cancelled", "failure"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("  - pull: {key: mine, head: none, title: T, author: me}\n", "head: invalid"),
        ("  - commit: {branch: main, author: other, message: M}\n", "history.1.commit: GitHub refuses this: Must have"),
        ("  - issue: {title: T, author: nobody}\n", "history.1.issue: there is no user 'nobody'"),
        ("  - issue: {title: T, author: me, body: '{{ pr.x.number }}'}\n", "there is no pr.x in github.yaml"),
        ("  - issue: {title: T, author: me, labels: [bug]}\n", "labels: there is no label 'bug'"),
        ("  - commit: {branch: main, author: me, message: M, copies: {x: ../github.yaml}}\n", "there is no file"),
        ("  - commit: {branch: 'a..b', author: me, message: M, files: {x: y}}\n", "is not a valid ref name"),
        ("  - commit: {branch: main, author: me, message: M, files: {../x: y}}\n", "history.1.commit"),
        ("  - {at: 2026-01-01T00:00:00Z, issue: {title: T, author: me}}\n", "is before the end of the step before"),
        ("  - {}\n", "give exactly one of commit, branch"),
    ],
)
def test_a_step_that_cannot_be_is_an_error_with_file_and_key(tmp_path: Path, step: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        built(tmp_path / "fixture", step)
    assert str(tmp_path / "fixture/github.yaml") in str(caught.value)
    assert message in str(caught.value)


def test_an_author_cannot_approve_in_a_fixture_either(tmp_path: Path) -> None:
    """https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request"""
    steps = (
        "  - commit: {branch: topic, author: me, message: M, files: {b.txt: b}}\n"
        "  - pull: {key: own, head: topic, title: T, author: me, reviews: [{author: me, event: APPROVE}]}\n"
    )
    with pytest.raises(ConfigError, match=r"history\.2\.pull \(pr\.own\): GitHub refuses this: .*Can not approve"):
        built(tmp_path / "fixture", steps)


def test_the_first_commit_is_that_of_the_fixtures_own_files(tmp_path: Path) -> None:
    folder = tmp_path / "fixture"
    folder.mkdir()
    (folder / "README.md").write_text("# Own\n")
    (folder / "github").mkdir()
    (folder / "github/long.txt").write_text("long\n")
    steps = "  - commit: {branch: main, author: me, message: M, copies: {docs/long.txt: long.txt}}\n"
    (folder / "github.yaml").write_text(HEAD + steps)
    own = commit_of(folder)
    state = start_state(FixtureSource(fixture="x", hash=own), folder, tmp_path / "cache")
    start = StartCommit(own, state.git_dir)
    world = build_fixture(folder, tmp_path / "hub", start)
    git = world.git
    first = git.log("main")[-1]
    assert first.sha == start.sha
    assert {first.author.date, first.committer.date} == {world.fixture.begin}, "no commit is older than its parent"
    assert git.content("main:docs/long.txt") == b"long\n"
    assert git.content("main:README.md") == b"# Own\n"
    assert git.content("main:github.yaml") is None
    assert git.content("main:github/long.txt") is None


def test_a_commit_that_is_older_than_its_parent_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "fixture"
    folder.mkdir()
    (folder / "README.md").write_text("# Own\n")
    without_github = commit_of(folder)  # dated 2026-01-01
    state = start_state(FixtureSource(fixture="x", hash=without_github), folder, tmp_path / "cache")
    steps = "  - commit: {branch: main, author: me, message: Second, files: {b.txt: b}}\n"
    (folder / "github.yaml").write_text((HEAD + steps).replace("2026-01-05", "2025-11-05"))
    with pytest.raises(ConfigError) as refused:
        build_fixture(folder, tmp_path / "hub", StartCommit(without_github, state.git_dir))
    message = str(refused.value)
    assert re.search(r"commit [0-9a-f]{40} \(Begin\) has the committer date 2025-11-05T09:00:\d\dZ", message)
    assert message.startswith(f"{folder}: ")
    assert f"before that of its parent {without_github} (Initial commit), 2026-01-01T00:00:00Z" in message


@pytest.mark.parametrize("fixture", sorted(path.parent.name for path in toolkit_root().glob("fixtures/*/github.yaml")))
def test_git_counts_what_a_branch_adds_in_the_fixtures_of_the_toolkit(fixture: str, tmp_path: Path) -> None:
    """Git finds what a branch has not by walking from the newest commit, so it needs dates in order."""
    folder = toolkit_root() / "fixtures" / fixture
    start = own_files_commit(folder, tmp_path / "cache")
    world = build_fixture(folder, tmp_path / "hub", StartCommit(*start) if start else None)
    git, default = world.git, world.repository.default_branch
    of_default = {commit.sha for commit in git.log(default)}
    for tip in {*git.branches().values(), *git.tags().values()}:
        added = {commit.sha for commit in git.log(tip)} - of_default
        assert int(git.text("rev-list", "--count", f"{default}..{tip}")) == len(added)


def test_names_in_texts_are_filled_in_and_expressions_of_workflows_are_not() -> None:
    bindings = {"pr.a": {"number": 7}}
    assert fill_in("#{{ pr.a.number }} ${{ github.event.number }}", bindings) == "#7 ${{ github.event.number }}"
    with pytest.raises(ConfigError, match=r"pr\.a has no size; it has number"):
        fill_in("{{ pr.a.size }}", bindings)


ALL_STEPS = """\
  - commit: {key: topic, branch: topic, author: me, message: Topic, files: {b.txt: "b\\n"}}
  - branch: {name: release, target: commit.first, by: me}
  - commit: {branch: main, author: me, message: CI, files: {.github/workflows/ci.yml: "name: CI\\non: push\\n"}}
  - tag: {name: v1, target: main, by: me}
  - pull: {key: one, head: topic, title: One, author: me, draft: false, closed: null}
  - comment: {key: said, target: pr.one, author: other, body: "Like {{ pr.one.url }}?"}
  - review:
      {key: look, target: pr.one, author: other, threads: [{key: why, path: b.txt, line: 1, body: "Why b?"}]}
  - comment: {target: thread.why, author: me, body: "For {{ commit.topic.short }}."}
  - run:
      key: busy
      workflow: .github/workflows/ci.yml
      branch: main
      actor: me
      attempts:
        - [{name: test, conclusion: failure}]
        - [{name: test, conclusion: null}]
  - check: {target: pr.one, name: lint, by: me, conclusion: null, kind: status}
  - merge: {target: pr.one, by: me, method: rebase, delete_branch: true}
  - commit: {branch: release, author: me, message: Back, merge: main, files: {a.txt: null}}
  - delete_branch: {name: release, target: release, by: me}
  - commit: {branch: late, author: me, message: Late, files: {c.txt: "c\\n"}}
  - pull: {key: two, head: late, title: Two, author: me}
  - close: {target: pr.two, by: me}
  - issue: {key: bug, title: Bug, author: other}
  - close: {target: issue.bug, by: me, reason: not_planned}
  - release: {key: draft, tag: v2, author: me, draft: true, body: "After {{ release_tag }}"}
"""


def test_steps_of_runs_take_their_time_which_their_logs_show(tmp_path: Path) -> None:
    """https://docs.github.com/en/rest/actions/workflow-jobs#list-jobs-for-a-workflow-run"""
    world = built(tmp_path / "fixture", """\
  - commit: {branch: main, author: me, message: CI, files: {.github/workflows/ci.yml: "name: CI\\non: push\\n"}}
  - at: 2026-02-01T10:00:00Z
    run:
      key: ci
      workflow: .github/workflows/ci.yml
      branch: main
      actor: me
      attempts: [[{name: test, wait_seconds: 60, steps: [{name: Make, seconds: 5}, {name: Test, log: ok, seconds: 2}]}]]
""")  # fmt: skip
    world.hub.tokens = {"octocat": world.names["user.me"]}
    actions = "/repos/octocat/demo/actions"
    run = Caller(world.hub).get(f"{actions}/runs/{world.names['run.ci']}")
    assert (run["run_started_at"][-9:], run["updated_at"][-9:]) == ("10:00:00Z", "10:01:08Z")
    (job,) = Caller(world.hub).get(f"{actions}/runs/{run['id']}/jobs")["jobs"]
    assert [job[name][-9:] for name in ("started_at", "completed_at")] == ["10:01:01Z", "10:01:08Z"]
    assert [step["started_at"][-9:] for step in job["steps"]] == ["10:01:01Z", "10:01:06Z"]
    log = world.hub.blobs.read(world.hub.state.need(RunRecord, world.names["run.ci"]).jobs[0].log or "").decode()
    assert log.splitlines()[-1] == "2026-02-01T10:01:06.0000000Z ok"


def test_the_log_of_a_step_may_be_a_file_of_the_folder(tmp_path: Path) -> None:
    steps = """\
  - commit: {branch: main, author: me, message: CI, files: {.github/workflows/ci.yml: "name: CI\\non: push\\n"}}
  - run:
      key: ci
      workflow: .github/workflows/ci.yml
      branch: main
      actor: me
      attempts: [[{name: test, steps: [{name: Test, log_file: test.log}]}]]
"""
    (tmp_path / "fixture/github").mkdir(parents=True)
    (tmp_path / "fixture/github/test.log").write_text("1 passed\n")
    world = built(tmp_path / "fixture", steps)
    (job,) = world.hub.state.need(RunRecord, world.names["run.ci"]).jobs
    assert world.hub.blobs.read(job.log or "").endswith(b" 1 passed\n")
    with pytest.raises(ConfigError, match="at most one of log and log_file"):
        built(tmp_path / "fixture", steps.replace("log_file", "log: x, log_file"))
    with pytest.raises(ConfigError, match=r"there is no file 'none.log' in github/"):
        built(tmp_path / "other", steps.replace("test.log", "none.log"))


def test_every_kind_of_step_can_stand_alone(tmp_path: Path) -> None:
    world = built(tmp_path / "fixture", ALL_STEPS)
    state, names, git = world.hub.state, world.names, world.git
    one, two = (state.need(PullRequestRecord, names[f"pr.{key}"]) for key in ("one", "two"))
    assert (one.merged_at is None, two.merged_at, two.state) == (False, None, "closed")
    assert set(git.branches()) == {"main", "late"}
    assert git.tags().keys() == {"v1"}
    bodies = [comment.body for comment in state.where(CommentRecord, subject=one.id)]
    assert bodies == [
        "Like https://github.com/octocat/demo/pull/1?",
        "Why b?",
        f"For {world.bindings['commit.topic']['short']}.",
    ]
    run = state.need(RunRecord, names["run.busy"])
    assert [(job.attempt, job.conclusion) for job in run.jobs] == [(1, "failure"), (2, None)]
    assert (run.status, run.attempt) == ("in_progress", 2)
    assert state.need(IssueRecord, names["issue.bug"]).state_reason == "not_planned"


def test_a_branch_begins_where_it_says_and_conflicts_are_found(tmp_path: Path) -> None:
    steps = (
        "  - commit: {branch: left, author: me, message: L, files: {a.txt: l}}\n"
        "  - commit: {branch: right, start: commit.first, author: me, message: R, files: {a.txt: r}}\n"
    )
    assert set(built(tmp_path / "fixture", steps).git.branches()) == {"main", "left", "right"}
    conflict = "  - commit: {branch: left, author: me, message: M, merge: right}\n"
    with pytest.raises(ConfigError, match="merge: right conflicts with left"):
        built(tmp_path / "other", steps + conflict)
    with pytest.raises(ConfigError, match="the branch left exists; leave start out"):
        built(tmp_path / "third", steps + conflict.replace("merge", "start"))
