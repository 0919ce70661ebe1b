"""Archives of source code: the API redirects to codeload.github.com, as GitHub does, and names are GitHub's.

https://docs.github.com/rest/repos/contents#download-a-repository-archive-tar
https://docs.github.com/repositories/working-with-files/using-files/downloading-source-code-archives
"""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scylla_gha.hub.records import RepositoryRecord
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, Caller, make_hub
from tests.support.hub_server import ServedHub, connected, serving_hub

SITE = "https://codeload.github.com"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as running:
        yield running


def ask(served: ServedHub, url: str, token: str | None = None) -> tuple[int, dict[str, str], bytes]:
    with connected(served.socket) as connection:
        connection.request("GET", url, None, {} if token is None else {"Authorization": f"token {token}"})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()


def location(served: ServedHub, path: str, token: str = AUTHOR) -> str:
    status, headers, content = ask(served, f"{REPO}/{path}", token)
    assert (status, content) == (302, b"")
    return headers["Location"]


def make_private(served: ServedHub) -> None:
    record = served.hub.state.repository(OWNER, NAME)
    assert record is not None
    served.hub.state.tables[RepositoryRecord][record.id] = replace(record, private=True, permissions=record.permissions)


@pytest.mark.parametrize(
    ("path", "ref"),
    [("zipball/main", "legacy.zip/refs/heads/main"), ("tarball/topic", "legacy.tar.gz/refs/heads/topic"),
     ("tarball", "legacy.tar.gz/refs/heads/main"), ("zipball/nosuch", "legacy.zip/nosuch")],
)  # fmt: skip
def test_the_api_redirects_to_the_archive(served: ServedHub, path: str, ref: str) -> None:
    assert location(served, path) == f"{SITE}/{OWNER}/{NAME}/{ref}"
    assert Caller(served.hub).rest("GET", f"{REPO}/{path}").status == 302
    assert served.endpoint.log.traffic.calls == {"repo.read": 1}


def test_an_archive_of_the_api_is_named_by_its_commit(served: ServedHub) -> None:
    sha = Caller(served.hub).get(f"{REPO}/commits/main")["sha"]
    title = f"{OWNER}-{NAME}-{sha[:7]}"
    status, headers, content = ask(served, location(served, "zipball/main"))
    assert (status, headers["Content-Type"]) == (200, "application/zip")
    assert headers["Content-Disposition"] == f"attachment; filename={title}.zip"
    assert f"{title}/src/app.py" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    _, headers, content = ask(served, location(served, "tarball/main"))
    assert headers["Content-Disposition"] == f"attachment; filename={title}.tar.gz"
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert f"{title}/src/app.py" in archive.getnames()


@pytest.mark.parametrize(
    ("ref", "title"),
    [("refs/tags/v1.2.3", "demo-1.2.3"), ("v1.2.3", "demo-1.2.3"), ("refs/heads/main", "demo-main"),
     ("refs/heads/release/v2", "demo-release-v2"), ("refs/tags/version", "demo-version")],
)  # fmt: skip
def test_an_archive_of_the_site_is_named_by_its_ref(served: ServedHub, ref: str, title: str) -> None:
    caller = Caller(served.hub)
    sha = caller.get(f"{REPO}/commits/main")["sha"]
    for name in ("refs/tags/v1.2.3", "refs/heads/release/v2", "refs/tags/version"):
        assert caller.rest("POST", f"{REPO}/git/refs", {"ref": name, "sha": sha}).status == 201
    status, headers, content = ask(served, f"{SITE}/{OWNER}/{NAME}/zip/{ref}")
    assert (status, headers["Content-Disposition"]) == (200, f"attachment; filename={title}.zip")
    assert zipfile.ZipFile(io.BytesIO(content)).namelist()[0] == f"{title}/"


def test_the_address_of_a_private_archive_has_a_token(served: ServedHub) -> None:
    make_private(served)
    address = location(served, "zipball/main")
    path, _, query = address.partition("?token=")
    assert ask(served, address)[0] == ask(served, path, READER)[0] == 200
    wrong = f"{path}?token={'0' * len(query)}"
    assert [ask(served, url)[0] for url in (path, wrong, f"{SITE}/{OWNER}/none/zip/main", f"{SITE}/x")] == [404] * 4
    assert ask(served, f"{REPO}/zipball/main")[0] == 404


def test_what_does_not_exist_is_missing_behind_the_redirect(served: ServedHub) -> None:
    assert ask(served, location(served, "zipball/nosuch"))[0] == 404
