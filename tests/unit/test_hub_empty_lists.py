"""Lists of what the hub has none of."""

from pathlib import Path

from scylla_gha.hub.rest import ROUTES
from scylla_gha.hub.rest.dispatch import register
from scylla_gha.hub.rest.empty_lists import __name__ as module
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, Caller, make_hub

OF_WRITERS = {f"{REPO}/actions/secrets": 403, f"{REPO}/actions/variables": 403}
OF_ADMINISTRATORS = dict.fromkeys((f"{REPO}/{name}" for name in ("autolinks", "hooks", "invitations", "keys")), 404)


def urls() -> list[str]:
    register()
    parts = {"owner": OWNER, "repo": NAME, "issue_number": "1", "username": AUTHOR}
    return [route.template.format(**parts) for route in ROUTES if route.handler.__module__ == module]


def test_they_are_empty_and_nothing_can_be_written_into_them(tmp_path: Path) -> None:
    """https://docs.github.com/rest"""
    caller = Caller(make_hub(tmp_path))
    caller.rest("POST", f"{REPO}/issues", {"title": "One"})
    for url in urls():
        body = caller.get(url)
        assert (body == []) or (body.pop("total_count"), *body.values()) == (0, []), url
        assert caller.rest("PUT", f"{url}/1", {}).status in (404, 501)
    assert len(urls()) == 20


def test_readers_do_not_see_those_of_others(tmp_path: Path) -> None:
    """https://docs.github.com/organizations/managing-user-access-to-your-organizations-repositories/managing-repository-roles/repository-roles-for-an-organization"""
    hub = make_hub(tmp_path)
    Caller(hub).rest("POST", f"{REPO}/issues", {"title": "One"})
    hidden = OF_WRITERS | OF_ADMINISTRATORS
    seen = {url: Caller(hub, READER).rest("GET", url).status for url in urls()}
    assert seen == {url: hidden.get(url, 200) for url in urls()}
    assert Caller(hub, None).rest("GET", "/notifications").status == 401
    assert Caller(hub).rest("GET", f"{REPO}/issues/9/reactions").status == 404
