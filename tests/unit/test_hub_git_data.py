"""Objects and refs of git over the hub's REST interface."""

import base64
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.errors import HubError
from scylla_gha.hub.operations.git_data import check_storage
from tests.support.hub import NAME, OWNER, READER, REPO, Caller, make_hub


def tip(caller: Caller, branch: str = "main") -> str:
    sha: str = caller.get(f"{REPO}/git/ref/heads%2F{branch}")["object"]["sha"]
    return sha


def entry(path: str, **fields: Any) -> dict[str, Any]:
    return {"path": path, "mode": "100644", "type": "blob", **fields}


def test_files_are_pushed_as_clients_do_it_with_objects(tmp_path: Path) -> None:
    """https://docs.github.com/rest/guides/using-the-rest-api-to-interact-with-your-git-database"""
    caller = Caller(make_hub(tmp_path))
    main = tip(caller)
    tree = caller.get(f"{REPO}/git/commits/{main}")["tree"]["sha"]
    blob = caller.rest(
        "POST", f"{REPO}/git/blobs", {"content": base64.b64encode(b"\x00x").decode(), "encoding": "base64"}
    )
    entries = [
        entry("new/a.txt", content="A\n"),
        entry("new/b.bin", sha=blob.body["sha"]),
        entry("README.md", sha=None),
    ]
    made = caller.rest("POST", f"{REPO}/git/trees", {"base_tree": tree, "tree": entries}).body
    author = {"name": "Ada", "email": "ada@example.com", "date": "2020-02-02T02:02:02Z"}
    fields = {"message": "Files", "tree": made["sha"], "parents": [main], "author": author}
    commit = caller.rest("POST", f"{REPO}/git/commits", fields).body
    assert commit["author"] == commit["committer"] == author
    moved = caller.rest("PATCH", f"{REPO}/git/refs/heads/main", {"sha": commit["sha"]})
    assert (moved.status, tip(caller)) == (200, commit["sha"])
    whole = caller.get(f"{REPO}/git/trees/main?recursive=1")
    assert {one["path"] for one in whole["tree"] if one["type"] == "blob"} == {"new/a.txt", "new/b.bin", "src/app.py"}
    read = caller.get(f"{REPO}/git/blobs/{blob.body['sha']}")
    assert base64.b64decode(read["content"]) == b"\x00x"
    raw = caller.rest("GET", f"{REPO}/git/blobs/{blob.body['sha']}", accept="application/vnd.github.raw+json")
    assert raw.content == b"\x00x"


