"""Merges of pull requests: the commits that GitHub makes, what forbids a merge, updates of branches and reverts."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.actions_records import CheckRecord
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.git_store import GitCommit
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord, UserRecord
from tests.support.hub import AUTHOR, OWNER, READER, REVIEWER, Caller, make_hub
from tests.support.pulls import PULLS, demo, git_of, open_pull, push, refusal

MERGE = f"{PULLS}/1/merge"


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    """A hub whose pull request 1 has two commits, by the author and by the reviewer; main went on."""
    hub = make_hub(tmp_path)
    push(hub, "topic", {"docs/new.md": "Newer\n"}, message="Say more", login=REVIEWER)
    push(hub, "main", {"beside.txt": "b\n"}, message="Beside")
    open_pull(Caller(hub))
    return hub


def settings(hub: Hub, **changes: Any) -> None:
    hub.state.update(0, hub.state.need(RepositoryRecord, demo(hub).id), **changes)


def protect(hub: Hub, **rules: Any) -> None:
    state = hub.state
    record = ProtectionRecord(id=state.new_id(), created_at=state.now(), repository=demo(hub).id, pattern="main",
                              enforce_admins=True, **rules)  # fmt: skip
    state.create(0, record)


def check(hub: Hub, conclusion: str) -> None:
    state, head = hub.state, git_of(hub).branch("topic") or ""
    record = CheckRecord(id=state.new_id(), created_at=state.now(), repository=demo(hub).id, sha=head, name="ci",
                         kind="check_run", conclusion=conclusion)  # fmt: skip
    state.create(0, record)


def merged(hub: Hub, **body: str) -> GitCommit:
    """The base's tip after a merge by the reviewer."""
    answer = Caller(hub, REVIEWER).rest("PUT", MERGE, body)
    assert answer.status == 200, answer.body
    tip = git_of(hub).branch("main")
    assert (answer.body["sha"], answer.body["merged"]) == (tip, True)
    return git_of(hub).commit(str(tip))


def people(commit: GitCommit) -> tuple[str, str]:
    return commit.author.name, f"{commit.committer.name} <{commit.committer.email}>"


WEB_FLOW = "GitHub <noreply@github.com>"


