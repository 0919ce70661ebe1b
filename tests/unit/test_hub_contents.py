"""Files of repositories over the hub's REST interface."""

import base64
from pathlib import Path
from typing import Any

from scylla_gha.hub.rest import RestAnswer
from scylla_gha.hub.rest.dispatch import handle, register
from tests.support.hub import READER, REPO, REVIEWER, Caller, make_hub

FILE = f"{REPO}/contents/src/app.py"


def text(answer: Any) -> str:
    return base64.b64decode(answer["content"]).decode()


def sent(content: str, **fields: Any) -> dict[str, Any]:
    return {"message": "Change", "content": base64.b64encode(content.encode()).decode(), **fields}


def test_files_folders_and_the_readme_are_read(tmp_path: Path) -> None:
    """https://docs.github.com/rest/repos/contents#get-repository-content"""
    caller = Caller(make_hub(tmp_path))
    file = caller.get(f"{FILE}?ref=topic")
    assert (text(file), file["encoding"]) == ("def add(a, b):\n    return a + b + 0\n", "base64")
    assert [(one["name"], one["type"]) for one in caller.get(f"{REPO}/contents/")] == [
        ("README.md", "file"),
        ("src", "dir"),
    ]
    assert (
        caller.rest("GET", FILE, accept="application/vnd.github.v3.raw").content
        == b"def add(a, b):\n    return a + b\n"
    )
    folder = caller.rest("GET", f"{REPO}/contents/src", accept="application/vnd.github.object+json").body
    assert [one["path"] for one in folder["entries"]] == ["src/app.py"]
    assert text(caller.get(f"{REPO}/readme")) == "# Demo\n"
    for url in (f"{REPO}/contents/none", f"{FILE}?ref=none", f"{REPO}/contents/../x", f"{REPO}/readme?ref=topic"):
        assert caller.rest("GET", url).status == 404, url
    assert caller.rest("GET", FILE, accept="application/vnd.github.html").status == 501


def test_a_file_is_created_changed_and_deleted(tmp_path: Path) -> None:
    """https://docs.github.com/rest/repos/contents#create-or-update-file-contents"""
    caller = Caller(make_hub(tmp_path))
    url = f"{REPO}/contents/docs/a%20b.md"
    created = caller.rest("PUT", url, sent("One\n", branch="topic"))
    assert (created.status, created.body["content"]["path"]) == (201, "docs/a b.md")
    assert created.body["commit"]["author"]["name"] == "Octocat"
    sha = created.body["content"]["sha"]
    author = {"name": "Ada", "email": "ada@example.com"}
    changed = caller.rest("PUT", url, sent("Two\n", branch="topic", sha=sha, author=author))
    assert (changed.status, changed.body["commit"]["author"]["name"]) == (200, "Ada")
    assert text(caller.get(f"{url}?ref=topic")) == "Two\n"
    gone = caller.rest("DELETE", url, {"message": "No", "branch": "topic", "sha": changed.body["content"]["sha"]})
    assert (gone.status, gone.body["content"]) == (200, None)
    assert caller.rest("GET", f"{url}?ref=topic").status == 404


def test_a_stale_or_missing_sha_is_refused(tmp_path: Path) -> None:
    """https://docs.github.com/rest/repos/contents#create-or-update-file-contents"""
    caller = Caller(make_hub(tmp_path))
    missing = caller.rest("PUT", FILE, sent("x"))
    assert (missing.status, missing.body["message"]) == (422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    stale = caller.rest("PUT", FILE, sent("x", sha="f" * 40))
    assert (stale.status, stale.body["message"]) == (409, f"src/app.py does not match {'f' * 40}")
    assert caller.rest("DELETE", FILE, {"message": "No", "sha": "f" * 40}).status == 409


IMPOSSIBLE: tuple[tuple[str, dict[str, Any], int], ...] = (
    (".git/config", {}, 422),
    ("src/app.py/below", {}, 422),
    ("src", {}, 422),
    ("new", {"branch": "none"}, 404),
    ("new", {"content": "?"}, 422),
    ("new", {"message": None}, 422),
    ("new", {"author": {"name": "A\nB", "email": "x"}}, 422),
)


def test_an_impossible_file_is_refused(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    for path, body, status in IMPOSSIBLE:
        answer = caller.rest("PUT", f"{REPO}/contents/{path}", {**sent("x"), **body})
        assert answer.status == status, (path, body)


def test_readers_and_protection_refuse_a_file(tmp_path: Path) -> None:
    """https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-protected-branches/about-protected-branches"""
    hub = make_hub(tmp_path)
    assert Caller(hub, READER).rest("PUT", f"{REPO}/contents/new", sent("x")).status == 403
    rule = {"required_pull_request_reviews": {}, "enforce_admins": False, "restrictions": None,
            "required_status_checks": None}  # fmt: skip
    Caller(hub).rest("PUT", f"{REPO}/branches/main/protection", rule)
    answer = Caller(hub, REVIEWER).rest("PUT", f"{REPO}/contents/new", sent("x"))
    message = "Could not create file: Changes must be made through a pull request."
    assert (answer.status, answer.body["message"]) == (409, message)
    assert Caller(hub).rest("PUT", f"{REPO}/contents/new", sent("x")).status == 201, "administrators are not bound"


def test_the_first_file_of_an_empty_repository_makes_its_branch(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    caller.rest("POST", "/user/repos", {"name": "empty"})
    url = "/repos/octocat/empty/contents"
    assert caller.rest("GET", f"{url}/x").body["message"] == "This repository is empty."
    assert caller.rest("PUT", f"{url}/a/b.txt", sent("x")).status == 201
    assert text(caller.get(f"{url}/a/b.txt")) == "x"


def test_a_null_byte_reaches_no_command(tmp_path: Path) -> None:
    caller = Caller(make_hub(tmp_path))
    for url in (f"{REPO}/contents/a%00/b", f"{REPO}/commits?path=a%00", f"{REPO}/readme/%00/x"):
        assert caller.rest("GET", url).status == 400, url


def test_paths_that_github_does_not_describe_are_answered(tmp_path: Path) -> None:
    """They are not in GitHub's description, so that answers are not held against it here."""
    hub = make_hub(tmp_path)
    register()

    def get(path: str) -> RestAnswer:
        return handle(hub.session(READER), "GET", path, {}, b"", {}).answer

    assert [one["name"] for one in get(f"{REPO}/contents").body] == ["README.md", "src"]
    assert get(f"{REPO}/git/refs/heads/topic").body["ref"] == "refs/heads/topic"
    assert [one["ref"] for one in get(f"{REPO}/git/refs/heads").body] == ["refs/heads/main", "refs/heads/topic"]
    raw = [get(f"/raw/octo-org/demo/{revision}/README.md") for revision in ("main", "refs/heads/main", "topic", "none")]
    assert [(answer.status, answer.content) for answer in raw[:2]] == [(200, b"# Demo\n")] * 2
    assert [answer.status for answer in raw[2:]] == [404, 404]
