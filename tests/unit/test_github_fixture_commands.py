"""`scylla-gha fixture`: refusals, leases and reports, on a served hub that stands for github.com."""

import datetime
import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from scylla_gha.errors import ConfigError, GitHubError, RefusedError
from scylla_gha.github_com.commands import FixtureSession
from scylla_gha.github_com.leases import FixtureLease, lease_of, now_utc, take_lease
from scylla_gha.github_com.view import read_state
from scylla_gha.hub.faults import FaultInjector
from scylla_gha.hub.fixture import StartCommit
from scylla_gha.hub.records import IssueRecord, RepositoryRecord
from scylla_gha.model.github_fixture import RepositoryPool
from scylla_gha.model.github_requests import GitHubFault
from scylla_gha.prepare.start_state import own_files_commit
from tests.support.command import Said, scylla
from tests.support.fixture_repositories import SMALL, FixtureSite, fixture_site
from tests.support.hub import Caller
from tests.support.pages import ROOT

BIG = ("seedbox", "trailbook")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[FixtureSite]:
    with fixture_site(tmp_path / "site") as site:
        yield site


def session(site: FixtureSite, holder: str = "me") -> FixtureSession:
    return FixtureSession(site.reference, site.accounts, 0, holder, lambda _: None)


def change(site: FixtureSite, **fields: Any) -> None:
    """Change the repository as nobody could by a request."""
    state = site.served.hub.state
    state.update(0, state.where(RepositoryRecord)[0], **fields)


@pytest.mark.parametrize("name", BIG)
def test_fixtures_of_the_library_can_be_seeded(tmp_path: Path, name: str) -> None:
    folder = ROOT / "fixtures" / name
    start = own_files_commit(folder, tmp_path / "cache")
    with fixture_site(tmp_path, folder, start=StartCommit(*start) if start else None) as site:
        assert site.converge().view.is_equal
        assert site.converge().rounds == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"topics": ()}, "not marked as a repository of demo"),
        ({"description": "scylla-fixture: other"}, "not marked as a repository of demo"),
        ({"permissions": ()}, "does not have the role admin"),
    ],
)
def test_a_repository_that_is_not_marked_is_refused_and_nothing_is_written(
    site: FixtureSite, fields: dict[str, Any], reason: str
) -> None:
    change(site, **fields)
    seed, reset = (functools.partial(session(site).converge, None, is_new=is_new) for is_new in (True, False))
    for command in (seed, reset, session(site).status, functools.partial(session(site).cleanup, is_dry=False)):
        with pytest.raises(RefusedError, match=reason):
            command()
    assert set(site.requests()) == {"query rateLimit, repository"}


def test_a_repository_with_a_strangers_work_is_refused(site: FixtureSite) -> None:
    Caller(site.served.hub, "acct-reader").rest("POST", "/repos/pool/demo-0/issues", {"title": "Mine"})
    with pytest.raises(RefusedError, match=r"was never seeded, but has issues.*; use an empty repository"):
        session(site).converge(None, is_new=True)


def test_a_mark_outlives_topics_and_description_and_names_its_fixture(site: FixtureSite) -> None:
    site.converge()
    change(site, topics=(), description="Anything")
    assert session(site).converge(None, is_new=False)["equal"]
    assert "scylla-fixture" in site.served.hub.state.where(RepositoryRecord)[0].topics
    site.reference = site.reference.__class__(**{**vars(site.reference), "name": "other"})
    with pytest.raises(
        RefusedError, match="is marked as 'scylla-fixture: demo', not as a repository of the fixture other"
    ):
        session(site).status()


def test_all_accounts_and_tokens_that_are_missing_are_named_before_anything_is_done(site: FixtureSite) -> None:
    accounts = {user: login for user, login in site.pool.accounts.items() if user != "reader"}
    site.pool = RepositoryPool(repositories=site.pool.repositories, admin="author", accounts=accounts)
    del site.environ["SCYLLA_FIXTURE_TOKEN_REVIEWER"]
    with pytest.raises(ConfigError) as caught:
        session(site).converge(None, is_new=True)
    assert str(caught.value).splitlines() == [
        "github-fixtures.yaml: accounts: no login for reader; add it",
        "set SCYLLA_FIXTURE_TOKEN_REVIEWER: tokens of accounts that have to act in pool/demo-0",
    ]
    assert not (site.served.folder / "github-requests.jsonl").read_text()


