"""Search of the hub: GitHub's query language over issues, pull requests, code, repositories, commits and people."""

from urllib.parse import quote

import pytest

from scylla_gha.hub.cell import Hub
from tests.support.hub import AUTHOR, NAME, OWNER, REVIEWER, Caller, commit
from tests.support.hub_search import SearchWorld


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Hub:
    return SearchWorld(tmp_path_factory.mktemp("hub")).hub


def numbers(hub: Hub, query: str, login: str = AUTHOR) -> list[int]:
    return [item["number"] for item in Caller(hub, login).get(f"/search/issues?q={quote(query)}")["items"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("crash", {1, 4, 5}),
        ("crash in:title", {1, 5}),
        ("crash in:title,comments is:issue", {1, 4}),
        ('"when parsing"', {1}),
        ('"parsing when"', set()),
        ("parse", {1}),
        ("src/app.py", {1}),
        ("crash NOT fix", {1, 4}),
        ("docs OR slow", {2, 3}),
        ("(docs OR slow) is:open", {2}),
        ("state:open type:pr", {5, 6}),
        ("is:pr is:merged", {7}),
        ("is:pr is:closed", {7}),
        ("is:unmerged", {5, 6}),
        ("is:locked", {4}),
        ("author:octocat", {1, 5, 6}),
        ("author:@me is:issue", {1}),
        ("-author:@me", {2, 3, 4, 7}),
        ("assignee:octocat", {2}),
        ("assignee:*", {2, 3}),
        ("no:assignee is:issue", {1, 4}),
        ("no:label is:open is:issue", {4}),
        ("mentions:hubot", {1}),
        ("involves:@me is:issue", {1, 2, 4}),
        ("commenter:octocat", {4}),
        ("label:bug", {1, 2}),
        ('label:bug label:"good first issue"', {2}),
        ('label:"GOOD first issue",nothing', {2}),
        ("-label:bug is:issue", {3, 4}),
        ('milestone:"version 1"', {2}),
        ("no:milestone is:issue", {1, 3, 4}),
        ("head:topic base:main is:open", {5, 6}),
        ("draft:true", {6}),
        ("draft:false is:open", {5}),
        ("-is:draft is:open is:pr", {5}),
        ("review:none is:open", {5}),
        ("review:approved", {6}),
        ("review-requested:hubot", {5}),
        ("user-review-requested:@me", set()),
        ("reviewed-by:hubot", {6}),
        ("linked:pr", {1}),
        ("linked:issue", {5}),
        ('reason:"not planned"', {3}),
        ("comments:>=1", {4}),
        ("comments:0..0 is:issue", {1, 2, 3}),
        ("created:>=2026-01-01 is:issue", {1, 2, 3, 4}),
        ("created:2025-01-01..2025-12-31", set()),
        ("merged:2026-01-05", {7}),
        ("archived:false is:pr", {5, 6, 7}),
        ("repo:octo-org/demo user:hubot is:pr", {5, 6, 7}),
        ("org:octo-org is:issue is:closed", {3}),
        ("foo:bar", set()),
        ("is:nonsense", set()),
    ],
)
def test_a_query_finds_what_it_finds_on_github(hub: Hub, query: str, expected: set[int]) -> None:
    """https://docs.github.com/en/search-github/searching-on-github/searching-issues-and-pull-requests"""
    assert set(numbers(hub, query)) == expected


def test_results_are_ordered_and_only_those_that_may_be_read(hub: Hub) -> None:
    """https://docs.github.com/en/search-github/getting-started-with-searching-on-github/sorting-search-results"""
    assert numbers(hub, "is:issue sort:created-asc") == [1, 2, 3, 4]
    assert numbers(hub, "is:issue") == [4, 3, 2, 1], "the newest first without words"
    assert numbers(hub, "crash") == [5, 1, 4], "the title counts more"
    by_comments = Caller(hub).get("/search/issues?q=is:issue&sort=comments&order=desc")["items"]
    assert by_comments[0]["number"] == 4
    assert numbers(hub, "hidden", REVIEWER) == [99]
    assert numbers(hub, "hidden") == []


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 422), ("repo:octo-org/none", 422), ("repo:hubot/secret", 422), ("author:nobody", 422), ("x" * 300, 422),
     ("created:yesterday", 422), ("((((((a))))))", 422), ("project:octo-org/1", 501)],
)  # fmt: skip
def test_a_query_that_cannot_be_answered_is_refused(hub: Hub, query: str, status: int) -> None:
    """https://docs.github.com/en/rest/search/search#search-issues-and-pull-requests"""
    answer = Caller(hub).rest("GET", f"/search/issues?q={quote(query)}")
    assert answer.status == status
    assert status != 422 or answer.body["errors"][0]["field"] == "q"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("return a", ["src/app.py"]),
        ('"return a + b"', ["src/app.py"]),
        ("RETURN extension:py", ["src/app.py"]),
        ("return extension:md", []),
        ("demo", ["README.md"]),
        ("app in:path", ["src/app.py"]),
        ("filename:readme", ["README.md"]),
        ("path:src language:python", ["src/app.py"]),
        ("return repo:octo-org/demo", ["src/app.py"]),
    ],
)
def test_code_is_found_in_default_branches(hub: Hub, query: str, expected: list[str]) -> None:
    """https://docs.github.com/en/rest/search/search#search-code"""
    items = Caller(hub).get(f"/search/code?q={quote(query)}")["items"]
    assert [item["path"] for item in items] == expected


