"""Attacks by what an agent may send: each held up, ended or blinded a hub, or took a trial's files from it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord
from scylla_gha.hub.trial_files import exported_state, write_trial_files
from scylla_gha.system.git import GitOutputError
from tests.support.hub import AUTHOR, NAME, OWNER, REPO, make_hub
from tests.support.hub_server import ServedHub, ask_socket, serving_hub

GIT = f"http://github.com/{OWNER}/{NAME}.git"
TOKEN = {"Authorization": f"token {AUTHOR}"}
ZERO = "0" * 40


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as served:
        yield served


def repository_of(served: ServedHub) -> RepositoryRecord:
    repository = served.hub.state.repository(OWNER, NAME)
    assert repository is not None
    return repository


def git_of(served: ServedHub) -> GitRepository:
    return served.hub.git(repository_of(served))


def post(served: ServedHub, path: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask_socket(served.socket, "POST", f"{REPO}{path}", content, {**TOKEN, **(headers or {})})


def push(served: ServedHub, sha: str, ref: str) -> bytes:
    command = f"{ZERO} {sha} {ref}\0report-status".encode()
    headers = {**TOKEN, "Content-Type": "application/x-git-receive-pack-request"}
    content = f"{len(command) + 4:04x}".encode() + command + b"0000"
    return ask_socket(served.socket, "POST", f"{GIT}/git-receive-pack", content, headers)[1]


def files_of(served: ServedHub, folder: Path) -> dict[str, Any]:
    """Return what the trial leaves: an attack on it would end the trial without its evidence."""
    folder.mkdir()
    state = exported_state(served.hub)
    write_trial_files(folder, served.hub, {**state, "refs": {}}, {})
    stored = json.loads((folder / "github.json").read_bytes())
    return dict(stored["end"])


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_a_ref_with_a_line_separator_of_unicode_is_a_ref(served: ServedHub, tmp_path: Path, mark: str) -> None:
    ref = f"refs/heads/a{mark}b"
    assert b"ng " not in push(served, git_of(served).branches()["topic"], ref)
    assert ask_socket(served.socket, "GET", f"{REPO}/branches", headers=TOKEN)[0] == 200
    state = files_of(served, tmp_path / "files")
    assert ref in state["refs"][str(repository_of(served).id)]


@pytest.mark.parametrize(
    ("name", "when", "message"),
    [(b"A", b"1 +0000", b"a\x01b\x02\n"), (b"A\x01B", b"1 +0000", b"x\n"), (b"A", b"999999999999 +0000", b"x\n"),
     (b"A", b"1 +9999", b"x\n"), (b"A", b"1 -9999", b"x\n"), (b"", b"1 +0000", b"")],
)  # fmt: skip
def test_a_strange_commit_is_read(served: ServedHub, name: bytes, when: bytes, message: bytes) -> None:
    git = git_of(served)
    tip = git.commit(git.branches()["topic"])
    people = b"author %s <a@b> %s\ncommitter %s <a@b> %s\n" % (name, when, name, when)
    content = f"tree {tip.tree}\nparent {tip.sha}\n".encode() + people + b"\n" + message
    sha = git.run("hash-object", "-w", "-t", "commit", "--stdin", stdin=content).decode().strip()
    assert b"ok refs/heads/evil" in push(served, sha, "refs/heads/evil")
    assert ask_socket(served.socket, "GET", f"{REPO}/commits/evil", headers=TOKEN)[0] == 200
    read = git.log("evil", "-2")
    assert [commit.sha for commit in read] == [sha, tip.sha]
    assert (read[0].message, read[0].author.name) == (message.decode().strip("\n"), name.decode())


def test_bytes_that_are_not_unicode_leave_the_trial_its_files(served: ServedHub, tmp_path: Path) -> None:
    release = json.loads(post(served, "/releases", {"tag_name": "v1"})[1])["id"]
    path = f"/releases/{release}/assets?name=a"
    status, _ = post(served, path, b"x", {"Content-Type": "a/\xff"})  # http.client sends Latin-1
    assert status == 201
    assert files_of(served, tmp_path / "files")["records"]


@pytest.mark.parametrize("header", ["Content-Encoding", "Authorization", "User-Agent", "Accept"])
def test_a_header_that_is_not_unicode_is_answered_and_logged(served: ServedHub, header: str) -> None:
    value = "basic \xe9" if header == "Authorization" else "\xff"
    status, _ = ask_socket(served.socket, "GET", f"{REPO}", headers={header: value})
    assert status in (200, 401, 415)
    assert served.endpoint.log.traffic.errors == 0
    assert len((served.folder / "github-requests.jsonl").read_text().splitlines()) == 1


def test_deep_json_is_refused(served: ServedHub) -> None:
    content = b'{"title":' + b"[" * 1000 + b"]" * 1000 + b"}"
    assert post(served, "/issues", content)[0] in (400, 422)
    assert served.endpoint.log.traffic.errors == 0


def test_a_pattern_of_protection_with_many_wildcards_holds_up_nobody(served: ServedHub) -> None:
    state, now = served.hub.state, served.hub.state.now()
    for pattern in ("*a" * 60 + "b", "**/" * 40 + "b", "*" * 100_000):
        state.create(1, ProtectionRecord(id=state.new_id(), created_at=now,
                                         repository=repository_of(served).id, pattern=pattern))  # fmt: skip
    started = time.monotonic()
    sha = git_of(served).branches()["topic"]
    assert post(served, "/git/refs", {"ref": f"refs/heads/{'a' * 120}", "sha": sha})[0] == 201
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("ref", ["refs/heads/" + "a" * 40, "refs/tags/" + "0123456789" * 4])
def test_a_ref_cannot_be_called_as_a_commit(served: ServedHub, ref: str) -> None:
    """GitHub's GH002; a revision such as a commit's name would else be that branch."""
    sha = git_of(served).branches()["topic"]
    assert post(served, "/git/refs", {"ref": ref, "sha": sha})[0] == 422
    assert b"ng " in push(served, sha, ref)
    assert ref not in git_of(served).refs()


def test_a_small_commit_with_an_endless_diff_is_not_shown(served: ServedHub) -> None:
    git = git_of(served)
    blob = git.run("hash-object", "-w", "--stdin", stdin=b"1234567\n" * 300_000).decode().strip()
    tree = git.run("mktree", stdin="".join(f"100644 blob {blob}\tf{n}\n" for n in range(20)).encode()).decode().strip()
    tip = git.branches()["topic"]
    sha = git.run("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-p", tip).decode().strip()
    assert b"ok refs/heads/evil" in push(served, sha, "refs/heads/evil")
    for path in ("/compare/topic...evil", "/commits/evil"):
        assert ask_socket(served.socket, "GET", f"{REPO}{path}", headers=TOKEN)[0] == 422
    with pytest.raises(GitOutputError):
        git.diff(tip, sha)
    assert served.endpoint.log.traffic.errors == 0


def test_a_tree_of_trees_does_not_multiply_without_end(served: ServedHub) -> None:
    blob = json.loads(post(served, "/git/blobs", {"content": "x"})[1])["sha"]
    kind, mode, name = "blob", "100644", blob
    statuses = []
    for width in (100, 100, 100):
        entries = [{"path": f"x{n}", "mode": mode, "type": kind, "sha": name} for n in range(width)]
        status, content = post(served, "/git/trees", {"tree": entries})
        statuses.append(status)
        kind, mode, name = "tree", "040000", json.loads(content).get("sha", name)
    assert statuses == [201, 201, 422]


def test_strange_names_of_files_are_read(served: ServedHub) -> None:
    git = git_of(served)
    blob = git.run("hash-object", "-w", "--stdin", stdin=b"x\n").decode().strip().encode()
    names = (b"a\xffb", b"c\nd", b"e\tf", b'"q"', b"h\x01\xe2\x80\xa8")
    lines = b"".join(b"100644 blob %s\t%s\0" % (blob, name) for name in names)
    tree = git.run("mktree", "-z", stdin=lines).decode().strip()
    tip = git.branches()["topic"]
    sha = git.run("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-p", tip).decode().strip()
    assert b"ok refs/heads/evil" in push(served, sha, "refs/heads/evil")
    archive = f"https://codeload.github.com/{OWNER}/{NAME}/legacy.zip/refs/heads/evil"
    pages = (f"{REPO}{path}" for path in ("/compare/topic...evil", "/commits/evil", "/git/trees/evil?recursive=1"))
    for url in (*pages, archive):
        assert ask_socket(served.socket, "GET", url, headers=TOKEN)[0] == 200
    added = {file.path for file in git.changed_files(tip, sha) if file.status == "added"}
    assert {"c\nd", "e\tf", '"q"'} <= added


@pytest.mark.parametrize("tagger", ["A <a@b> 99999999999999 +0000", "A <a@b> 1 +9999", "A\x0bB\x1c <a@b> 1 +0000"])
def test_a_strange_tag_is_read(served: ServedHub, tagger: str) -> None:
    git = git_of(served)
    content = f"object {git.branches()['topic']}\ntype commit\ntag t\ntagger {tagger}\n\nm\n".encode()
    sha = git.run("hash-object", "-w", "-t", "tag", "--stdin", stdin=content).decode().strip()
    assert b"ok refs/tags/t" in push(served, sha, "refs/tags/t")
    assert ask_socket(served.socket, "GET", f"{REPO}/git/tags/{sha}", headers=TOKEN)[0] == 200
    assert served.endpoint.log.traffic.errors == 0


def test_few_bodies_are_kept_at_once(served: ServedHub) -> None:
    """Each connection could else keep 64 MB, and 256 of them all memory."""
    assert served.endpoint._places._value == 16
    assert ask_socket(served.socket, "GET", REPO, headers=TOKEN)[0] == 200
    assert served.endpoint._places._value == 16


def test_a_body_of_millions_of_values_is_not_parsed(served: ServedHub) -> None:
    body = b'{"title": "x", "labels": [' + b'"a",' * 1_000_001 + b'"a"]}'
    status, _ = ask_socket(served.socket, "POST", f"{REPO}/issues", body, TOKEN)
    assert status == 413
