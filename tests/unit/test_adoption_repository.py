from pathlib import Path

import pytest

from scylla_gha.adoption import repository
from scylla_gha.errors import FixtureError
from tests.support.adopters import commit, empty
from tests.support.git import shell


def test_an_empty_repository_has_no_head_and_no_commits(tmp_path: Path) -> None:
    checkout = repository.checkout_of(empty(tmp_path / "a"))
    assert checkout.head is None
    assert repository.commits(checkout, 10) == []
    assert repository.origin_of(checkout) is None


def test_commits_are_told_newest_first_without_merges_and_without_the_first(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    first = commit(root, "One", {"a.txt": "a\n"})
    second = commit(root, "Two\n\nMore", {"b.txt": "b\n"})
    shell(root, "git checkout -q -b side HEAD~; git commit -q --allow-empty -m Side; git checkout -q -")
    shell(root, "git merge -q --no-ff -m Merge side")
    found = repository.commits(repository.checkout_of(root), 10)
    assert {(each.parent, each.message) for each in found} == {(first, "Two\n\nMore"), (first, "Side")}
    assert second in {each.sha for each in found}


def test_what_a_commit_did_and_what_it_holds(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    (root / "link").symlink_to("kept")
    commit(root, "One", {"kept": "k\n", "gone": "g\n", "with space.bin": b"\0\n\xff"})
    (root / "gone").unlink()
    commit(root, "Two", {"kept": "changed\n", "ü.txt": "new\n"})
    checkout = repository.checkout_of(root)
    (latest,) = repository.commits(checkout, 1)
    assert repository.changed(checkout, latest) == {"kept": "M", "gone": "D", "ü.txt": "A"}
    tree = repository.tree_of(checkout, latest.sha)
    assert (tree.whole, tree.blobs["link"].mode) == (True, repository.LINK)
    names = ["link", "with space.bin", "ü.txt"]
    assert repository.contents(checkout, [tree.blobs[name] for name in names]) == [b"kept", b"\0\n\xff", b"new\n"]
    patch = repository.patch_of(checkout, latest, ["kept", "ü.txt"])
    assert b"+changed" in patch
    assert b"gone" not in patch


def test_a_submodule_makes_a_tree_less_than_whole(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    commit(root, "One", {"a": "a\n"})
    head = shell(root, "git rev-parse HEAD")
    shell(root, f"git update-index --add --cacheinfo 160000,{head},module && git commit -q -m Two")
    checkout = repository.checkout_of(root)
    tree = repository.tree_of(checkout, checkout.head or "")
    assert (tree.whole, list(tree.blobs)) == (False, ["a"])


def test_only_the_top_of_a_repository_is_one(tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match="is no git repository"):
        repository.checkout_of(tmp_path)
    root = empty(tmp_path / "a")
    (root / "b").mkdir()
    with pytest.raises(FixtureError, match="lies inside the repository"):
        repository.checkout_of(root / "b")


def test_what_is_ignored_is_known_before_it_is_written(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    (root / ".gitignore").write_text("*.log\n")
    assert repository.ignored(repository.checkout_of(root), ["a.log", "a.txt"]) == ["a.log"]