def test_code_comes_with_its_lines_if_the_client_accepts_them(hub: Hub) -> None:
    """https://docs.github.com/en/rest/search/search#text-match-metadata"""
    accept = "application/vnd.github.text-match+json"
    [item] = Caller(hub).rest("GET", "/search/code?q=def", accept=accept).body["items"]
    [match] = item["text_matches"]
    assert (match["fragment"], match["matches"]) == ("def add(a, b):", [{"text": "def", "indices": [0, 3]}])
    assert Caller(hub, None).rest("GET", "/search/code?q=def").status == 401


@pytest.mark.parametrize(
    ("query", "expected"),
    [("demo", ["octo-org/demo"]), ("user:octo-org", ["octo-org/demo"]), ("is:private", []), ("nothing", []),
     ("demo language:python archived:false stars:0 topics:<2", ["octo-org/demo"])],
)  # fmt: skip
def test_repositories_are_found(hub: Hub, query: str, expected: list[str]) -> None:
    """https://docs.github.com/en/rest/search/search#search-repositories"""
    items = Caller(hub).get(f"/search/repositories?q={quote(query)}")["items"]
    assert [item["full_name"] for item in items] == expected


def test_commits_people_and_labels_are_found(hub: Hub) -> None:
    """https://docs.github.com/en/rest/search/search"""
    caller = Caller(hub)
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    git = hub.git(repository)
    sha = commit(git, {"new.txt": "x"}, "Speed up parsing", hub.session(AUTHOR).signature(), git.branches()["main"])
    git.set_ref("refs/heads/main", sha)
    found = caller.get("/search/commits?q=parsing+author:octocat")["items"]
    assert [item["commit"]["message"] for item in found] == ["Speed up parsing"]
    assert caller.get("/search/commits?q=parsing+merge:true")["total_count"] == 0
    assert caller.get("/search/commits?q=parsing+is:private")["total_count"] == 0
    assert [user["login"] for user in caller.get("/search/users?q=cat+type:user")["items"]] == ["octocat"]
    labels = caller.get(f"/search/labels?q=first&repository_id={repository.id}")["items"]
    assert [label["name"] for label in labels] == ["good first issue"]


SEARCH = """query($q: String!, $type: SearchType!) {
  search(query: $q, type: $type, first: 2) {
    issueCount repositoryCount userCount pageInfo { hasNextPage }
    nodes { __typename ...on Issue { number } ...on PullRequest { number } ...on User { login } }
  }
}"""


def test_graphql_searches_with_the_same_language(hub: Hub) -> None:
    """https://docs.github.com/en/graphql/reference/queries#search"""
    found = Caller(hub).data(SEARCH, q="repo:octo-org/demo crash", type="ISSUE")["search"]
    assert (found["issueCount"], found["pageInfo"]["hasNextPage"]) == (3, True)
    assert found["nodes"] == [{"__typename": "PullRequest", "number": 5}, {"__typename": "Issue", "number": 1}]
    advanced = Caller(hub).data(SEARCH, q="(label:bug OR is:pr) -is:draft is:open", type="ISSUE_ADVANCED")["search"]
    assert advanced["issueCount"] == 3
    users = Caller(hub).data(SEARCH, q="hubot", type="USER")["search"]
    assert (users["userCount"], users["nodes"]) == (1, [{"__typename": "User", "login": "hubot"}])
    assert Caller(hub).data(SEARCH, q="demo", type="REPOSITORY")["search"]["repositoryCount"] == 1
    assert Caller(hub).data(SEARCH, q="repo:octo-org/none", type="ISSUE")["search"]["issueCount"] == 0
    types = Caller(hub).data('{__type(name: "SearchType") {enumValues {name}}}')["__type"]["enumValues"]
    assert "ISSUE_ADVANCED" in [value["name"] for value in types]
    wrong = Caller(hub).graphql(SEARCH, q="x", type="NOTHING")
    assert wrong["errors"][0]["message"] == "Variable $type of type SearchType! was provided invalid value"
