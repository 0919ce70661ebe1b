import base64
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.history.remote import own_remote, remote_from

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
    with pytest.raises(ConfigError, match="holds a user or a password") as caught:
        remote_from("https://me:hunter2@github.com/o/r", TOKEN)
    assert "hunter2" not in str(caught.value)
