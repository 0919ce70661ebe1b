from pathlib import Path

import pytest

from scylla_gha.errors import GitHubError
from scylla_gha.history.copy import Copy, PassingError
from scylla_gha.history.remote import Remote
from tests.support.branch import BRANCH, bare, copy_of, paths
from tests.support.git import shell

BIG = {"v1/runs/rows.gz": bytes(range(256)) * 4000, "v1/index/a.json": b"{}\n"}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return bare(tmp_path)


def pushed(copy: Copy, files: dict[str, bytes]) -> None:
    copy.refresh()
    copy.push(copy.commit(files, "message"))


def test_a_branch_that_is_not_there_has_no_tip_and_no_files(tmp_path: Path, server: Path) -> None:
    copy = copy_of(tmp_path, server)
    assert copy.refresh() is None
    assert copy.files("v1") == {}
    assert copy.fetch([]) == {}


def test_trees_are_fetched_and_contents_only_when_asked_for(tmp_path: Path, server: Path) -> None:
    pushed(copy_of(tmp_path, server), BIG)
    copy = copy_of(tmp_path, server)
    copy.refresh()
    names = copy.files("v1/index")
    assert list(names) == ["v1/index/a.json"]
    assert size_of(tmp_path / "copy-1") < 10_000
    assert copy.fetch(names.values()) == {names["v1/index/a.json"]: b"{}\n"}
    assert size_of(tmp_path / "copy-1") < 20_000
    rows = copy.files("v1/runs")
    assert list(copy.fetch(rows.values()).values()) == [BIG["v1/runs/rows.gz"]]


def size_of(copy: Path) -> int:
    return sum(path.stat().st_size for path in (copy / "objects").rglob("*") if path.is_file())


def test_only_the_tip_is_fetched_and_its_files_are_kept(tmp_path: Path, server: Path) -> None:
    for at in range(3):
        pushed(copy_of(tmp_path, server), {f"v1/index/{at}.json": b"{}"})
    copy = copy_of(tmp_path, server)
    pushed(copy, {"v1/index/3.json": b"{}"})
    assert shell(tmp_path / "copy-3", "git rev-list --count refs/scylla/tip") == "1"
    assert paths(server) == [f"v1/index/{at}.json" for at in range(4)]
    assert shell(server, f"git rev-list --count {BRANCH}") == "4"


def test_a_server_without_filters_serves_as_well(tmp_path: Path, server: Path) -> None:
    shell(server, "git config uploadpack.allowFilter false")
    pushed(copy_of(tmp_path, server), BIG)
    copy = copy_of(tmp_path, server)
    pushed(copy, {"v1/index/b.json": b"b"})
    copy.refresh()
    assert set(copy.fetch(copy.files("v1/index").values()).values()) == {b"{}\n", b"b"}


def test_the_second_of_two_is_told_that_it_may_try_again(tmp_path: Path, server: Path) -> None:
    one, two = copy_of(tmp_path, server), copy_of(tmp_path, server)
    one.refresh()
    two.refresh()
    one.push(one.commit({"v1/one": b"1"}, "one"))
    with pytest.raises(PassingError, match="rejected"):
        two.push(two.commit({"v1/two": b"2"}, "two"))
    assert paths(server) == ["v1/one"]
    pushed(two, {"v1/two": b"2"})
    assert paths(server) == ["v1/one", "v1/two"]


def test_a_lock_that_another_holds_passes(tmp_path: Path, server: Path) -> None:
    pushed(copy_of(tmp_path, server), {"v1/one": b"1"})
    copy = copy_of(tmp_path, server)
    copy.refresh()
    lock = server / "refs" / "heads" / f"{BRANCH}.lock"
    lock.touch()
    with pytest.raises(PassingError, match="remote rejected"):
        copy.push(copy.commit({"v1/two": b"2"}, "two"))
    lock.unlink()
    pushed(copy, {"v1/two": b"2"})


def test_a_branch_of_something_else_is_not_written_to(tmp_path: Path, server: Path) -> None:
    shell(tmp_path, f"git init -q work; cd work; echo hello > README; git add .; git commit -qm x; "
                    f"git push -q {server} HEAD:main")  # fmt: skip
    with pytest.raises(GitHubError, match="main is there, and is no results branch"):
        copy_of(tmp_path, server, "main").refresh()


def test_a_remote_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(GitHubError, match=r"(?s)cannot fetch scylla-results: .*check --remote, and GITHUB_TOKEN"):
        Copy(tmp_path / "copy", Remote(f"file://{tmp_path}/nowhere"), BRANCH).refresh()


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "@{-1}", ""])
def test_a_name_that_no_branch_can_have_is_refused(tmp_path: Path, server: Path, name: str) -> None:
    with pytest.raises(GitHubError, match="git check-ref-format failed"):
        copy_of(tmp_path, server, name)


def test_no_configuration_of_the_user_counts(tmp_path: Path, server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text("[user]\n\tname = Me\n[commit]\n\tgpgsign = true\n[url \"file:///elsewhere\"]\n\tinsteadOf = file://\n"
                      "[core]\n\thooksPath = /nowhere\n")  # fmt: skip
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Me")
    pushed(copy_of(tmp_path, server), BIG)
    monkeypatch.undo()
    assert shell(server, f"git log --format='%an %cn' {BRANCH}") == "github-actions[bot] github-actions[bot]"
