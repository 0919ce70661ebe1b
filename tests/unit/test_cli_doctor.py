from pathlib import Path

import click
import pytest

from scylla_gha.cli.doctor import _found, command
from tests.support.adopters import empty
from tests.support.git import shell


@pytest.mark.parametrize("name", ["app", "o/r/s", "o/..", "-o/r", "o/r?x"])
def test_a_repository_is_named_by_owner_and_name(name: str) -> None:
    with pytest.raises(click.UsageError, match=r"OWNER/NAME|No such option"):
        command.main(["--repository", name], standalone_mode=False)


@pytest.mark.parametrize(
    ("origin", "environ", "name"),
    [
        ("git@github.com:octo-org/app.git", {}, "octo-org/app"),
        ("https://github.com/octo-org/app", {}, "octo-org/app"),
        ("https://x:token@github.com/octo-org/app.git/", {}, "octo-org/app"),
        ("ssh://git@git.example/octo-org/app", {}, None),
        ("ssh://git@git.example/octo-org/app", {"GITHUB_API_URL": "https://git.example/api/v3"}, "octo-org/app"),
        ("/srv/app.git", {}, None),
        ("git@github.com:octo-org/app", {"GITHUB_REPOSITORY": "octo-org/other"}, "octo-org/other"),
    ],
)
def test_the_repository_is_the_runners_or_that_of_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str, environ: dict[str, str], name: str | None
) -> None:
    root = empty(tmp_path / "app")
    shell(root, f"git remote add origin {origin}")
    monkeypatch.chdir(root)
    assert _found(environ) == name


def test_outside_of_a_repository_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _found({}) is None
