"""Work of one request is limited, and the refusal has words: GraphQL queries, and pushes of many refs.

https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api#query-limits
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from graphql import get_introspection_query

from scylla_gha.hub.errors import HubError
from scylla_gha.hub.graphql.execute import QueryWork
from tests.support.hub import NAME, OWNER, Caller, make_hub
from tests.support.hub_server import ServedHub, serving_hub

WHOLE = "types{name kind description fields{name args{name type{name kind}} type{name kind ofType{name}}}}"
MOST_REFS = 1000


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as running:
        yield running


@pytest.mark.parametrize("login", ["viewer{login}", ""])
def test_a_query_of_many_introspections_ends_with_githubs_error(tmp_path: Path, login: str) -> None:
    caller, aliases = Caller(make_hub(tmp_path)), " ".join(f"a{number}:__schema{{{WHOLE}}}" for number in range(50))
    answer = caller.graphql(f"{{{login} {aliases}}}")
    assert {(error["type"], error["message"]) for error in answer["errors"]} == {
        ("RESOURCE_LIMITS_EXCEEDED", "Resource limits for this query exceeded.")
    }


def test_the_whole_schema_is_read_once_and_kept(tmp_path: Path) -> None:
    caller, query = Caller(make_hub(tmp_path)), get_introspection_query()
    whole = caller.data(query)["__schema"]
    assert "PullRequest" in {kind["name"] for kind in whole["types"]}
    began = time.monotonic()
    assert caller.data(query)["__schema"] == whole
    assert time.monotonic() - began < 1
    assert caller.data('{__type(name:"Issue"){name} viewer{login}}') == {
        "__type": {"name": "Issue"}, "viewer": {"login": "octocat"},
    }  # fmt: skip
    by_name = "query A{__type(name:$n){name}}".replace("A", "A($n:String!)")
    assert [caller.data(by_name, n=name)["__type"]["name"] for name in ("User", "Bot")] == ["User", "Bot"]


def test_a_query_ends_when_its_time_is_over() -> None:
    work = QueryWork()
    work.count_record()
    work.deadline = time.monotonic() - 1
    work.count_schema()
    with pytest.raises(HubError, match="Resource limits for this query exceeded"):
        work.count_record()


def test_a_push_of_too_many_refs_is_refused_with_the_reason(served: ServedHub) -> None:
    """https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/managing-repository-settings/managing-the-push-policy-for-your-repository"""
    served.run("git", "clone", "-q", f"https://github.com/{OWNER}/{NAME}", "work")
    work = served.folder / "work"
    sha = served.run("git", "rev-parse", "HEAD", cwd=work).strip()
    packed = "".join(f"{sha} refs/tags/t{number:04}\n" for number in range(MOST_REFS + 1))
    (work / ".git/packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{packed}")
    printed = served.run("git", "push", "origin", "--tags", cwd=work, code=1)
    assert "This push updates 1,001 branches and tags, and at most 1,000 can be updated in a single push." in printed
    assert "! [remote rejected] t0000 -> t0000 (too many refs in one push)" in printed
    assert "HTTP" not in printed
    served.run("git", "push", "-q", "origin", "refs/tags/t000*:refs/tags/t000*", cwd=work)
    assert len(served.run("git", "ls-remote", "--tags", "origin", cwd=work).split()) == 2 * 10