def test_a_merge_commit_has_both_parents_and_who_merged_as_author(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/about-pull-request-merges."""
    git = git_of(hub)
    base, head = git.branch("main"), git.branch("topic")
    commit = merged(hub)
    assert commit.parents == (base, head)
    assert commit.message == f"Merge pull request #1 from {OWNER}/topic\n\nChange the sum"
    assert people(commit) == ("Hubot", WEB_FLOW)
    pull = Caller(hub).get(f"{PULLS}/1")
    assert (pull["state"], pull["merged"], pull["merged_by"]["login"]) == ("closed", True, REVIEWER)
    assert (pull["merge_commit_sha"], pull["commits"], pull["head"]["sha"]) == (commit.sha, 2, head)
    assert Caller(hub).rest("GET", MERGE).status == 204


def test_a_squash_has_one_parent_and_the_messages_of_the_commits(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/about-pull-request-merges#squash-and-merge-your-commits."""
    base = git_of(hub).branch("main")
    commit = merged(hub, merge_method="squash")
    assert (commit.parents, people(commit)) == ((base,), ("Octocat", WEB_FLOW))
    reviewer = hub.state.user(REVIEWER)
    assert isinstance(reviewer, UserRecord)
    trailer = f"Co-authored-by: Hubot <{reviewer.id}+{REVIEWER}@users.noreply.github.com>"
    body = f"* Change the sum\n\nAnd more.\n\n* Say more\n\n{trailer}"
    assert commit.message == f"Change the sum (#1)\n\n{body}"
    assert git_of(hub).content("main:docs/new.md") == b"Newer\n"


def test_a_squash_of_one_commit_has_its_message_and_own_words_win(hub: Hub) -> None:
    push(hub, "single", {"s.txt": "s\n"}, onto="main", message="Only one\n\nBody.")
    open_pull(Caller(hub), "single", title="Another title")
    Caller(hub).rest("PUT", f"{PULLS}/2/merge", {"merge_method": "squash"})
    git = git_of(hub)
    assert git.commit(str(git.branch("main"))).message == "Only one (#2)\n\nBody."
    commit = merged(hub, merge_method="squash", commit_title="Mine", commit_message="Words")
    assert commit.message == "Mine\n\nWords"


def test_a_rebase_makes_new_commits_by_their_authors(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/about-pull-request-merges#rebase-and-merge-your-commits."""
    git = git_of(hub)
    base, head = git.branch("main"), git.branch("topic")
    commit = merged(hub, merge_method="rebase")
    first = git.commit(commit.parents[0])
    assert first.parents == (base,)
    assert [(entry.headline, entry.author.name) for entry in (first, commit)] == [
        ("Change the sum", "Octocat"),
        ("Say more", "Hubot"),
    ]
    assert first.committer.name == "Hubot"
    assert commit.sha != head


@pytest.mark.parametrize(
    ("change", "body", "status", "reason"),
    [
        ("conflict", {}, 405, "Pull Request is not mergeable"),
        ("conflict", {"merge_method": "rebase"}, 405, "This branch can't be rebased"),
        ("draft", {}, 405, "Pull Request is still a draft"),
        ("method", {"merge_method": "squash"}, 405, "Squash merges are not allowed on this repository."),
        ("", {"sha": "1" * 40}, 409, "Head branch was modified. Review and try the merge again."),
        ("", {"merge_method": "octopus"}, 422, "merge_method"),
        ("review", {}, 405, "At least 1 approving review is required by reviewers with write access."),
        ("check", {}, 405, 'Required status check "ci" is expected.'),
        ("strict", {}, 405, "The head branch is not up to date with the base branch."),
        ("linear", {}, 405, "This branch must not contain merge commits."),
    ],
)
def test_what_cannot_be_merged_is_refused(hub: Hub, change: str, body: Any, status: int, reason: str) -> None:
    """https://docs.github.com/rest/pulls/pulls#merge-a-pull-request."""
    base = git_of(hub).branch("main")
    if change == "conflict":
        base = push(hub, "main", {"src/app.py": "def add(*all):\n    return sum(all)\n"})
    elif change == "draft":
        change_draft = "mutation($id: ID!) {convertPullRequestToDraft(input: {pullRequestId: $id}) {clientMutationId}}"
        Caller(hub).data(change_draft, id=Caller(hub).get(f"{PULLS}/1")["node_id"])
    elif change == "method":
        settings(hub, allow_squash_merge=False)
    elif change:
        rules: dict[str, Any] = {"review": {"required_reviews": 1}, "check": {"required_checks": ("ci",)},
                                 "strict": {"strict": True}, "linear": {"linear_history": True}}  # fmt: skip
        protect(hub, **rules[change])
    assert refusal(Caller(hub), "PUT", MERGE, body) == (status, reason)
    assert git_of(hub).branch("main") == base
    assert Caller(hub).get(f"{PULLS}/1")["state"] == "open"


def test_reviews_and_checks_that_a_rule_wants_open_the_way(hub: Hub) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches."""
    caller = Caller(hub)
    protect(hub, required_reviews=1, required_checks=("ci",))
    Caller(hub, READER).rest("POST", f"{PULLS}/1/reviews", {"event": "APPROVE"})
    check(hub, "failure")
    first = ("At least 1 approving review is required by reviewers with write access. "
             'Required status check "ci" is failing.')  # fmt: skip
    assert refusal(caller, "PUT", MERGE, {}) == (405, first)
    Caller(hub, REVIEWER).rest("POST", f"{PULLS}/1/reviews", {"event": "APPROVE"})
    check(hub, "success")
    assert caller.get(f"{PULLS}/1")["mergeable_state"] == "clean"
    assert caller.rest("PUT", MERGE, {}).status == 200


def test_a_reader_does_not_merge_and_nobody_merges_twice(hub: Hub) -> None:
    assert refusal(Caller(hub, READER), "PUT", MERGE, {})[0] == 403
    merged(hub)
    assert refusal(Caller(hub), "PUT", MERGE, {}) == (405, "Pull Request is not mergeable")
    reopening = "state cannot be changed. The pull request cannot be reopened."
    assert refusal(Caller(hub), "PATCH", f"{PULLS}/1", {"state": "open"}) == (422, reopening)


def test_the_repository_may_want_merged_branches_deleted(hub: Hub) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/configuring-pull-request-merges/managing-the-automatic-deletion-of-branches."""
    settings(hub, delete_branch_on_merge=True)
    merged(hub)
    assert sorted(git_of(hub).branches()) == ["main"]


def test_an_update_merges_the_base_into_the_head(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/pulls#update-a-pull-request-branch."""
    caller, git, url = Caller(hub), git_of(hub), f"{PULLS}/1/update-branch"
    head, base = git.branch("topic"), git.branch("main")
    stale = (422, "expected head sha didn\u2019t match current head ref.")
    assert refusal(caller, "PUT", url, {"expected_head_sha": "1" * 40}) == stale
    assert caller.rest("PUT", url, {"expected_head_sha": head}).status == 202
    commit = git.commit(str(git.branch("topic")))
    assert (commit.parents, commit.message) == ((head, base), "Merge branch 'main' into topic")
    assert caller.get(f"{PULLS}/1")["head"]["sha"] == commit.sha
    assert refusal(caller, "PUT", url, {}) == (422, "There are no new commits on the base branch.")
    push(hub, "main", {"src/app.py": "def add(*all):\n    return sum(all)\n"})
    assert refusal(caller, "PUT", url, {}) == (422, "merge conflict between base and head")


REVERT = "mutation($id: ID!) {revertPullRequest(input: {pullRequestId: $id, draft: true}) {clientMutationId}}"


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_revert_takes_back_what_was_merged(hub: Hub, method: str) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/reverting-a-pull-request."""
    caller, git = Caller(hub), git_of(hub)
    before = git.commit(str(git.branch("main"))).tree
    id_ = caller.get(f"{PULLS}/1")["node_id"]
    assert "errors" in caller.graphql(REVERT, id=id_), "not merged yet"
    merged(hub, merge_method=method)
    caller.data(REVERT, id=id_)
    pull = caller.get(f"{PULLS}/2")
    assert (pull["title"], pull["body"], pull["draft"]) == ('Revert "Change the sum"', f"Reverts {OWNER}/demo#1", True)
    assert (pull["head"]["ref"], pull["user"]["login"]) == ("revert-1-topic", AUTHOR)
    assert git.commit(pull["head"]["sha"]).tree == before
