"""Requests of an agent to the hub are bounded and harmless: paths, names, packs, queries, floods, bodies."""

import json
import shutil
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import pytest

from scylla_gha.errors import FixtureError
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_objects import write_blob, write_commit, write_tree
from scylla_gha.hub.push import read_push
from scylla_gha.hub.request_log import RequestEntry, RequestLog
from scylla_gha.hub.seeds import find_seed
from tests.support.hub import AUTHOR, NAME, OWNER, REPO, make_hub
from tests.support.hub_server import ServedHub, ask_socket, connected, serving_hub

GIT = f"http://github.com/{OWNER}/{NAME}.git"
TOKEN = {"Authorization": f"token {AUTHOR}"}
ZERO = "0" * 40


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as served:
        yield served


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def head_of(kind: int, size: int) -> bytes:
    """The head of a pack's entry: type, and the size that it claims."""
    head, rest = bytearray([(kind << 4) | (size & 15)]), size >> 4
    while rest:
        head[-1] |= 0x80
        head.append(rest & 0x7F)
        rest >>= 7
    return bytes(head)


def sealed(entries: bytes, count: int) -> bytes:
    body = b"PACK" + struct.pack(">II", 2, count) + entries
    return body + sha1(body).digest()


def pack(*objects: tuple[int, bytes, int]) -> bytes:
    """A pack of objects: type, content, and the size that it claims."""
    return sealed(
        b"".join(head_of(kind, size) + zlib.compress(content) for kind, content, size in objects), len(objects)
    )


def push(served: ServedHub, commands: bytes, content: bytes = b"") -> tuple[int, bytes]:
    headers = {**TOKEN, "Content-Type": "application/x-git-receive-pack-request"}
    return ask_socket(served.socket, "POST", f"{GIT}/git-receive-pack", commands + b"0000" + content, headers)


def refs(served: ServedHub) -> dict[str, str]:
    repository = served.hub.state.repository(OWNER, NAME)
    assert repository is not None
    return dict(served.hub.git(repository).refs())


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", f"/{OWNER}/../../etc/passwd/info/refs",
        f"/{OWNER}/%2e%2e/info/refs?service=git-upload-pack",
        f"/{OWNER}/{NAME}.git/objects/info/packs", f"/{OWNER}/{NAME}/HEAD", f"/{OWNER}/{NAME}/info/refs",
        f"/{OWNER}/{NAME}/info/refs?service=git-upload-archive", "/x/y/info/refs?service=git-upload-pack", "//", "/%00",
    ],
)  # fmt: skip
def test_a_hostile_path_reaches_no_file(served: ServedHub, path: str) -> None:
    status, content = ask_socket(served.socket, "GET", path, headers={**TOKEN, "Host": "github.com"})
    assert status in (403, 404)
    assert b"root:" not in content


@pytest.mark.parametrize(
    "path", ["/repos/../../etc", f"/repos/{OWNER}/{NAME}/contents/../../../etc/passwd",
             f"/repos/{OWNER}/{NAME}/contents/%2e%2e%2f%2e%2e%2fetc%2fpasswd", f"/repos/{OWNER}/{NAME}/git/ref/..%2fx"]
)  # fmt: skip
def test_a_hostile_rest_path_is_refused(served: ServedHub, path: str) -> None:
    status, _ = ask_socket(served.socket, "GET", path, headers=TOKEN)
    assert status in (404, 422, 501)


@pytest.mark.parametrize(
    "ref", ["refs/heads/../../x", "refs/heads/a b", "refs/heads/x.lock", "HEAD", "refs/pull/1/head", "refs/hub/x",
            "refs/heads/-\x01", "../../../tmp/x", "refs/heads/" + "x" * 300]
)  # fmt: skip
def test_a_hostile_ref_is_refused_in_a_push(served: ServedHub, ref: str) -> None:
    before = refs(served)
    status, content = push(served, packet(f"{ZERO} {before['refs/heads/topic']} {ref}\0report-status"))
    assert status == 200
    assert b"unpack ok" in content
    assert f"ng {ref} ".encode() in content
    assert refs(served) == before


@pytest.mark.parametrize("commands", [b"zzzz", b"ffff", b"0005", b"0003", packet("a b"), packet(f"{ZERO} {ZERO}"),
                                      packet("x" * 40 + f" {ZERO} refs/heads/x")])  # fmt: skip
def test_a_push_that_breaks_the_protocol_is_refused(served: ServedHub, commands: bytes) -> None:
    before = refs(served)
    status, content = push(served, commands)
    assert (status, content[:12]) == (400, b"Invalid push")
    assert refs(served) == before


