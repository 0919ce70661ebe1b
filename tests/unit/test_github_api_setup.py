import pytest

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import GitHubAccess
from scylla_gha.github_api.client import RetryPolicy
from scylla_gha.github_api.setup import HiddenResource, MissingResource, SelectedActions, read_setup
from tests.support.github_setup import NAME, TOKEN, Served, right, serve


def test_names_and_no_values_are_read_and_what_is_not_told_is_kept_apart() -> None:
    told = {**right(), "/pages": 404, "/actions/secrets": 403, "/actions/variables": 404}
    told["/actions/permissions"] = {"enabled": True, "allowed_actions": "selected"}
    told["/actions/permissions/selected-actions"] = {"github_owned_allowed": True, "patterns_allowed": ["a/*"]}
    waits: list[str] = []
    with serve(Served(told)) as served:
        setup = read_setup(
            GitHubAccess(served.url, TOKEN), NAME, RetryPolicy(waits.append), "scylla-eval", "scylla-results"
        )
    assert setup.secrets["environment"] == {"ANTHROPIC_API_KEY"}
    assert (setup.pages, setup.secrets["repository"]) == (MissingResource(), HiddenResource(403))
    assert setup.variables["repository"] == HiddenResource(404), "there is always such a list"
    assert setup.selected == SelectedActions(github_owned_allowed=True, patterns_allowed=("a/*",))
    assert (setup.token.scopes, waits) == (("repo", "workflow"), [])


@pytest.mark.parametrize("status", [401, 404])
def test_without_the_repository_itself_there_is_nothing_to_tell(status: int) -> None:
    with serve(Served({"": status})) as served, pytest.raises(GitHubError):
        read_setup(GitHubAccess(served.url, TOKEN), NAME, RetryPolicy(print), "e", "r")
