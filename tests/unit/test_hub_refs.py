"""Changes of refs in the hub: who may make them, and what protection refuses."""

from pathlib import Path

import pytest

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.branches import merge_branch
from scylla_gha.hub.operations.checks import NewStatus, create_status
from scylla_gha.hub.operations.refs import RefRefusedError, change_ref
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REVIEWER, Caller, commit, make_hub


def demo(hub: Hub) -> RepositoryRecord:
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    return repository


def protect(hub: Hub, **rules: object) -> None:
    state = hub.state
    rule = ProtectionRecord(id=state.new_id(), created_at=state.now(), repository=demo(hub).id, pattern="main", **rules)  # type: ignore[arg-type]
    state.create(0, rule)


def test_a_change_of_a_branch_is_in_git_and_in_the_journal(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    git, session = hub.git(demo(hub)), hub.session(REVIEWER)
    main, topic = git.branches()["main"], git.branches()["topic"]
    change_ref(session, demo(hub), "refs/heads/main", topic)
    assert git.branch("main") == topic
    change_ref(session, demo(hub), "refs/heads/main", main, force=True)
    change_ref(session, demo(hub), "refs/heads/topic", None)
    assert git.branches() == {"main": main}
    pushes = [(entry.fields[0], entry.detail) for entry in hub.state.journal if entry.action == "push"]
    assert pushes == [
        ("refs/heads/main", f"{main} {topic}"),
        ("refs/heads/main", f"{topic} {main} forced"),
        ("refs/heads/topic", f"{topic} {'0' * 40}"),
    ]


IMPOSSIBLE: tuple[tuple[str, str | None, str], ...] = (
    ("refs/heads/topic", "main", "Update is not a fast forward"),
    ("refs/heads/main", "f" * 40, "Object does not exist"),
    ("refs/heads/main", None, "Cannot delete the default branch"),
    ("refs/heads/absent", None, "Reference does not exist"),
    ("refs/heads/topic/below", "main", "Reference update failed"),
    ("refs/heads/a..b", "main", "refs/heads/a..b is not a valid ref name."),
    ("refs/pull/1/head", "main", "refs/pull/1/head is not a valid ref name."),
)


def test_an_impossible_change_is_refused(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    before = dict(hub.git(demo(hub)).refs())
    for ref, sha, message in IMPOSSIBLE:
        with pytest.raises(RefRefusedError) as caught:
            change_ref(hub.session(AUTHOR), demo(hub), ref, before["refs/heads/main"] if sha == "main" else sha)
        assert (caught.value.status, caught.value.message) == (422, message)
    assert dict(hub.git(demo(hub)).refs()) == before


def test_a_reader_may_not_push(tmp_path: Path) -> None:
    """https://docs.github.com/organizations/managing-user-access-to-your-organizations-repositories"""
    hub = make_hub(tmp_path)
    with pytest.raises(HubError) as caught:
        change_ref(hub.session(READER), demo(hub), "refs/heads/topic", None)
    assert caught.value.status == 403


def test_protection_refuses_force_pushes_and_deletions_even_of_administrators(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches"""
    hub = make_hub(tmp_path)
    git, session = hub.git(demo(hub)), hub.session(AUTHOR)
    other = commit(git, {"other.txt": "x\n"}, "Other", session.signature())
    protect(hub)
    with pytest.raises(RefRefusedError, match="Cannot force-push to this branch") as caught:
        change_ref(session, demo(hub), "refs/heads/main", other, force=True)
    assert caught.value.reason == "protected branch hook declined"
    assert caught.value.lines[0] == "error: GH006: Protected branch update failed for refs/heads/main."
    change_ref(session, demo(hub), "refs/heads/main", git.branches()["topic"])
    assert git.branch("main") == git.branch("topic"), "a fast-forward is allowed"


def test_requirements_hold_for_writers_and_not_for_administrators_or_merges(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches"""
    hub = make_hub(tmp_path)
    git = hub.git(demo(hub))
    main, topic = git.branches()["main"], git.branches()["topic"]
    protect(hub, required_reviews=1, required_checks=("ci", "lint"), allow_force_pushes=True)
    with pytest.raises(RefRefusedError) as caught:
        change_ref(hub.session(REVIEWER), demo(hub), "refs/heads/main", topic)
    assert caught.value.message == (
        "2 of 2 required status checks are expected. Changes must be made through a pull request."
    )
    change_ref(hub.session(REVIEWER), demo(hub), "refs/heads/main", topic, merging=True)
    change_ref(hub.session(AUTHOR), demo(hub), "refs/heads/main", main, force=True)
    assert git.branch("main") == main


def test_a_commit_whose_required_checks_passed_may_be_pushed(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches#require-status-checks-before-merging"""
    hub = make_hub(tmp_path)
    git, session = hub.git(demo(hub)), hub.session(REVIEWER)
    topic = git.branches()["topic"]
    protect(hub, required_checks=("ci",))
    for state, message in (("pending", 'Required status check "ci" is pending.'), ("success", "")):
        create_status(session, demo(hub), topic, NewStatus(state, "ci"))
        if message:
            with pytest.raises(RefRefusedError, match=message):
                change_ref(session, demo(hub), "refs/heads/main", topic)
        else:
            change_ref(session, demo(hub), "refs/heads/main", topic)
    assert git.branch("main") == topic


def test_a_branch_with_linear_history_takes_no_merge_commit(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches#require-linear-history"""
    hub = make_hub(tmp_path)
    protect(hub, linear_history=True)
    with pytest.raises(RefRefusedError, match="This branch must not contain merge commits"):
        merge_branch(hub.session(REVIEWER), demo(hub), "main", "topic", None)
    change_ref(hub.session(REVIEWER), demo(hub), "refs/heads/main", hub.git(demo(hub)).branches()["topic"])


def test_refs_beside_branches_and_tags_are_created_once_moved_and_deleted(tmp_path: Path) -> None:
    """https://docs.github.com/rest/git/refs#create-a-reference"""
    hub = make_hub(tmp_path)
    main, topic = (hub.git(demo(hub)).branches()[name] for name in ("main", "topic"))
    author, url = Caller(hub), "/repos/octo-org/demo/git/refs"
    assert author.rest("POST", url, {"ref": "refs/scylla/lease", "sha": main}).status == 201
    assert (
        author.rest("POST", url, {"ref": "refs/scylla/lease", "sha": main}).body["message"]
        == "Reference already exists"
    )
    assert author.rest("POST", url, {"ref": "refs/lease", "sha": main}).status == 422, "it needs two slashes"
    listed = """{ repository(owner: "octo-org", name: "demo") { id refs(refPrefix: "refs/scylla/", first: 9) {
                  nodes { prefix name target { oid } } } } }"""
    repository = author.data(listed)["repository"]
    assert repository["refs"]["nodes"] == [{"prefix": "refs/scylla/", "name": "lease", "target": {"oid": main}}]
    moves = """mutation($repository: ID!, $before: GitObjectID!, $after: GitObjectID!) {
               updateRefs(input: {repositoryId: $repository, refUpdates: [
                   {name: "refs/scylla/lease", beforeOid: $before, afterOid: $after}]}) { clientMutationId } }"""
    author.data(moves, repository=repository["id"], before=main, after=topic)
    stale = author.graphql(moves, repository=repository["id"], before=main, after="0" * 40)
    assert "is not at" in stale["errors"][0]["message"]
    assert author.rest("DELETE", f"{url}/scylla/lease").status == 204
    assert "refs/scylla/lease" not in hub.git(demo(hub)).refs()