def test_a_push_has_at_most_a_hundred_thousand_commands() -> None:
    command = packet(f"{ZERO} {'a' * 40} refs/heads/x")
    assert len(read_push(command * 100_000 + b"0000")[0]) == 100_000
    with pytest.raises(HubError, match="too many commands"):
        read_push(command * 100_001 + b"0000")


def commit_of(tree: str) -> bytes:
    return f"tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n".encode()


def name_of(kind: str, content: bytes) -> str:
    return sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


def hostile_tree(entry: bytes) -> tuple[str, bytes]:
    blob = b"x\n"
    tree = b"100644 " + entry + b"\0" + bytes.fromhex(name_of("blob", blob))
    commit = commit_of(name_of("tree", tree))
    return name_of("commit", commit), pack((1, commit, len(commit)), (2, tree, len(tree)), (3, blob, len(blob)))


@pytest.mark.parametrize("entry", [b".git", b"..", b"a/b", b".GIT"])
def test_a_tree_that_would_leave_its_folder_is_refused(served: ServedHub, entry: bytes) -> None:
    sha, content = hostile_tree(entry)
    status, answer = push(served, packet(f"{ZERO} {sha} refs/heads/evil\0report-status"), content)
    assert status == 200
    assert b"ng refs/heads/evil unpacker error" in answer
    assert "refs/heads/evil" not in refs(served)


def test_a_plain_tree_of_the_same_kind_is_taken(served: ServedHub) -> None:
    sha, content = hostile_tree(b"fine")
    assert b"ok refs/heads/evil" in push(served, packet(f"{ZERO} {sha} refs/heads/evil\0report-status"), content)[1]
    assert refs(served)["refs/heads/evil"] == sha


def test_packs_that_lie_or_lack_objects_are_refused(served: ServedHub) -> None:
    commit = commit_of("a" * 40)
    sha = name_of("commit", commit)
    lying = pack((1, commit, 1 << 40))
    for content in (b"PACKxxxx", b"PACK" + bytes(20), lying, pack((1, commit, len(commit)))[:-4],
                    pack((1, commit, len(commit)))):  # fmt: skip
        status, answer = push(served, packet(f"{ZERO} {sha} refs/heads/evil\0report-status"), content)
        assert status == 200
        assert b"ng refs/heads/evil" in answer, content
    assert "refs/heads/evil" not in refs(served)


def test_a_blob_that_unpacks_to_gigabytes_is_stopped(served: ServedHub) -> None:
    packer = zlib.compressobj(9)
    zeros = bytes(1 << 20)
    body = b"".join(packer.compress(zeros) for _ in range(64)) + packer.flush()
    content = sealed(head_of(3, 4 << 30) + body, 1)  # it claims more than it has, and than git may have of memory
    started = time.monotonic()
    status, answer = push(served, packet(f"{ZERO} {'a' * 40} refs/heads/evil\0report-status"), content)
    assert (status, b"unpacker error" in answer) == (200, True)
    assert time.monotonic() - started < 20


def test_a_small_pack_with_a_huge_file_is_refused(served: ServedHub) -> None:
    """https://docs.github.com/repositories/working-with-files/managing-large-files/about-large-files-on-github"""
    blob = bytes(40 << 20)
    tree = b"100644 zeros\0" + bytes.fromhex(name_of("blob", blob))
    commit = commit_of(name_of("tree", tree))
    content = pack((1, commit, len(commit)), (2, tree, len(tree)), (3, blob, len(blob)))
    assert len(content) < 1 << 20
    sha = name_of("commit", commit)
    status, answer = push(served, packet(f"{ZERO} {sha} refs/heads/evil\0report-status side-band-64k"), content)
    assert (status, b"GH001: Large files detected" in answer) == (200, True)
    assert "refs/heads/evil" not in refs(served)


def test_a_merge_of_millions_of_lines_is_stopped_at_the_limit_of_memory(served: ServedHub) -> None:
    """Three texts of 20 MB take some kilobytes in a push, and git some gigabytes to merge."""
    lines = b"\n" * (10 << 20)
    repository = served.hub.state.repository(OWNER, NAME)
    assert repository is not None
    git, author = served.hub.git(repository), served.hub.session(AUTHOR).signature()
    parents: list[str] = []
    for branch, text in (("main", lines * 2), ("big", lines * 2 + b"a\n"), ("main", lines + b"b\n" + lines)):
        tree = write_tree(git, None, [("big.txt", "100644", write_blob(git, text))])
        tip = write_commit(git, tree, parents, "Big\n", author, author)
        git.set_ref(f"refs/heads/{branch}", tip)
        parents = parents or [tip]
    status, content = ask_socket(served.socket, "POST", f"{REPO}/merges", '{"base": "main", "head": "big"}', TOKEN)
    assert (status, b"Out of memory" in content) == (422, True)
    assert ask_socket(served.socket, "GET", REPO, None, TOKEN)[0] == 200


