"""Releases of the hub: drafts, tags, the latest one, generated notes, and assets."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.records import LabelRecord, PullRequestRecord, RepositoryRecord
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, Caller, commit, make_hub

RELEASES = f"{REPO}/releases"


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return make_hub(tmp_path)


def demo(hub: Hub) -> RepositoryRecord:
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    return repository


def publish(hub: Hub, tag: str, **fields: Any) -> Any:
    answer = Caller(hub).rest("POST", RELEASES, {"tag_name": tag, **fields})
    assert answer.status == 201, answer.body
    return answer.body


def tags(hub: Hub) -> dict[str, str]:
    return hub.git(demo(hub)).tags()


def test_a_published_release_makes_its_tag_and_a_draft_makes_none(hub: Hub) -> None:
    """https://docs.github.com/en/rest/releases/releases#create-a-release"""
    topic = hub.git(demo(hub)).branches()["topic"]
    publish(hub, "v1", target_commitish="topic")
    draft = publish(hub, "v2", draft=True)
    assert tags(hub) == {"v1": topic}
    assert (draft["published_at"], draft["zipball_url"], draft["html_url"].split("/")[-1][:9]) == (
        None, None, "untagged-")  # fmt: skip
    assert Caller(hub).rest("GET", f"{RELEASES}/tags/v2").status == 404
    published = Caller(hub).rest("PATCH", f"{RELEASES}/{draft['id']}", {"draft": False}).body
    assert (published["draft"], published["published_at"] is None, sorted(tags(hub))) == (False, False, ["v1", "v2"])
    assert Caller(hub).get(f"{RELEASES}/tags/v2")["id"] == draft["id"]


def test_a_draft_is_seen_only_with_write_access(hub: Hub) -> None:
    """https://docs.github.com/en/rest/releases/releases#list-releases"""
    draft = publish(hub, "v1", draft=True)
    assert [release["id"] for release in Caller(hub).get(RELEASES)] == [draft["id"]]
    assert Caller(hub, READER).get(RELEASES) == []
    assert Caller(hub, READER).rest("GET", f"{RELEASES}/{draft['id']}").status == 404
    assert Caller(hub, READER).rest("POST", RELEASES, {"tag_name": "v2"}).status == 403


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"tag_name": "v1"}, "tag_name", "already_exists"),
        ({"tag_name": "v2", "target_commitish": "nowhere"}, "target_commitish", "invalid"),
        ({"tag_name": "a..b"}, "tag_name", "custom"),
        ({"tag_name": "v2", "body": "x" * 125_001}, "body", "custom"),
        ({"tag_name": "v2", "make_latest": "perhaps"}, "make_latest", "invalid"),
        ({"tag_name": "v2", "make_latest": "true", "prerelease": True}, None, "custom"),
    ],
)
def test_what_cannot_be_a_release_is_refused_with_its_field(
    hub: Hub, body: dict[str, Any], field: str | None, code: str
) -> None:
    """https://docs.github.com/en/rest/releases/releases#create-a-release"""
    publish(hub, "v1")
    answer = Caller(hub).rest("POST", RELEASES, body)
    assert (answer.status, answer.body["errors"][0].get("field"), answer.body["errors"][0]["code"]) == (
        422,
        field,
        code,
    )
    assert sorted(tags(hub)) == ["v1"], "nothing was written"


def test_the_latest_leaves_out_drafts_and_prereleases_and_can_be_set(hub: Hub) -> None:
    """https://docs.github.com/en/rest/releases/releases#get-the-latest-release"""
    latest = f"{RELEASES}/latest"
    assert Caller(hub).rest("GET", latest).status == 404
    first = publish(hub, "v1")
    publish(hub, "v2", prerelease=True)
    publish(hub, "v3", draft=True)
    publish(hub, "v0.9", make_latest="false")
    assert Caller(hub).get(latest)["tag_name"] == "v1"
    draft = next(release for release in Caller(hub).get(RELEASES) if release["draft"])
    assert Caller(hub).rest("PATCH", f"{RELEASES}/{draft['id']}", {"make_latest": "true"}).status == 422
    publish(hub, "v4")
    assert Caller(hub).get(latest)["tag_name"] == "v4"
    Caller(hub).rest("PATCH", f"{RELEASES}/{first['id']}", {"make_latest": "true"})
    assert Caller(hub).get(latest)["tag_name"] == "v1"


def test_a_deleted_release_leaves_its_tag(hub: Hub) -> None:
    """https://docs.github.com/en/rest/releases/releases#delete-a-release"""
    release = publish(hub, "v1")
    assert Caller(hub).rest("DELETE", f"{RELEASES}/{release['id']}").status == 204
    assert (Caller(hub).get(RELEASES), sorted(tags(hub))) == ([], ["v1"])


def merge(hub: Hub, title: str, files: dict[str, str | None], label: int | None = None) -> None:
    """A pull request that is merged, with its commit on main."""
    repository, git = demo(hub), hub.git(demo(hub))
    state, session = hub.state, hub.session(AUTHOR)
    sha = commit(git, files, title, session.signature(), git.branches()["main"])
    git.set_ref("refs/heads/main", sha)
    number = state.next_number(repository)
    now = state.now()
    state.create(session.user, PullRequestRecord(
        id=state.new_id(), created_at=now, updated_at=now, repository=repository.id, number=number, title=title,
        author=session.user.id, head_repository=repository.id, head_ref="gone", base_ref="main", state="closed",
        merged_at=now, merge_commit=sha, labels=(label,) if label else ()))  # fmt: skip


