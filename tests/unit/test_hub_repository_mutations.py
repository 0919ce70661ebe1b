"""Mutations of repositories, refs and files."""

import base64
from pathlib import Path
from typing import Any

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.git_nodes import git_node_id
from scylla_gha.hub.records import RepositoryRecord, UserRecord, node_id
from tests.support.hub import NAME, OWNER, READER, REVIEWER, Caller, make_hub


def demo(hub: Hub) -> RepositoryRecord:
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    return repository


def run(caller: Caller, mutation: str, fields: str, /, **values: Any) -> Any:
    kind = f"{mutation[0].upper()}{mutation[1:]}Input"
    return caller.graphql(f"mutation($input: {kind}!) {{ {mutation}(input: $input) {{ {fields} }} }}", input=values)


def refused(answer: Any) -> tuple[str, str]:
    return answer["errors"][0]["type"], answer["errors"][0]["message"]


def test_a_repository_is_created_changed_and_archived(tmp_path: Path) -> None:
    """https://docs.github.com/graphql/reference/mutations#createrepository"""
    hub = make_hub(tmp_path)
    caller, org = Caller(hub), hub.state.user(OWNER)
    assert isinstance(org, UserRecord)
    values = {"name": "tool", "visibility": "PRIVATE", "ownerId": node_id(org), "hasIssuesEnabled": False}
    created = run(caller, "createRepository", "repository { id nameWithOwner isPrivate hasIssuesEnabled }", **values)
    repository = created["data"]["createRepository"]["repository"]
    assert repository == {"id": repository["id"], "nameWithOwner": "octo-org/tool", "isPrivate": True,
                          "hasIssuesEnabled": False}  # fmt: skip
    again = run(caller, "createRepository", "clientMutationId", **values)
    assert refused(again) == ("UNPROCESSABLE", "Name already exists on this account")
    values = {"repositoryId": repository["id"], "name": "tool-2", "description": "Text"}
    changed = run(caller, "updateRepository", "repository { name description }", **values)
    assert changed["data"]["updateRepository"]["repository"] == {"name": "tool-2", "description": "Text"}
    values = {"repositoryId": repository["id"], "topicNames": ["Sums"]}
    topics = "repository { repositoryTopics(first: 9) { nodes { topic { name } } } }"
    answer = run(caller, "updateTopics", topics, **values)["data"]["updateTopics"]["repository"]
    assert answer["repositoryTopics"]["nodes"] == [{"topic": {"name": "sums"}}]
    for name, expected in (("archiveRepository", True), ("unarchiveRepository", False)):
        answer = run(caller, name, "repository { isArchived }", repositoryId=repository["id"])
        assert answer["data"][name]["repository"]["isArchived"] is expected
    values = {"name": "t", "visibility": "PUBLIC", "template": True}
    assert refused(run(caller, "createRepository", "clientMutationId", **values))[0] == "NOT_AVAILABLE"


def test_refs_are_created_moved_and_deleted(tmp_path: Path) -> None:
    """https://docs.github.com/graphql/reference/mutations#createref"""
    hub = make_hub(tmp_path)
    caller, record = Caller(hub), demo(hub)
    git = hub.git(record)
    main, topic = git.branches()["main"], git.branches()["topic"]
    values = {"repositoryId": node_id(record), "name": "refs/heads/new", "oid": main}
    ref = run(caller, "createRef", "ref { id name }", **values)["data"]["createRef"]["ref"]
    assert ref == {"id": git_node_id("REF", record.id, "refs/heads/new"), "name": "new"}
    message = 'A ref named "refs/heads/new" already exists in the repository.'
    assert refused(run(caller, "createRef", "clientMutationId", **values)) == ("UNPROCESSABLE", message)
    moved = run(caller, "updateRef", "ref { target { oid } }", refId=ref["id"], oid=topic)
    assert moved["data"]["updateRef"]["ref"]["target"]["oid"] == topic
    answer = run(caller, "updateRef", "clientMutationId", refId=ref["id"], oid=main)
    assert refused(answer) == ("UNPROCESSABLE", "Update is not a fast forward")
    assert refused(run(Caller(hub, READER), "deleteRef", "clientMutationId", refId=ref["id"]))[0] == "FORBIDDEN"
    values = {"repositoryId": node_id(record), "base": "main", "head": "new", "commitMessage": "Both"}
    merged = run(caller, "mergeBranch", "mergeCommit { message }", **values)["data"]["mergeBranch"]
    assert merged == {"mergeCommit": {"message": "Both"}}
    run(caller, "deleteRef", "clientMutationId", refId=ref["id"])
    assert git.branch("new") is None


