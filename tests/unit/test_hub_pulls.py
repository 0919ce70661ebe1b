"""Pull requests: opening, changing, closing and reopening them over REST, and what pushes do to them."""

from pathlib import Path

import pytest

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.records import EventRecord, IssueRecord, ProtectionRecord
from tests.support.hub import AUTHOR, OWNER, READER, REPO, REVIEWER, Caller, make_hub
from tests.support.pulls import PULLS, delete_branch, demo, git_of, open_pull, pull_record, push, refusal


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return make_hub(tmp_path)


def test_a_pull_request_is_what_its_branches_are(hub: Hub) -> None:
    pull = open_pull(Caller(hub), body="Why", draft=True)
    assert (pull["number"], pull["state"], pull["draft"], pull["user"]["login"]) == (1, "open", True, AUTHOR)
    assert (pull["head"]["label"], pull["base"]["label"]) == (f"{OWNER}:topic", f"{OWNER}:main")
    assert pull["head"]["sha"] == git_of(hub).branch("topic") == git_of(hub).ref("refs/pull/1/head")
    counts = [pull[name] for name in ("commits", "changed_files", "additions", "deletions", "comments")]
    assert counts == [1, 3, 2, 2, 0]
    assert (pull["mergeable"], pull["mergeable_state"], pull["merged"]) == (True, "draft", False)


def test_lists_files_commits_and_text_forms_are_read(hub: Hub) -> None:
    caller = Caller(hub)
    open_pull(caller)
    push(hub, "other", {"x.txt": "x\n"}, onto="main")
    open_pull(caller, "other", title="Other")
    numbers = [pull["number"] for pull in caller.get(PULLS)]
    assert numbers == [2, 1], "the newest first"
    assert [pull["number"] for pull in caller.get(f"{PULLS}?head={OWNER}:topic&base=main&state=all")] == [1]
    assert [pull["number"] for pull in caller.get(f"{PULLS}?sort=updated")] == [1, 2]
    assert caller.get(f"{PULLS}?state=closed") == []
    assert [file["filename"] for file in caller.get(f"{PULLS}/1/files")] == ["README.md", "docs/new.md", "src/app.py"]
    assert [entry["commit"]["message"] for entry in caller.get(f"{PULLS}/1/commits")] == ["Change the sum\n\nAnd more."]
    diff = caller.rest("GET", f"{PULLS}/1", accept="application/vnd.github.v3.diff").content or b""
    patch = caller.rest("GET", f"{PULLS}/1", accept="application/vnd.github.v3.patch").content or b""
    assert diff.startswith(b"diff --git a/README.md b/README.md\n")
    assert patch.startswith(b"From ")
    assert b"Subject: [PATCH] Change the sum" in patch


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"head": "gone"}, "head"),
        ({"base": "gone"}, "base"),
        ({"head": "main"}, "No commits between main and main"),
        ({"head": "nobody:topic"}, "head"),
        ({"title": " "}, "title"),
        ({"body": "x" * 65_537}, "body is too long (maximum is 65536 characters)"),
    ],
)
def test_what_cannot_be_pulled_is_refused(hub: Hub, fields: dict[str, str], reason: str) -> None:
    """https://docs.github.com/rest/pulls/pulls#create-a-pull-request."""
    body = {"title": "T", "head": "topic", "base": "main", **fields}
    assert refusal(Caller(hub), "POST", PULLS, body) == (422, reason)
    assert demo(hub).last_number == 0


