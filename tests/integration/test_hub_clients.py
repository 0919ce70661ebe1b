"""Real clients on a hub: what one wrote all others read, and git agrees."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.hub.actions_records import JobRecord, RunRecord, StepRecord, WorkflowRecord
from scylla_gha.hub.cell import Hub
from tests.support.hub import AUTHOR, NAME, OWNER, REVIEWER, commit, make_hub
from tests.support.hub_clients import base_url, mcp_server, octokit, pygithub
from tests.support.hub_journey import clone_of, run_journey
from tests.support.hub_server import ServedHub, serving_hub

WORKFLOW = (
    "name: CI\non: {push: {}, workflow_dispatch: {}}\njobs: {test: {runs-on: ubuntu-latest, steps: [run: make]}}\n"
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as running:
        yield running


@pytest.mark.parametrize("noun", ["pr", "issue", "label", "release", "repo", "search", "git", "gaps"])
def test_commands_of_a_noun(served: ServedHub, noun: str) -> None:
    assert run_journey(served, noun, {}) is None
    traffic = served.endpoint.log.traffic
    assert (traffic.errors, traffic.gaps > 0) == (0, noun in ("gaps", "search"))


def test_commands_of_runs_and_workflows(served: ServedHub) -> None:
    run, job = add_failed_run(served.hub)
    assert run_journey(served, "run", {"RUN": run, "JOB": job}) is None


def test_the_mcp_server_reviews_and_merges_what_pygithub_opened(served: ServedHub) -> None:
    repository = pygithub(served).get_repo(f"{OWNER}/{NAME}")
    pull = repository.create_pull(base="main", head="topic", title="Change the sum", body="Why not?")
    repository.create_label("bug", "d73a4a")
    pull.add_to_labels("bug")
    pull.create_issue_comment("From PyGithub")
    with mcp_server(served, REVIEWER) as mcp:
        assert mcp.tool("get_me")["login"] == REVIEWER
        assert mcp.tool("get_pull_request", pullNumber=1)["title"] == "Change the sum"
        assert "+New" in mcp.tool("get_pull_request_diff", pullNumber=1)
        assert {file["filename"] for file in mcp.tool("get_pull_request_files", pullNumber=1)} >= {"docs/new.md"}
        assert mcp.tool("get_issue_comments", issue_number=1)[0]["body"] == "From PyGithub"
        mcp.tool("create_pending_pull_request_review", pullNumber=1)
        mcp.tool("add_comment_to_pending_review", pullNumber=1, path="docs/new.md", body="Why?", subjectType="LINE",
                 line=1, side="RIGHT")  # fmt: skip
        mcp.tool("submit_pending_pull_request_review", pullNumber=1, event="APPROVE", body="Good")
        assert [review.state for review in pull.get_reviews()] == ["APPROVED"]
        assert [(comment.path, comment.line) for comment in pull.get_review_comments()] == [("docs/new.md", 1)]
        mcp.tool("merge_pull_request", pullNumber=1, merge_method="squash")
    pull.update()
    assert (pull.merged, pull.merged_by.login) == (True, REVIEWER)
    heads = served.run("git", "ls-remote", f"https://github.com/{OWNER}/{NAME}.git", "refs/heads/main")
    assert heads.split()[0] == pull.merge_commit_sha
    state = served.run("gh", "pr", "view", "1", "-R", f"{OWNER}/{NAME}", "--json", "state,labels,reviewDecision")
    assert '"state":"MERGED"' in state
    assert '"name":"bug"' in state


def test_the_mcp_server_reads_runs_and_releases(served: ServedHub) -> None:
    run, _ = add_failed_run(served.hub)
    served.run("gh", "release", "create", "v1", "--notes", "First", "-R", f"{OWNER}/{NAME}")
    with mcp_server(served) as mcp:
        assert mcp.tool("list_workflows")["workflows"][0]["name"] == "CI"
        runs = mcp.tool("list_workflow_runs", workflow_id="ci.yml")
        assert [entry["id"] for entry in runs["workflow_runs"]] == [run]
        assert mcp.tool("get_workflow_run", run_id=run)["conclusion"] == "failure"
        assert mcp.tool("list_workflow_jobs", run_id=run)["jobs"]["jobs"][0]["name"] == "test"
        logs = mcp.tool("get_job_logs", run_id=run, failed_only=True, return_content=True)
        assert "assert 1 == 2" in logs["logs"][0]["logs_content"]
        mcp.tool("rerun_failed_jobs", run_id=run)
        assert mcp.tool("get_workflow_run", run_id=run)["conclusion"] == "success"
        assert mcp.tool("get_latest_release")["tag_name"] == "v1"
        assert [tag["name"] for tag in mcp.tool("list_tags")] == ["v1"]
        assert {branch["name"] for branch in mcp.tool("list_branches")} == {"main", "topic"}
        assert "def add" in str(mcp.tool("get_file_contents", path="src/app.py"))


def test_files_and_branches_that_the_mcp_server_wrote_are_in_git(served: ServedHub) -> None:
    with mcp_server(served) as mcp:
        mcp.tool("create_branch", branch="work", from_branch="main")
        mcp.tool("push_files", branch="work", message="Two", files=[{"path": "a.txt", "content": "A\n"},
                                                                    {"path": "b/c.txt", "content": "C\n"}])  # fmt: skip
        mcp.tool("create_or_update_file", branch="work", message="D", path="d.txt", content="D\n")
        mcp.tool("delete_file", branch="work", message="No a", path="a.txt")
        assert [commit["commit"]["message"] for commit in mcp.tool("list_commits", sha="work")][:2] == ["No a", "D"]
        issue = mcp.tool("create_issue", title="From MCP", body="Text")
        assert issue["title"] == "From MCP"
        mcp.tool("add_issue_comment", issue_number=1, body="More")
        mcp.tool("update_issue", issue_number=1, state="closed")
        assert mcp.tool("search_issues", query="From MCP")["total_count"] == 1
        assert mcp.tool("search_code", query="repo:octo-org/demo add")["total_count"] == 1
        assert mcp.tool("search_issues", query="From MCP")["total_count"] == 1
    clone = clone_of(served)
    assert served.run("git", "ls-tree", "-r", "--name-only", "origin/work", cwd=clone).split() == [
        "README.md", "b/c.txt", "d.txt", "src/app.py",
    ]  # fmt: skip
    seen = served.run("gh", "issue", "view", "1", "--json", "state,comments", cwd=clone)
    assert '"state":"CLOSED"' in seen
    assert '"body":"More"' in seen


def test_octokit_and_pygithub_see_the_same(served: ServedHub) -> None:
    wrote = octokit(
        served,
        """
        const { data: issue } = await octokit.rest.issues.create({ ...at, title: "From octokit", body: "Text" });
        await octokit.rest.issues.createComment({ ...at, issue_number: issue.number, body: "One" });
        await octokit.rest.issues.createLabel({ ...at, name: "new", color: "00ff00" });
        await octokit.rest.issues.addLabels({ ...at, issue_number: issue.number, labels: ["new"] });
        const { data: pull } = await octokit.rest.pulls.create({ ...at, title: "P", head: "topic", base: "main" });
        const comments = [{ path: "docs/new.md", line: 1, body: "Inline" }];
        await octokit.rest.pulls.createReview({ ...at, pull_number: pull.number, event: "COMMENT", comments });
        const commits = await octokit.paginate(octokit.rest.repos.listCommits, { ...at, sha: "topic", per_page: 1 });
        const { viewer } = await octokit.graphql("{ viewer { login } }");
        console.log(JSON.stringify([issue.number, pull.number, commits.length, viewer.login]));
    """,
    )
    assert wrote == [1, 2, 2, AUTHOR]
    repository = pygithub(served, REVIEWER).get_repo(f"{OWNER}/{NAME}")
    issue, pull = repository.get_issue(1), repository.get_pull(2)
    assert (issue.title, [label.name for label in issue.labels], issue.comments) == ("From octokit", ["new"], 1)
    assert [comment.body for comment in pull.get_review_comments()] == ["Inline"]
    assert {file.filename for file in pull.get_files()} == {"README.md", "docs/new.md", "src/app.py"}
    assert repository.compare("main", "topic").ahead_by == 1
    assert repository.get_contents("src/app.py").decoded_content.startswith(b"def add")  # type: ignore[union-attr]
    pull.create_review(body="Good", event="APPROVE")
    issue.edit(state="closed", state_reason="not_planned")
    assert octokit(
        served,
        """
        const { data } = await octokit.rest.issues.get({ ...at, issue_number: 1 });
        console.log(JSON.stringify([data.state, data.state_reason]));
    """,
    ) == ["closed", "not_planned"]


def test_clients_with_a_base_url_follow_pages(served: ServedHub) -> None:
    repository = pygithub(served).get_repo(f"{OWNER}/{NAME}")
    for name in ("a", "b", "c"):
        repository.create_label(name, "d73a4a")
    names = octokit(
        served,
        """
        const labels = await octokit.paginate(octokit.rest.issues.listLabelsForRepo, { ...at, per_page: 1 });
        console.log(JSON.stringify(labels.map((label) => label.name)));
    """,
    )
    assert names == ["a", "b", "c"]
    label = repository.get_labels()[1]
    label.edit(name="d", color="000000")
    assert repository.get_label("d").url.startswith(base_url(served))


def add_failed_run(hub: Hub) -> tuple[int, int]:
    """A workflow on main with one run that failed; the ids of the run and of its job."""
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    session, state, git = hub.session(AUTHOR), hub.state, hub.git(repository)
    sha = commit(git, {".github/workflows/ci.yml": WORKFLOW}, "Add CI\n", session.signature(), git.branches()["main"])
    git.set_ref("refs/heads/main", sha)
    now = state.now()
    workflow = state.create(0, WorkflowRecord(id=state.new_id(), created_at=now, repository=repository.id,
                                              path=".github/workflows/ci.yml", name="CI", updated_at=now))  # fmt: skip
    log = hub.blobs.add(b"2026-01-05T09:00:00.0000000Z ##[group]Run make\n"
                        b"2026-01-05T09:00:01.0000000Z assert 1 == 2\n")  # fmt: skip
    step = StepRecord(number=1, name="Run make", conclusion="failure", started_at=now, completed_at=now)
    job = JobRecord(id=state.new_id(), name="test", attempt=1, status="completed", conclusion="failure", steps=(step,),
                    log=log, created_at=now, started_at=now, completed_at=now)  # fmt: skip
    run = RunRecord(id=state.new_id(), created_at=now, repository=repository.id, workflow=workflow.id, number=1,
                    event="push", head_branch="main", head_sha=sha, title="Add CI", actor=session.user.id,
                    status="completed", conclusion="failure", updated_at=now, started_at=now, jobs=(job,),
                    scripted=("success",))  # fmt: skip
    return state.create(0, run).id, job.id