def test_hooks_and_configuration_of_a_repository_are_never_run(served: ServedHub, tmp_path: Path) -> None:
    repository = served.hub.state.repository(OWNER, NAME)
    assert repository is not None
    folder = served.hub.git_folder(repository.id)
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        hook = folder / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    sha, content = hostile_tree(b"fine")
    assert b"ok refs/heads/x" in push(served, packet(f"{ZERO} {sha} refs/heads/x\0report-status"), content)[1]
    assert not (tmp_path / "ran").exists()


def test_deep_and_wide_queries_are_refused(served: ServedHub) -> None:
    deep = "{viewer" + "{repositories(first:1){nodes{owner" * 30 + "{login}" + "}}}" * 30 + "}"
    wide = "{" + " ".join(f"a{number}:__typename" for number in range(6000)) + "}"
    spread = "query{...f0}" + "".join(
        f"fragment f{n} on Query{{a:__typename ...f{n + 1} ...f{n + 1}}}" for n in range(40)
    ) + "fragment f40 on Query{__typename}"  # fmt: skip
    for query in (deep, wide, spread, "{" * 5000, "query" + " " * 200_000):
        started = time.monotonic()
        status, content = ask_socket(served.socket, "POST", "/graphql", json.dumps({"query": query}), TOKEN)
        assert (status, "errors" in json.loads(content)) == (200, True), query[:40]
        assert time.monotonic() - started < 30


def test_a_flood_of_one_cell_leaves_others_their_turn(tmp_path: Path) -> None:
    with serving_hub(make_hub(tmp_path / "a"), tmp_path / "one") as one, \
            serving_hub(make_hub(tmp_path / "b"), tmp_path / "two") as two:  # fmt: skip
        flood = [threading.Thread(target=_ask_often, args=(one, 20)) for _ in range(20)]
        for thread in flood:
            thread.start()
        assert ask_socket(two.socket, "GET", "/user", headers=TOKEN)[0] == 200
        assert one.endpoint.log.traffic.requests < 400, "the flood goes on"
        for thread in flood:
            thread.join()
        assert one.endpoint.log.traffic.requests == 400


def _ask_often(served: ServedHub, times: int) -> None:
    with connected(served.socket) as connection:
        for _ in range(times):
            connection.request("GET", "/user", headers=TOKEN)
            connection.getresponse().read()


def test_a_cell_that_wrote_or_received_very_much_can_only_be_read(served: ServedHub) -> None:
    def post() -> int:
        body = json.dumps({"title": "One more"}).encode()
        return ask_socket(served.socket, "POST", f"http://api.github.com{REPO}/issues", body, TOKEN)[0]

    assert post() == 201
    journal = served.hub.state.journal
    journal.extend([journal[-1]] * 10_000)
    assert (post(), ask_socket(served.socket, "GET", f"http://api.github.com{REPO}/issues", None, TOKEN)[0]) == (
        403,
        200,
    )
    del journal[1:]
    assert post() == 201
    served.endpoint.received = 1 << 30
    assert (post(), len(journal)) == (403, 2)


def test_the_request_log_is_bounded_and_counts_on(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "log.jsonl", most_bytes=1000)
    for _ in range(20):
        log.add(RequestEntry("gh/2.102.0", operation="GET /user" * 100, status=200))
    log.close()
    assert (tmp_path / "log.jsonl").stat().st_size <= 1000
    assert log.traffic.requests == 20
    assert log.traffic.unlogged == 20 - len((tmp_path / "log.jsonl").read_text().splitlines())


def test_a_seed_that_somebody_changed_runs_no_code(tmp_path: Path) -> None:
    fixture = Path(__file__).parents[1] / "support/hub_fixture"
    seed = find_seed(fixture, tmp_path / "cache")
    copied = shutil.copytree(seed.folder, tmp_path / "other/hub-seeds" / seed.folder.name)
    evil = f"cos\nsystem\n(S'touch {tmp_path}/ran'\ntR.".encode()
    (copied / "snapshot.pickle").write_bytes(evil)
    with pytest.raises(FixtureError, match=r"os\.system is not a record"):
        find_seed(fixture, tmp_path / "other")
    assert not (tmp_path / "ran").exists()


def test_a_fetch_reads_no_hidden_object(served: ServedHub) -> None:
    repository = served.hub.state.repository(OWNER, NAME)
    assert repository is not None
    git = served.hub.git(repository)
    assert git.set_ref("refs/hub/secret", git.branches()["topic"])
    listed = served.run("git", "ls-remote", f"https://github.com/{OWNER}/{NAME}")
    assert "refs/hub" not in listed
    assert "refs/heads/topic" in listed