def test_a_head_has_one_open_pull_request_into_a_base(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/pulls#create-a-pull-request."""
    caller = Caller(hub)
    open_pull(caller)
    body = {"title": "T", "head": "topic", "base": "main"}
    message = f"A pull request already exists for {OWNER}:topic."
    assert refusal(caller, "POST", PULLS, body) == (422, message)
    assert refusal(Caller(hub, READER), "POST", PULLS, body)[0] == 403


def test_title_text_base_and_state_are_changed(hub: Hub) -> None:
    caller = Caller(hub)
    open_pull(caller, body="Why")
    push(hub, "next", {"n.txt": "n\n"}, onto="main")
    changes = {"title": "New", "body": None, "base": "next"}
    changed = caller.rest("PATCH", f"{PULLS}/1", changes).body
    assert (changed["title"], changed["body"], changed["base"]["ref"]) == ("New", None, "next")
    events = [event.event for event in hub.state.where(EventRecord, subject=pull_record(hub, 1).id)]
    assert events == ["base_ref_changed", "renamed"]
    assert refusal(caller, "PATCH", f"{PULLS}/1", {"base": "gone"})[0] == 422
    assert refusal(Caller(hub, READER), "PATCH", f"{PULLS}/1", {"title": "Mine"})[0] == 403
    assert caller.rest("PATCH", f"{PULLS}/1", {"state": "closed"}).body["state"] == "closed"
    assert caller.rest("PATCH", f"{PULLS}/1", {"state": "open"}).body["closed_at"] is None


def test_closed_reopens_while_its_head_is_there(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/pulls#update-a-pull-request; the reasons are those of GitHub's page."""
    caller = Caller(hub)
    number = open_pull(caller)["number"]
    url, head = f"{PULLS}/{number}", str(git_of(hub).branch("topic"))
    caller.rest("PATCH", url, {"state": "closed"})
    added = push(hub, "topic", {"more.txt": "more\n"})
    assert caller.get(url)["head"]["sha"] == head, "the head of a closed one stays"
    assert caller.rest("PATCH", url, {"state": "open"}).body["head"]["sha"] == added
    caller.rest("PATCH", url, {"state": "closed"})
    push(hub, "topic", {"y.txt": "y\n"}, onto="main")
    forced = "state cannot be changed. The topic branch was force-pushed or recreated."
    assert refusal(caller, "PATCH", url, {"state": "open"}) == (422, forced)
    delete_branch(hub, "topic")
    gone = "state cannot be changed. The topic branch has been deleted."
    assert refusal(caller, "PATCH", url, {"state": "open"}) == (422, gone)


def test_deleting_a_head_branch_closes_its_pull_request(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/proposing-changes-to-your-work-with-pull-requests/creating-and-deleting-branches-within-your-repository."""
    caller = Caller(hub)
    head = open_pull(caller)["head"]["sha"]
    delete_branch(hub, "topic")
    pull = caller.get(f"{PULLS}/1")
    assert (pull["state"], pull["merged"], pull["head"]["sha"]) == ("closed", False, head)
    assert len(caller.get(f"{PULLS}/1/files")) == 3


def test_a_base_branch_that_github_deletes_after_a_merge_retargets(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/proposing-changes-to-your-work-with-pull-requests/creating-and-deleting-branches-within-your-repository."""
    caller = Caller(hub)
    caller.rest("PATCH", PULLS.removesuffix("/pulls"), {"delete_branch_on_merge": True})
    upper = open_stack(hub, caller)
    retargeted = caller.get(f"{PULLS}/{upper}")
    assert (retargeted["state"], retargeted["base"]["ref"], retargeted["commits"]) == ("open", "main", 1)


def test_a_base_branch_that_a_client_deletes_closes_even_after_a_merge(hub: Hub) -> None:
    """https://github.com/cli/cli/issues/1168: only GitHub's own deletion of a merged branch retargets."""
    caller = Caller(hub)
    upper = open_stack(hub, caller)
    delete_branch(hub, "topic")
    closed = caller.get(f"{PULLS}/{upper}")
    assert (closed["state"], closed["merged"], closed["base"]["ref"]) == ("closed", False, "topic")
    gone = "state cannot be changed. The topic branch has been deleted."
    assert refusal(caller, "PATCH", f"{PULLS}/{upper}", {"state": "open"}) == (422, gone)


def open_stack(hub: Hub, caller: Caller) -> int:
    """Merge a pull request that another one is based on, and return the number of the other one."""
    lower = open_pull(caller)["number"]
    push(hub, "upper", {"upper.txt": "u\n"}, onto="topic")
    upper = open_pull(caller, "upper", "topic")["number"]
    assert caller.rest("PUT", f"{PULLS}/{lower}/merge", {"merge_method": "merge"}).status == 200
    return int(upper)


def test_a_push_moves_the_head_and_dismisses_only_where_a_rule_says_so(hub: Hub) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches#require-pull-request-reviews-before-merging."""
    caller, reviewer, state = Caller(hub), Caller(hub, REVIEWER), hub.state
    open_pull(caller)
    reviewer.rest("POST", f"{PULLS}/1/reviews", {"event": "APPROVE"})
    head = push(hub, "topic", {"a.txt": "a\n"})
    assert caller.get(f"{PULLS}/1")["head"]["sha"] == head
    assert caller.get(f"{PULLS}/1/reviews")[0]["state"] == "APPROVED"
    rule = ProtectionRecord(id=state.new_id(), created_at=state.now(), repository=demo(hub).id, pattern="main",
                            required_reviews=1, dismiss_stale_reviews=True)  # fmt: skip
    state.create(0, rule)
    push(hub, "main", {"beside.txt": "b\n"})
    assert caller.rest("PUT", f"{PULLS}/1/update-branch", {}).status == 202
    push(hub, "topic", {})
    assert caller.get(f"{PULLS}/1/reviews")[0]["state"] == "DISMISSED", "the first push changed the diff"
    reviewer.rest("POST", f"{PULLS}/1/reviews", {"event": "APPROVE"})
    push(hub, "topic", {})
    assert caller.get(f"{PULLS}/1/reviews")[1]["state"] == "APPROVED", "nothing changed in the diff"
    push(hub, "topic", {"a.txt": "b\n"})
    assert caller.get(f"{PULLS}/1/reviews")[1]["state"] == "DISMISSED"
    assert caller.get(f"{PULLS}/1")["mergeable_state"] == "blocked"


def test_commits_that_come_into_the_base_merge_and_those_of_nothing_close(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/about-pull-request-merges#indirect-merges."""
    caller, git = Caller(hub), git_of(hub)
    open_pull(caller)
    push(hub, "main", {"z.txt": "z\n"}, onto="topic", message="On top")
    pull = caller.get(f"{PULLS}/1")
    assert (pull["merged"], pull["merge_commit_sha"]) == (True, git.branch("topic"))
    push(hub, "again", {"again.txt": "x\n"}, onto="main")
    open_pull(caller, "again")
    push(hub, "again", {}, onto="main")
    assert caller.get(f"{PULLS}/2")["state"] == "open", "an empty commit is a commit"


def test_keywords_close_issues_on_a_merge_into_the_default_branch_only(hub: Hub) -> None:
    """https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue."""
    caller, state = Caller(hub), hub.state
    for title in ("One", "Two", "Three", "Four"):
        assert caller.rest("POST", f"{REPO}/issues", {"title": title}).status == 201
    push(hub, "release", {"r.txt": "r\n"}, onto="main")
    push(hub, "fix", {"f.txt": "f\n"}, onto="release")
    number = open_pull(caller, "fix", "release", body="Fixes #1")["number"]
    caller.rest("PUT", f"{PULLS}/{number}/merge", {})
    assert state.where(IssueRecord, state="closed") == []
    body = f"Fixes #1, RESOLVES: {OWNER}/demo#2\n\nnot `closes #3`; Closes https://github.com/{OWNER}/demo/issues/4"
    number = open_pull(caller, body=body)["number"]
    caller.rest("PUT", f"{PULLS}/{number}/merge", {"merge_method": "squash"})
    closed = {issue.number: issue.state_reason for issue in state.where(IssueRecord, state="closed")}
    assert closed == {1: "completed", 2: "completed", 4: "completed"}
    push(hub, "main", {"w.txt": "w\n"}, message="Close #3")
    assert len(state.where(IssueRecord, state="closed")) == 4


def test_the_base_of_a_merged_one_stays(hub: Hub) -> None:
    caller = Caller(hub)
    open_pull(caller)
    caller.rest("PUT", f"{PULLS}/1/merge", {"merge_method": "squash"})
    push(hub, "main", {"later.txt": "l\n"})
    pull = caller.get(f"{PULLS}/1")
    assert (pull["commits"], pull["changed_files"], pull["mergeable"]) == (1, 3, None)
    assert pull_record(hub, 1).closed_base != git_of(hub).branch("main")