def test_updates_of_several_refs_are_all_done_or_none(tmp_path: Path) -> None:
    """https://docs.github.com/graphql/reference/mutations#updaterefs"""
    hub = make_hub(tmp_path)
    caller, record = Caller(hub), demo(hub)
    git = hub.git(record)
    main, topic = git.branches()["main"], git.branches()["topic"]
    create = {"name": "refs/heads/new", "afterOid": topic, "beforeOid": "0" * 40}
    stale = {"name": "refs/heads/main", "afterOid": topic, "beforeOid": topic}
    answer = run(caller, "updateRefs", "clientMutationId", repositoryId=node_id(record), refUpdates=[create, stale])
    assert refused(answer)[0] == "STALE_DATA"
    assert git.branches() == {"main": main, "topic": topic}
    delete = {"name": "refs/heads/topic", "afterOid": "0" * 40}
    run(caller, "updateRefs", "clientMutationId", repositoryId=node_id(record), refUpdates=[create, delete])
    assert git.branches() == {"main": main, "new": topic}


def test_files_are_committed_on_the_expected_head_only(tmp_path: Path) -> None:
    """https://docs.github.com/graphql/reference/mutations#createcommitonbranch"""
    hub = make_hub(tmp_path)
    caller, record = Caller(hub, REVIEWER), demo(hub)
    git = hub.git(record)
    main = git.branches()["main"]
    addition = {"path": "docs/a.txt", "contents": base64.b64encode(b"A\n").decode()}
    values = {
        "branch": {"repositoryNameWithOwner": f"{OWNER}/{NAME}", "branchName": "main"},
        "expectedHeadOid": main,
        "message": {"headline": "Files", "body": "Why."},
        "fileChanges": {"additions": [addition], "deletions": [{"path": "README.md"}]},
    }
    fields = "commit { oid message } ref { name }"
    made = run(caller, "createCommitOnBranch", fields, **values)["data"]["createCommitOnBranch"]
    assert (made["commit"], made["ref"]) == ({"oid": git.branch("main"), "message": "Files\n\nWhy."}, {"name": "main"})
    commit = git.commit(made["commit"]["oid"])
    assert (commit.parents, commit.author.name, commit.committer.email) == ((main,), "Hubot", "noreply@github.com")
    assert [(file.path, file.status) for file in git.changed_files(main, commit.sha)] == [
        ("README.md", "removed"),
        ("docs/a.txt", "added"),
    ]
    assert refused(run(caller, "createCommitOnBranch", fields, **values))[0] == "STALE_DATA"
    values |= {"expectedHeadOid": commit.sha, "fileChanges": {"additions": [{**addition, "path": ".git/config"}]}}
    message = "path contains a malformed path component"
    assert refused(run(caller, "createCommitOnBranch", fields, **values)) == ("UNPROCESSABLE", message)


def test_a_rule_of_protection_is_made_changed_and_removed(tmp_path: Path) -> None:
    """https://docs.github.com/graphql/reference/mutations#createbranchprotectionrule"""
    hub = make_hub(tmp_path)
    caller, record = Caller(hub), demo(hub)
    fields = "branchProtectionRule { id pattern requiredApprovingReviewCount }"
    values = {"repositoryId": node_id(record), "pattern": "release/*", "requiresApprovingReviews": True}
    rule = run(caller, "createBranchProtectionRule", fields, **values)["data"]["createBranchProtectionRule"]
    assert rule["branchProtectionRule"]["requiredApprovingReviewCount"] == 1
    id_ = rule["branchProtectionRule"]["id"]
    values = {"branchProtectionRuleId": id_, "requiredApprovingReviewCount": 2, "pattern": "main"}
    changed = run(caller, "updateBranchProtectionRule", fields, **values)["data"]["updateBranchProtectionRule"]
    assert changed["branchProtectionRule"] == {"id": id_, "pattern": "main", "requiredApprovingReviewCount": 2}
    answer = run(Caller(hub, REVIEWER), "deleteBranchProtectionRule", "clientMutationId", branchProtectionRuleId=id_)
    assert refused(answer)[0] == "FORBIDDEN"
    run(caller, "deleteBranchProtectionRule", "clientMutationId", branchProtectionRuleId=id_)
    assert caller.rest("GET", f"/repos/{OWNER}/{NAME}/branches/main/protection").status == 404


def test_a_null_byte_in_an_argument_is_refused(tmp_path: Path) -> None:
    query = '{ repository(owner: "octo-org", name: "demo") { object(expression: "main:a\\u0000b") { oid } } }'
    assert refused(Caller(make_hub(tmp_path)).graphql(query)) == ("UNPROCESSABLE", "Null bytes are not allowed")