def test_generated_notes_list_what_was_merged_since_the_release_before(hub: Hub) -> None:
    """https://docs.github.com/en/repositories/releasing-projects-on-github/automatically-generated-release-notes"""
    merge(hub, "Old", {"a.txt": "1\n"})
    publish(hub, "v1")
    merge(hub, "New", {"b.txt": "1\n"})
    merge(hub, "Newer", {"c.txt": "1\n"})
    notes = Caller(hub).rest("POST", f"{RELEASES}/generate-notes", {"tag_name": "v2"}).body
    site = f"https://github.com/{OWNER}/{NAME}"
    expected = (
        f"## What's Changed\n* New by @{AUTHOR} in {site}/pull/2\n* Newer by @{AUTHOR} in {site}/pull/3\n\n\n"
        f"**Full Changelog**: {site}/compare/v1...v2"
    )
    assert notes == {"name": "v2", "body": expected}
    release = publish(hub, "v2", draft=True, generate_release_notes=True, body="Hello")
    assert (release["name"], release["body"]) == ("v2", f"Hello\n\n{expected}")
    first = Caller(hub).rest("POST", f"{RELEASES}/generate-notes", {"tag_name": "v1"}).body["body"]
    assert f"## New Contributors\n* @{AUTHOR} made their first contribution in {site}/pull/1\n" in first
    assert first.endswith(f"**Full Changelog**: {site}/commits/v1")


def test_generated_notes_follow_the_categories_of_release_yml(hub: Hub) -> None:
    """https://docs.github.com/en/repositories/releasing-projects-on-github/automatically-generated-release-notes"""
    state, repository = hub.state, demo(hub)
    bug, skip = (
        state.create(0, LabelRecord(id=state.new_id(), created_at=state.now(), repository=repository.id, name=name)).id
        for name in ("Bug", "skip-changelog")
    )
    merge(hub, "Rules", {".github/release.yml": (
        "changelog:\n  exclude:\n    labels: [skip-changelog]\n  categories:\n"
        "    - title: Fixes\n      labels: [bug]\n    - title: Other\n      labels: ['*']\n")})  # fmt: skip
    merge(hub, "Fix", {"b.txt": "1\n"}, bug)
    merge(hub, "Hidden", {"c.txt": "1\n"}, skip)
    body = Caller(hub).rest("POST", f"{RELEASES}/generate-notes", {"tag_name": "v1"}).body["body"]
    lines = [line for line in body.splitlines() if line.startswith(("###", "* ")) and " made " not in line]
    assert [line.partition(" by ")[0] for line in lines] == ["### Fixes", "* Fix", "### Other", "* Rules"]
    assert body.startswith("<!-- Release notes generated using configuration in .github/release.yml at main -->")


@pytest.mark.parametrize(("form", "ending"), [("zipball", "zip"), ("tarball", "tar.gz")])
def test_the_source_of_a_tag_is_an_archive(hub: Hub, form: str, ending: str) -> None:
    """https://docs.github.com/en/rest/repos/contents#download-a-repository-archive-zip"""
    url = publish(hub, "v1")[f"{form}_url"].removeprefix("https://api.github.com")
    answer = Caller(hub, None).rest("GET", url)
    target = f"https://codeload.github.com/{OWNER}/{NAME}/legacy.{ending}/refs/tags/v1"
    assert (answer.status, answer.headers["Location"]) == (302, target)


def test_an_asset_is_stored_renamed_and_deleted(hub: Hub) -> None:
    """https://docs.github.com/en/rest/releases/assets"""
    caller, release = Caller(hub), publish(hub, "v1")
    url = release["assets_url"].removeprefix("https://api.github.com")
    uploaded = caller.rest("POST", f"{url}?name=a%20b.zip&label=All", b"\x00content", content_type="application/zip")
    assert uploaded.status == 201, uploaded.body
    asset = uploaded.body
    assert (asset["name"], asset["label"], asset["size"], asset["content_type"]) == (
        "a.b.zip", "All", 8, "application/zip")  # fmt: skip
    again = caller.rest("POST", f"{url}?name=a.b.zip", b"x", content_type="application/zip")
    assert (again.status, again.body["errors"][0]["code"]) == (422, "already_exists")
    one = f"{RELEASES}/assets/{asset['id']}"
    content = caller.rest("GET", one, accept="application/octet-stream")
    assert (content.content, content.content_type) == (b"\x00content", "application/zip")
    assert caller.rest("PATCH", one, {"name": "c.zip"}).body["name"] == "c.zip"
    assert [listed["name"] for listed in caller.get(url)] == ["c.zip"]
    assert Caller(hub, READER).rest("DELETE", one).status == 403
    assert caller.rest("DELETE", one).status == 204
    assert caller.get(url) == []
    assert caller.rest("POST", f"{url}?name=d.txt", b"{ not JSON", content_type="text/plain").status == 201