def test_tokens_of_other_accounts_are_refused_before_anything_is_written(site: FixtureSite) -> None:
    author, reviewer = "SCYLLA_FIXTURE_TOKEN_AUTHOR", "SCYLLA_FIXTURE_TOKEN_REVIEWER"
    right = site.environ[reviewer]
    site.environ[reviewer] = site.environ[author]
    with pytest.raises(ConfigError) as caught:
        session(site).converge(None, is_new=True)
    logins = site.pool.accounts
    assert str(caught.value) == (
        f"{reviewer}: is a token of {logins['author']}, but github-fixtures.yaml gives reviewer the login "
        f"{logins['reviewer']}; correct one of them"
    )
    site.environ[reviewer] = "expired"
    with pytest.raises(GitHubError, match=rf"{reviewer} is invalid or expired \(401.*\); set another one$"):
        session(site).converge(None, is_new=True)
    writes = ("mutation", "POST", "PUT", "PATCH", "DELETE", "receive-pack")
    assert not [operation for operation in site.requests() if any(word in operation for word in writes)]
    site.environ[reviewer] = right
    assert session(site).converge(None, is_new=True)["equal"]


def test_a_lease_is_anothers_until_it_ends_and_then_anybodys(site: FixtureSite) -> None:
    facts = session(site, "one").converge(30, is_new=True)
    assert facts["equal"]
    assert facts["lease"]["holder"] == "one"
    assert not facts["lease"]["stale"]
    with pytest.raises(
        RefusedError, match=r"pool/demo-0: is leased by one \(lane 0\) until 20\d\d-.* UTC; wait until then"
    ):
        session(site, "two").converge(30, is_new=False)
    with pytest.raises(RefusedError, match="is leased by one"):
        session(site, "two").cleanup(is_dry=False)
    assert session(site, "one").converge(60, is_new=False)["lease"]["expires"] > facts["lease"]["expires"]

    accounts = site.accounts
    later = lambda: now_utc() + datetime.timedelta(hours=2)  # noqa: E731 a clock
    lease = take_lease(accounts, read_state(accounts.admin)[0], "two", 5, 300, later)
    assert (lease.holder, lease.lane) == ("two", 5)
    with pytest.raises(RefusedError, match=r"is leased by two \(lane 5\)"):
        session(site, "one").converge(None, is_new=False)
    session(site, "two").cleanup(is_dry=False)
    assert lease_of(read_state(accounts.admin)[0]) is None


def test_of_two_who_take_a_lease_at_the_same_time_one_is_refused(site: FixtureSite) -> None:
    site.converge()
    accounts = site.accounts
    before = read_state(accounts.admin)[0]
    taken: list[FixtureLease] = [take_lease(accounts, before, "one", 0, 30)]
    with pytest.raises(RefusedError, match="another holder took the lease at the same time"):
        take_lease(accounts, before, "two", 0, 30)
    current = lease_of(read_state(accounts.admin)[0])
    assert current is not None
    assert current.lease == taken[0]


def test_a_review_that_the_agent_did_not_submit_is_removed_by_its_own_account(site: FixtureSite) -> None:
    site.converge()
    reviewer = Caller(site.served.hub, "acct-reviewer")
    assert reviewer.rest("POST", "/repos/pool/demo-0/pulls/2/reviews", {"body": "Later"}).status == 200
    assert session(site).converge(None, is_new=False)["equal"], "nobody else sees it"
    assert [review["state"] for review in reviewer.get("/repos/pool/demo-0/pulls/2/reviews")][-1] == "PENDING"
    assert session(site).converge(None, "reviewer", is_new=False)["equal"]
    assert "PENDING" not in [review["state"] for review in reviewer.get("/repos/pool/demo-0/pulls/2/reviews")]


def in_project(site: FixtureSite, folder: Path, *words: str, **env: str) -> Said:
    """Run a command in a repository that has the fixture and the list of repositories."""
    fixture = folder / "fixtures/demo"
    if not fixture.exists():
        fixture.mkdir(parents=True)
        (fixture / "github.yaml").write_bytes((SMALL / "github.yaml").read_bytes())
        (folder / "config/tiers").mkdir(parents=True)
        pools = {"fixtures": {"demo": site.pool.model_dump(mode="json")}}
        (folder / "config/github-fixtures.yaml").write_text(yaml.safe_dump(pools))
    cache = str(folder / "cache")
    return scylla(
        "fixture", *words, cwd=folder, env={**site.environ, "SCYLLA_CACHE": cache, "HOME": str(folder), **env}
    )


