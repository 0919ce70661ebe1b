import base64
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError, GitHubError
from scylla_gha.results_branch.clone import BranchClone, GitRemote, TemporaryCloneError, own_remote, remote_from
from tests.support.branch import BRANCH, bare, copy_of, paths
from tests.support.git import shell

BIG = {"v1/runs/rows.gz": bytes(range(256)) * 4000, "v1/index/a.json": b"{}\n"}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return bare(tmp_path)


def pushed(copy: BranchClone, files: dict[str, bytes]) -> None:
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
    with pytest.raises(TemporaryCloneError, match="rejected"):
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
    with pytest.raises(TemporaryCloneError, match="remote rejected"):
        copy.push(copy.commit({"v1/two": b"2"}, "two"))
    lock.unlink()
    pushed(copy, {"v1/two": b"2"})


def test_a_branch_of_something_else_is_not_written_to(tmp_path: Path, server: Path) -> None:
    shell(tmp_path, f"git init -q work; cd work; echo hello > README; git add .; git commit -qm x; "
                    f"git push -q {server} HEAD:main")  # fmt: skip
    with pytest.raises(GitHubError, match="main is not a results branch"):
        copy_of(tmp_path, server, "main").refresh()


def test_a_remote_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(GitHubError, match=r"(?s)cannot fetch scylla-results: .*check --remote, and GITHUB_TOKEN"):
        BranchClone(tmp_path / "copy", GitRemote(f"file://{tmp_path}/nowhere"), BRANCH).refresh()


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


TOKEN = {"GITHUB_TOKEN": "secret-token"}


def test_a_folder_is_a_remote(tmp_path: Path) -> None:
    remote = remote_from(str(tmp_path), TOKEN)
    assert (remote.url, remote.env) == (f"file://{tmp_path}", {})
    assert remote_from("file:///srv/x.git", TOKEN).url == "file:///srv/x.git"


def test_github_is_told_the_token_and_nobody_else() -> None:
    remote = remote_from("https://github.com/o/r", TOKEN)
    basic = base64.b64encode(b"x-access-token:secret-token").decode()
    assert remote.env == {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.https://github.com/.extraHeader",
                          "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}"}  # fmt: skip
    assert "secret" not in repr(remote)
    assert basic not in repr(remote)
    for other in ("https://example.com/o/r", "https://github.com.example.com/o/r", "http://127.0.0.1/o/r",
                  "git@github.com:o/r.git", "ssh://git@github.com/o/r"):  # fmt: skip
        assert remote_from(other, TOKEN).env == {}
    assert remote_from("https://github.com/o/r", {}).env == {}


def test_a_server_of_ones_own_is_told_its_token() -> None:
    env = {"GITHUB_SERVER_URL": "https://ghe.example/", "GH_TOKEN": "t", "GITHUB_REPOSITORY": "o/r"}
    assert own_remote(env) == "https://ghe.example/o/r"
    assert (
        remote_from("https://ghe.example/o/r", env).env["GIT_CONFIG_KEY_0"] == "http.https://ghe.example/.extraHeader"
    )
    assert remote_from("https://github.com/o/r", env).env == {}
    assert own_remote({}) is None


def test_ways_to_the_host_are_passed_on_and_nothing_else() -> None:
    env = {"HTTPS_PROXY": "http://p:1", "SSL_CERT_FILE": "/ca", "GIT_DIR": "/x", "HOME": "/h", "AWS_SECRET": "s"}
    assert remote_from("https://example.com/r", env).env == {"HTTPS_PROXY": "http://p:1", "SSL_CERT_FILE": "/ca"}


@pytest.mark.parametrize("named", ["http://example.com/r", "ext::sh -c x", "--upload-pack=x", "nowhere", "git://h/r",
                                   "-oProxyCommand=x@h:r", "ssh://-oProxyCommand=x/r", "file://host/r"])  # fmt: skip
def test_other_addresses_are_refused(named: str) -> None:
    with pytest.raises(ConfigError, match="neither a repository's folder, nor an https:// or ssh address"):
        remote_from(named, TOKEN)


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError, match="contains a user or a password") as caught:
        remote_from("https://me:hunter2@github.com/o/r", TOKEN)
    assert "hunter2" not in str(caught.value)
