"""Repositories with entries that a fixture cannot hold, and commits that cannot become tasks."""

import os
from pathlib import Path

import pytest

from scylla_gha.mining.repository import checkout_of
from scylla_gha.model.sandbox import Tools
from scylla_gha.onboarding.task_from_history import task_of
from tests.support.adopters import commit, empty, till
from tests.support.commits import reasons, task_from, usable
from tests.support.git import shell
from tests.support.repository import write_tree


def odd(root: Path) -> Path:
    """A repository with a submodule, a file name in Latin-1, links that lead out, and one that does not."""
    commit(empty(root), "Begin", {"a.py": "x = 1\n"})
    head = shell(root, "git rev-parse HEAD")
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.txt")).write_bytes(b"x")
    for name, target in {"absolute": "/etc/passwd", "above": "../above", "inside": "sub/../a.py"}.items():
        (root / name).symlink_to(target)
    (root / "module").mkdir()
    shell(root, f"git add --all && git update-index --add --cacheinfo 160000,{head},module && git commit -q -m Odd")
    return root


def test_what_a_fixture_cannot_hold_is_left_out_and_counted(tmp_path: Path) -> None:
    root = odd(tmp_path / "odd")
    tested = {"a.py": "x = 2\n", "tests/test_a.py": "def test_a(): ...\n"}
    write_tree(root, tested)
    shell(root, "git add a.py tests && git commit -q -m 'Fix a'")
    (candidate,) = usable(root)
    task = task_from(root, candidate)
    assert {file.path for file in task.start.files} == {"a.py", "inside"}
    assert task.origin.endswith(
        "left out: 1 file with a name that is not UTF-8, 2 links that lead out of the repository, 1 submodule"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),module", "it changes a submodule"),
        ("printf y >$(printf 'caf\\351.txt')", "it changes a file with a name that is not UTF-8"),
        ("ln -sf /etc/hosts absolute", "it changes a link that leads out of the repository"),
        ("head -c 2000001 /dev/zero >data.bin", "the files that it changes have more than 2,000,000 bytes in all"),
        ("printf '' >'tests/test b.py'", "the names of test files contain spaces or special characters"),
        (
            "for n in $(seq 16); do printf $n >$n.txt; done",
            "it changes more than 15 test files, or more than 15 other files",
        ),
    ],
)
def test_a_commit_that_cannot_be_used_has_its_true_reason(tmp_path: Path, change: str, reason: str) -> None:
    root = odd(tmp_path / "odd")
    write_tree(root, {"a.py": "x = 2\n", "tests/test_a.py": "def test_a(): ...\n"})
    add = "git add --all -- . ':!module'"
    shell(root, f"{add} && {change} && {add} && git commit -q -m 'Fix a'")
    assert usable(root) == []
    no_tests = "it does not change code together with tests that can be run"
    assert reasons(root) == [reason, no_tests]
    shell(root, "git commit -q --allow-empty -m 'Release 2'")
    assert reasons(root)[0] == "the message begins with a word such as revert, merge, release or WIP"


def test_an_object_that_is_missing_leaves_out_its_commit_alone(tmp_path: Path) -> None:
    root = till(tmp_path / "till")
    money = {"src/till/money.py": "def total(prices):\n    return 0\n", "tests/test_money.py": "def test_a(): ...\n"}
    commit(root, "Another", money)
    lost = shell(root, "git rev-parse HEAD^{tree}")
    (root / ".git/objects" / lost[:2] / lost[2:]).unlink()
    (candidate,) = usable(root)
    assert candidate.commit.message.startswith("feat: a discount")
    assert "unable to read tree" in reasons(root)[0]


BEGIN = {"a.py": "x = 1\n"}
CHANGE = {"a.py": "x = 2\n", "tests/test_a.py": "def test_a(): ...\n"}


@pytest.mark.parametrize(
    "make",
    [
        "git init -q -b release/2.x R",
        "git init -q --object-format=sha256 R",
        "git init -q R && cd R && git commit -q --allow-empty -m Empty",
        "git init -q R && cd R && git commit -q --allow-empty -m Empty && git checkout -q --detach",
        "git init -q main && cd main && git commit -q --allow-empty -m Empty && git worktree add -q ../R",
        "git init -q R && printf '* text eol=crlf\\n*.psd filter=lfs diff=lfs merge=lfs -text\\n' >R/.gitattributes",
        "git init -q R && touch R/-dash 'R/a\"b' 'R/a\nb' R/README R/readme",
    ],
    ids=["slash-in-branch", "sha256", "empty-commit", "detached", "worktree", "attributes", "names"],
)
def test_repositories_of_other_kinds_have_tasks_too(tmp_path: Path, make: str) -> None:
    shell(tmp_path, make)
    root = tmp_path / "R"
    for message, files in (("Begin", BEGIN), ("Fix a", CHANGE)):
        write_tree(root, files)
        shell(root, f"git add --all && git commit -q -m '{message}'")
    (candidate,) = usable(root)
    names = {file.path for file in task_from(root, candidate).start.files}
    assert names == set(shell(root, "git ls-tree -r -z --name-only HEAD~").split("\0")) - {""}


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    root = empty(tmp_path / "R")
    commit(root, "Begin", BEGIN)
    with (root / "huge.bin").open("wb") as file:
        file.truncate(101_000_000)
    commit(root, "Fix a", CHANGE)
    write_tree(root, {"a.py": "x = 3\n", "tests/test_a.py": "def test_b(): ...\n"})
    shell(root, "git commit -q -a -m 'Fix b'")
    (candidate,) = usable(root)
    assert candidate.tree.size > 100_000_000
    assert reasons(root)[0] == "the files that it changes have more than 2,000,000 bytes in all"
    too_large = task_of(checkout_of(root), candidate, "till", Tools())
    assert too_large == "the repository is too large to be copied, and has no remote `origin` to fetch it from"