def test_the_commands_seed_compare_clean_and_reset_a_repository(site: FixtureSite, tmp_path: Path) -> None:
    project = tmp_path / "project"
    seeded = in_project(site, project, "seed", "demo", "--lane", "3", "--lease", "20", "--holder", "me")
    assert seeded.code == 0, seeded.err
    assert "pool/demo-0: matches the fixture; digest " in seeded.out
    assert "not seeded: 1 run of workflows" in seeded.out
    assert "note: merged pull requests name a merge commit that GitHub made" in seeded.out
    assert "API calls" in seeded.err

    author = Caller(site.served.hub, "acct-author")
    author.rest("POST", "/repos/pool/demo-0/issues", {"title": "Extra"})
    author.rest("PATCH", "/repos/pool/demo-0/issues/1", {"title": "Other"})
    compared = in_project(site, project, "status", "demo", "--json")
    facts = json.loads(compared.out)
    assert compared.code == 10
    assert facts["differences"] == ["issue.crash: title is 'Other', not 'add subtracts'",
                                    "extra issue #5: is not part of the fixture"]  # fmt: skip
    assert facts["lease"]["lane"] == 3
    assert facts["bindings"]["thread.test"]["node_id"].startswith("PRRT_")

    listed = in_project(site, project, "cleanup", "demo", "--dry-run", "--holder", "me")
    assert listed.out.splitlines()[:2] == ["pool/demo-0: would remove 2 objects", "  issue #5"]
    assert session(site).cleanup(is_dry=False)["removed"][0] == "issue #5"
    assert [issue.title for issue in site.served.hub.state.where(IssueRecord)] == ["Other", "subtracts"]
    reset = in_project(site, project, "reset", "demo")
    assert reset.code == 0, reset.err
    assert "not leased" in reset.out
    assert session(site).status()["equal"]


def test_a_seed_that_fails_frees_its_lease_and_is_gone_on_with(site: FixtureSite, tmp_path: Path) -> None:
    issues = GitHubFault(kind="server_error", operation="POST */issues", when="before", times=10**6)
    site.served.endpoint.faults = FaultInjector(site.served.hub, [issues])
    with pytest.raises(GitHubError) as caught:
        session(site).converge(30, is_new=True)
    assert str(caught.value).endswith("\nthe lease was freed")
    assert lease_of(read_state(site.accounts.admin)[0]) is None
    compared = in_project(site, tmp_path / "project", "status", "demo")
    assert compared.code == 10
    assert "`scylla-gha fixture seed demo --lane 0` continues an earlier seed" in compared.err


def test_validate_names_an_account_of_no_user(site: FixtureSite, tmp_path: Path) -> None:
    assert in_project(site, tmp_path, "--help").code == 0
    file = tmp_path / "config/github-fixtures.yaml"
    file.write_text(file.read_text().replace("author: acct-author", "autor: acct-author\n      author: acct-author"))
    said = scylla("validate", cwd=tmp_path)
    assert said.code == 3
    assert "accounts: 'autor' is not a user of the fixture; did you mean \"author\"?" in said.err


@pytest.mark.parametrize(
    ("words", "env", "reason", "code"),
    [
        (("reset", "loanbook"), {}, "github-fixtures.yaml: fixtures: 'loanbook' is not listed", 3),
        (("status", "demo"), {"SCYLLA_FIXTURE_TOKEN_AUTHOR": ""}, "set SCYLLA_FIXTURE_TOKEN_AUTHOR", 3),
        (("status", "demo"), {"SCYLLA_FIXTURE_TOKEN_AUTHOR": "wrong"}, "TOKEN_AUTHOR is invalid or expired", 11),
        (("status", "demo"), {"GITHUB_API_URL": "http://example.com"}, "must be an https:// address", 11),
        (("seed", "demo"), {"GITHUB_SERVER_URL": ""}, "(https://github.com) name different servers", 11),
        (("seed", "demo"), {"GITHUB_SERVER_URL": "http://127.0.0.1:1"}, "a token would be sent to both", 11),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_without_a_secret(
    site: FixtureSite, tmp_path: Path, words: tuple[str, ...], env: Mapping[str, str], reason: str, code: int
) -> None:
    said = in_project(site, tmp_path / "project", *words, **env)
    assert said.code == code, said.err
    assert reason in said.err
    assert "acct-" not in said.err
