"""Seed and reset of repositories that stand for those on github.com: equal by digest, nothing twice, few requests."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import GitHubError
from scylla_gha.github_com.commands import bindings_of
from scylla_gha.hub.faults import FaultInjector
from scylla_gha.hub.records import CommentRecord, IssueRecord, PullRequestRecord, ReviewRecord
from scylla_gha.model.github_requests import GitHubFault
from tests.integration.test_hub_writes import write_everything
from tests.support.fixture_repositories import FixtureSite, fixture_site
from tests.support.hub import Caller
from tests.support.hub_runs import failed_run

FOREVER = 10**6
CREATIONS = ("POST /repos/{owner}/{repo}/", "mutation create", "mutation add")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[FixtureSite]:
    with fixture_site(tmp_path) as site:
        yield site


def test_a_seeded_repository_is_equal_and_a_second_seed_or_reset_only_reads(site: FixtureSite) -> None:
    seeded = site.converge()
    assert seeded.view.is_equal
    assert seeded.view.canonical == site.reference.canonical
    assert [pull.merged for pull in seeded.view.objects.pulls.values()] == [False, True]
    before = len(site.requests())
    assert site.converge().rounds == 0
    assert site.requests()[before:] == ["query rateLimit, repository"]


def test_each_object_is_written_by_its_own_account_and_has_a_marker(site: FixtureSite) -> None:
    view = site.converge().view
    issue, pull = view.state.issues[0], view.state.pull_requests[0]
    assert issue.author == "acct-reader"
    assert issue.body.endswith("<!-- scylla:seed:issue.crash -->")
    assert pull.body == "Closes #1\n\n<!-- scylla:seed:pr.review_me -->"
    assert [review.author for review in pull.reviews] == ["acct-reviewer", "acct-author"]
    assert pull.review_threads[0].is_resolved


def test_after_every_write_of_the_contract_a_reset_is_equal(tmp_path: Path) -> None:
    with fixture_site(tmp_path, repository="octo-org/demo", renames=False) as site:
        site.converge()
        hub = site.served.hub
        failed_run(hub)
        users = {"author": "octocat", "reviewer": "hubot", "bot": "ci[bot]"}
        write_everything(hub, {f"user.{user}": hub.tokens[login] for user, login in users.items()})
        reset = site.converge()
        assert reset.view.is_equal
        assert reset.created == []
        assert site.converge().rounds == 0


def scribble(site: FixtureSite) -> None:
    """Do what a trial does that merges and reviews nothing."""
    author, reader = Caller(site.served.hub, "acct-author"), Caller(site.served.hub, "acct-reader")
    repo = "/repos/pool/demo-0"
    main = author.get(f"{repo}/git/ref/heads/main")["object"]["sha"]
    for caller, method, path, body in (
        (
            author,
            "PATCH",
            "issues/1",
            {"title": "Other", "body": "Other", "labels": [], "assignees": [], "milestone": None},
        ),
        (author, "PATCH", "issues/1", {"state": "closed"}),
        (author, "PATCH", "issues/4", {"state": "open"}),
        (author, "PUT", "issues/1/lock", {}),
        (author, "POST", "issues/1/comments", {"body": "Done"}),
        (reader, "POST", "issues", {"title": "Extra"}),
        (author, "PATCH", "labels/bug", {"new_name": "defect", "color": "000000"}),
        (author, "POST", "labels", {"name": "new"}),
        (author, "PUT", "contents/x.txt", {"message": "X", "content": "eAo=", "branch": "fix-add"}),
        (author, "PATCH", "pulls/2", {"state": "closed", "title": "No"}),
        (author, "POST", "git/refs", {"ref": "refs/heads/extra", "sha": main}),
        (author, "PUT", "contents/y.txt", {"message": "Y", "content": "eQo="}),
        (author, "PATCH", "milestones/1", {"state": "closed"}),
        (author, "PATCH", "", {"description": "Other", "allow_squash_merge": False}),
        (author, "PUT", "topics", {"names": ["other"]}),
    ):
        answer = caller.rest(method, f"{repo}/{path}".rstrip("/"), body)
        assert answer.status < 300, (path, answer.body)


def test_a_reset_without_a_merge_takes_at_most_seven_requests_and_creates_nothing(site: FixtureSite) -> None:
    numbers = {key: subject.number for key, subject in site.converge().view.objects.subjects.items()}
    scribble(site)
    before = len(site.requests())
    reset = site.converge()
    requests = site.requests()[before:]
    assert reset.view.is_equal
    assert len(requests) <= 7, requests
    assert [name for name in requests if name.startswith(CREATIONS)] == []
    assert reset.created == []
    assert {key: subject.number for key, subject in reset.view.objects.subjects.items()} == numbers
    assert len(site.served.hub.state.where(IssueRecord)) == 2


def test_a_merged_pull_request_is_created_anew_and_prompts_get_its_new_number(site: FixtureSite) -> None:
    site.converge()
    author = Caller(site.served.hub, "acct-author")
    assert author.rest("DELETE", "/repos/pool/demo-0/branches/main/protection").status == 204
    assert author.rest("PUT", "/repos/pool/demo-0/pulls/2/merge", {"merge_method": "squash"}).status == 200
    reset = site.converge()
    assert reset.view.is_equal
    assert reset.recreated == {"pr.review_me": "it was merged"}
    assert [pull.number for pull in reset.view.objects.retired] == [2]
    bindings = bindings_of(reset.view)
    assert bindings["pr.review_me"]["number"] == reset.view.objects.pulls["pr.review_me"].number == 5
    assert bindings["issue.crash"]["number"] == 1
    assert bindings["user.author"]["login"] == "acct-author"
    assert site.converge().rounds == 0


def test_what_only_recreation_mends_is_named_and_recreated(site: FixtureSite) -> None:
    site.converge()
    hub = site.served.hub
    reviewer, author = Caller(hub, "acct-reviewer"), Caller(hub, "acct-author")
    assert (
        reviewer.rest("POST", "/repos/pool/demo-0/pulls/2/reviews", {"event": "APPROVE", "body": "Good"}).status == 200
    )
    issue = hub.state.first(IssueRecord, number=1)
    assert issue is not None
    author.data(
        "mutation($id: ID!) { deleteIssue(input: {issueId: $id}) { clientMutationId } }", id=f"I_kwDO{issue.id:08d}"
    )
    reset = site.converge()
    assert reset.view.is_equal
    assert reset.recreated == {"pr.review_me": "a review was submitted"}
    assert reset.view.state.pull_requests[-1].body.startswith(
        f"Closes #{reset.view.objects.issues['issue.crash'].number}"
    )


def test_a_deleted_comment_is_written_again_in_its_place(site: FixtureSite) -> None:
    site.converge()
    hub = site.served.hub
    author = Caller(hub, "acct-author")
    for comment in hub.state.where(CommentRecord):
        kind = "pulls" if comment.thread else "issues"
        if comment.reply_to or not comment.thread:
            assert author.rest("DELETE", f"/repos/pool/demo-0/{kind}/comments/{comment.id}").status == 204
    reset = site.converge()
    assert reset.view.is_equal
    assert reset.recreated == {}
    assert sorted(reset.created) == ["issue.crash/c1", "pr.review_me/t1/c2"]


# Not of a commit, which alone changes nothing.
WRITES = ("POST */issues*", "POST */pulls*", "POST */milestones", "POST */releases*", "PATCH *",
          "mutation *", "git-receive-pack")  # fmt: skip


def killed(site: FixtureSite, faults: list[GitHubFault]) -> bool:
    """Seed while requests have faults and nothing is tried again; whether that ended it."""
    site.served.endpoint.faults = FaultInjector(site.served.hub, faults)
    accounts = site.accounts
    accounts.retries.seconds = 0.0
    try:
        site.converge(accounts)
    except GitHubError:
        return True
    return False


def totals(site: FixtureSite) -> list[int]:
    state = site.served.hub.state
    return [len(state.where(kind)) for kind in (IssueRecord, PullRequestRecord, CommentRecord, ReviewRecord)]


def test_a_seed_that_is_killed_at_each_write_in_turn_is_finished_without_doubles(site: FixtureSite) -> None:
    """Each run does one write, and dies before it gets the answer; so all states in which it can die are resumed."""
    faults = [GitHubFault(kind="lost_connection", operation=write, times=FOREVER, when="after") for write in WRITES]
    kills = sum(itertools.takewhile(bool, (killed(site, faults) for _ in range(60))))
    assert 18 < kills < 60
    assert site.converge().rounds == 0
    assert totals(site) == [2, 2, 3, 2]


def test_a_reset_that_is_killed_at_each_write_in_turn_is_finished_without_doubles(site: FixtureSite) -> None:
    """As the test before, after a trial that has merged, reviewed, deleted and written."""
    site.converge()
    scribble(site)
    author = Caller(site.served.hub, "acct-author")
    repo = "/repos/pool/demo-0"
    assert author.rest("PATCH", f"{repo}/pulls/2", {"state": "open"}).status == 200
    assert author.rest("DELETE", f"{repo}/branches/main/protection").status == 204
    assert author.rest("PUT", f"{repo}/pulls/2/merge", {"merge_method": "merge"}).status == 200
    assert author.rest("DELETE", f"{repo}/labels/defect").status == 204
    for comment in [comment for comment in site.served.hub.state.where(CommentRecord) if not comment.thread]:
        assert author.rest("DELETE", f"{repo}/issues/comments/{comment.id}").status == 204
    assert author.rest("POST", f"{repo}/issues/1/comments", {"body": "Still there"}).status == 201

    faults = [GitHubFault(kind="lost_connection", operation=write, times=FOREVER, when="after") for write in WRITES]
    kills = sum(itertools.takewhile(bool, (killed(site, faults) for _ in range(60))))
    assert 8 < kills < 60
    last = site.converge()
    assert last.rounds == 0
    assert [pull.number for pull in last.view.objects.retired] == [2]
    assert totals(site) == [2, 3, 5, 4], "with the pull request that was merged, its thread and its reviews"


@pytest.mark.parametrize("number", [1, 2, 5, 8, 13, 21, 27])
def test_a_seed_that_is_killed_before_a_request_is_finished_without_doubles(site: FixtureSite, number: int) -> None:
    assert killed(site, [GitHubFault(kind="lost_connection", nth=number, times=FOREVER, when="before")])
    site.served.endpoint.faults = FaultInjector(site.served.hub)
    assert site.converge().view.is_equal
    assert totals(site) == [2, 2, 3, 2]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "server_error", "operation": "POST *", "nth": 2, "when": "after", "status": 502},
        {"kind": "server_error", "operation": "POST */pulls*", "when": "before"},
        {"kind": "server_error", "operation": "mutation *", "nth": 2, "when": "after"},
        {"kind": "lost_connection", "operation": "POST */issues*", "times": 2, "when": "after"},
        {"kind": "lost_connection", "operation": "git-receive-pack", "when": "after"},
        {"kind": "secondary_limit", "operation": "*", "nth": 7, "times": 3, "seconds": 1},
        {"kind": "stale_reads", "operation": "POST */issues", "reads": 3},
        {"kind": "stale_reads", "operation": "mutation *", "nth": 3, "times": 9, "reads": 2},
    ],
    ids=lambda fault: "-".join(str(value) for value in fault.values()).replace("/", ""),
)
def test_faults_of_github_make_no_doubles(site: FixtureSite, fault: dict[str, Any]) -> None:
    site.served.endpoint.faults = FaultInjector(site.served.hub, [GitHubFault(**fault)])
    seeded = site.converge()
    assert seeded.view.is_equal
    shown = [
        json.loads(line)["fault"] for line in (site.served.folder / "github-requests.jsonl").read_text().splitlines()
    ]
    assert fault["kind"] in shown
    assert totals(site) == [2, 2, 3, 2]