def test_folders_move_and_go_as_wholes(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    root = caller.get(f"{REPO}/git/trees/main")
    source = next(one["sha"] for one in root["tree"] if one["path"] == "src")
    entries = [entry("lib", mode="040000", sha=source), entry("src", sha=None, mode="040000")]
    made = caller.rest("POST", f"{REPO}/git/trees", {"base_tree": root["sha"], "tree": entries}).body
    shown = {one["path"]: one["sha"] for one in made["tree"]}
    assert shown == {"README.md": shown["README.md"], "lib": source}


FORBIDDEN = (".git/config", "a/.GIT/x", "..", "a/../b", "/etc/passwd", "a//b", "a/", "x\x00y", "GIT~1/x",
             ".g\u200cit/x", "a\\.git\\x", ".git::$INDEX_ALLOCATION/x")  # fmt: skip


def test_a_path_that_git_forbids_is_refused(tmp_path: Path) -> None:
    """https://docs.github.com/rest/git/trees#create-a-tree"""
    caller = Caller(make_hub(tmp_path))
    for path in FORBIDDEN:
        answer = caller.rest("POST", f"{REPO}/git/trees", {"tree": [entry(path, content="x")]})
        assert answer.status == 422, path
        assert answer.body["message"].startswith("tree.path c"), path


IMPOSSIBLE: tuple[tuple[str, Any, str], ...] = (
    ("trees", {"tree": [entry("a", sha="f" * 40)]}, f"tree.sha {'f' * 40} is not a valid blob"),
    ("trees", {"tree": [entry("a")]}, "Must supply either tree.sha or tree.content"),
    ("trees", {"tree": [entry("a", content="", mode="777")]}, "Must supply a valid tree.mode"),
    ("trees", {"base_tree": "main", "tree": []}, "base_tree is not a valid tree oid"),
    ("commits", {"message": "m", "tree": "f" * 40}, "Tree SHA does not exist"),
    ("tags", {"tag": "a b", "message": "m", "object": "f" * 40, "type": "commit"}, "a b is not a valid tag name."),
    ("blobs", {"content": "?", "encoding": "base64"}, "content is not valid Base64"),
    ("refs", {"ref": "refs/heads/topic", "sha": "f" * 40}, "Reference already exists"),
    ("refs", {"ref": "refs/heads/new", "sha": "f" * 40}, "Object does not exist"),
    ("refs", {"ref": "new", "sha": "f" * 40}, "new is not a valid ref name."),
)


def test_an_object_that_cannot_be_is_refused(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    for resource, body, message in IMPOSSIBLE:
        answer = caller.rest("POST", f"{REPO}/git/{resource}", body)
        assert (answer.status, answer.body["message"]) == (422, message)


def test_refs_are_created_listed_and_deleted(tmp_path: Path) -> None:
    """https://docs.github.com/rest/git/refs"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    main = tip(caller)
    fields = {"tag": "v1", "message": "One", "object": main, "type": "commit"}
    tag = caller.rest("POST", f"{REPO}/git/tags", fields).body
    assert caller.get(f"{REPO}/git/tags/{tag['sha']}") == tag
    created = caller.rest("POST", f"{REPO}/git/refs", {"ref": "refs/tags/v1", "sha": tag["sha"]})
    assert (created.status, created.body["object"]["type"]) == (201, "tag")
    caller.rest("POST", f"{REPO}/git/refs", {"ref": "refs/heads/topic-2", "sha": main})
    names = [one["ref"] for one in caller.get(f"{REPO}/git/matching-refs/heads/topic")]
    assert names == ["refs/heads/topic", "refs/heads/topic-2"]
    assert Caller(hub, READER).rest("DELETE", f"{REPO}/git/refs/heads/topic").status == 403
    assert caller.rest("DELETE", f"{REPO}/git/refs/heads%2Ftopic").status == 204
    assert caller.rest("GET", f"{REPO}/git/ref/heads/topic").status == 404
    gone = caller.rest("DELETE", f"{REPO}/git/refs/heads/topic")
    assert (gone.status, gone.body["message"]) == (422, "Reference does not exist")
    stale = caller.rest("PATCH", f"{REPO}/git/refs/heads/gone", {"sha": main})
    assert (stale.status, stale.body["message"]) == (422, "Reference does not exist")


def test_a_release_whose_tag_is_deleted_becomes_a_draft(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/releasing-projects-on-github/managing-releases-in-a-repository"""
    caller = Caller(make_hub(tmp_path))
    release = caller.rest("POST", f"{REPO}/releases", {"tag_name": "v1"}).body
    caller.rest("DELETE", f"{REPO}/git/refs/tags/v1")
    assert caller.get(f"{REPO}/releases/{release['id']}")["draft"]


def test_a_full_repository_takes_no_more_objects(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    check_storage(hub.git(repository))
    with pytest.raises(HubError, match="over its storage limit"):
        check_storage(hub.git(repository), most=0)


def test_an_empty_repository_has_no_objects(tmp_path: Path) -> None:
    """https://docs.github.com/rest/git"""
    caller = Caller(make_hub(tmp_path))
    caller.rest("POST", "/user/repos", {"name": "empty"})
    answer = caller.rest("GET", "/repos/octocat/empty/git/trees/main")
    assert (answer.status, answer.body["message"]) == (409, "Git Repository is empty.")
