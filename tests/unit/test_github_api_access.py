import pytest

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import PUBLIC, GitHubAccess, access_from


@pytest.mark.parametrize(
    ("environ", "access"),
    [
        ({}, GitHubAccess()),
        ({"GITHUB_API_URL": "", "GITHUB_TOKEN": " "}, GitHubAccess()),
        ({"GITHUB_TOKEN": "ghs_a\n"}, GitHubAccess(PUBLIC, "ghs_a", "GITHUB_TOKEN")),
        ({"GH_TOKEN": "ghs_b"}, GitHubAccess(PUBLIC, "ghs_b", "GH_TOKEN")),
        ({"GH_TOKEN": "ghs_b", "GITHUB_TOKEN": "ghs_a"}, GitHubAccess(PUBLIC, "ghs_a", "GITHUB_TOKEN")),
        ({"GITHUB_API_URL": "https://git.example/api/v3/"}, GitHubAccess("https://git.example/api/v3")),
        ({"GITHUB_API_URL": "http://127.0.0.1:8080"}, GitHubAccess("http://127.0.0.1:8080")),
        ({"GITHUB_API_URL": "http://localhost:8080"}, GitHubAccess("http://localhost:8080")),
        ({"GITHUB_API_URL": "http://[::1]:8080"}, GitHubAccess("http://[::1]:8080")),
    ],
)
def test_access_is_what_actions_and_gh_set(environ: dict[str, str], access: GitHubAccess) -> None:
    assert access_from(environ) == access


@pytest.mark.parametrize(
    "url",
    ["http://git.example", "http://127.0.0.1.git.example", "ftp://127.0.0.1", "git.example", "https://", "file:///x"],
)
def test_a_token_travels_in_clear_text_nowhere_but_here(url: str) -> None:
    with pytest.raises(GitHubError, match="GITHUB_API_URL must be an https:// address"):
        access_from({"GITHUB_API_URL": url, "GITHUB_TOKEN": "ghs_a"})


@pytest.mark.parametrize("token", ["ghs_a b", "ghs_a\nX-Header: b", "ghs_ä"])
def test_what_is_no_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(GitHubError, match="GH_TOKEN contains a character that no token has") as caught:
        access_from({"GH_TOKEN": token})
    assert "ghs" not in str(caught.value)


def test_a_token_is_not_in_what_is_shown_of_an_access() -> None:
    assert "ghs_a" not in repr(access_from({"GITHUB_TOKEN": "ghs_a"}))
