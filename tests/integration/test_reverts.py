"""`scylla-gha reverts` and its client, against a local server that answers as GitHub does."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import GitHubAccess
from scylla_gha.github_api.client import ApiRequest, GitHubRepository, RequestLimits, RetryPolicy
from scylla_gha.github_api.responses import NamedRepository
from scylla_gha.github_api.reverts import Period, RevertQuery, RevertRate, read_revert_rate
from scylla_gha.stats import wilson
from tests.support.command import Said, scylla
from tests.support.github import REPOSITORY, TOKEN, Closed, Fault, GitHub, on, serve, sha

PERIOD = ("--since", "2026-01-01", "--until", "2026-02-28")
BUTTON = 'Revert "A change"'


def says(number: int) -> str:
    return f'Revert "A change"\n\nThis reverts commit {sha(number)}.'


def history() -> GitHub:
    """Pull requests 1 to 9 of an agent: 1, 2, 3 and 8 are reverted for good, each in another way."""
    pulls = [Closed(number, on(number), labels=("agent",)) for number in range(1, 10)]
    yesterday = datetime.now(UTC) - timedelta(days=1)
    pulls += [
        Closed(10, on(10)),
        Closed(11, None, labels=("agent",)),
        Closed(12, on(11), labels=("agent",), base="release"),
        Closed(20, on(3), body=f"Reverts {REPOSITORY}#1", title=BUTTON),
        Closed(21, on(12), body=f"Reverts {REPOSITORY}#4", title=BUTTON),
        Closed(22, on(13), title='Revert "Revert "A change""', body=f"Reverts {REPOSITORY}#21"),
        Closed(23, on(45), body=f"Reverts {REPOSITORY}#5", title=BUTTON),
        Closed(24, None, body=f"Reverts {REPOSITORY}#6", title=BUTTON),
        Closed(25, on(20), body=f"Reverts {REPOSITORY}#7", base="release", title=BUTTON),
        Closed(26, on(14), title="Take it back"),
        Closed(30, yesterday, labels=("agent",)),
        Closed(31, on(-5), labels=("agent",), updated=on(100)),
        Closed(32, on(-300), labels=("agent",)),
    ]
    commits = [
        (sha(20), on(3), says(1)),  # what the button's merge says
        (sha(40), on(4), says(2)),  # pushed without a pull request
        (sha(41), on(5), says(42)),  # of a commit that is in no repository of ours
        (sha(43), on(8), says(44)),  # of one of several commits of 3, in the pull request 26
        (sha(45), on(50), says(9)),  # too late
        (sha(46), on(20), f"Revert\n\nThis reverts commit {sha(8)[:9]}."),
    ]
    return GitHub(pulls, commits, brought={sha(40): [], sha(43): [26], sha(44): [3, 25], sha(46): []})


@pytest.fixture
def github() -> Iterator[GitHub]:
    with serve(history()) as served:
        yield served


def reverts(github: GitHub, *args: str, cwd: Path, **env: str) -> Said:
    given = {"GITHUB_API_URL": github.url, "GITHUB_TOKEN": TOKEN, "GH_TOKEN": "", "NO_PROXY": "127.0.0.1", **env}
    said = scylla("reverts", REPOSITORY, *PERIOD, *args, cwd=cwd, env=given, seconds=120)
    assert "Traceback" not in said.err
    assert TOKEN not in said.out + said.err
    assert list(cwd.iterdir()) == [], "nothing is written"
    return said


def rate(said: Said) -> dict[str, Any]:
    assert said.code == 0, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def read(
    github: GitHub, *, token: str | None = TOKEN, seconds: float = 5, pauses: list[float] | None = None, **limits: int
) -> RevertRate:
    """The same in this process, of the agent's pull requests; pauses are bounded, and recorded, not waited."""
    retries = RetryPolicy(print, seconds, (pauses if pauses is not None else []).append)
    client = GitHubRepository(
        GitHubAccess(github.url, token), REPOSITORY, retries, RequestLimits(backoff=0.01, **limits)
    )
    about = client.read(ApiRequest("GET", "", "read the repository", "contents: read"), NamedRepository)
    period = Period(since=on(0).date(), until=on(58).date())
    query = RevertQuery(repository=about.full_name, base=about.default_branch, period=period, as_of=on(200),
                        window_days=30, labels=("agent",))  # fmt: skip
    return read_revert_rate(client, query, lambda _: None)


def test_the_rate_of_an_agents_pull_requests(github: GitHub, tmp_path: Path) -> None:
    found = rate(reverts(github, "--label", "agent", "--json", cwd=tmp_path))
    assert found.pop("as_of").startswith("20")
    assert (found["low"], found["high"]) == wilson(4, 9)
    assert found == {
        "repository": REPOSITORY, "base": "main", "period": {"since": "2026-01-01", "until": "2026-02-28"},
        "window_days": 30, "labels": ["agent"], "author": None,
        "merged": 9, "reverted": 4, "censored": 0, "rate": 4 / 9, "low": found["low"], "high": found["high"],
        "reverts": [
            {"pr": 1, "reverted_by": "#20", "days": 2.0},
            {"pr": 2, "reverted_by": sha(40), "days": 2.0},
            {"pr": 3, "reverted_by": "#26", "days": 11.0},
            {"pr": 8, "reverted_by": sha(46), "days": 12.0},
        ],
    }  # fmt: skip


def test_few_requests_are_made(github: GitHub) -> None:
    read(github)
    origins = [path for path in github.asked if re.search("/commits/[^/]+/pulls", path)]
    assert len(origins) == 6, "one for each commit that nothing else tells of"
    pages = [path for path in github.asked if "direction=desc" in path]
    assert len(pages) == len(set(pages)) == 4, "what was merged long ago is on a fifth page"
    assert all("per_page=100" in path for path in pages)


def test_a_person_reads_a_table(github: GitHub, tmp_path: Path) -> None:
    until = datetime.now(UTC).date().isoformat()
    said = reverts(github, "--label", "agent", "--until", until, cwd=tmp_path)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"{REPOSITORY}, merged into main 2026-01-01 to {until} (label agent)",
        "  PR      reverted by        after",
        "  #1      #20             2.0 days",
        f"  #2      {sha(40)[:12]}    2.0 days",
        "  #3      #26            11.0 days",
        f"  #8      {sha(46)[:12]}   12.0 days",
        "4 of 9 reverted within 30 days: 44.4 % (95 %: [18.9, 73.3]); 1 merged less than 30 days ago not counted",
    ]


def test_of_nothing_merged_there_is_no_rate(github: GitHub, tmp_path: Path) -> None:
    found = rate(reverts(github, "--author", "nobody", "--json", cwd=tmp_path))
    assert (found["merged"], found["rate"], found["low"], found["high"]) == (0, None, None, None)
    said = reverts(github, "--since", "2026-02-27", cwd=tmp_path)
    assert said.out.splitlines()[1] == "no rate: none of these pull requests was merged 30 days ago or earlier"


@pytest.mark.parametrize(
    ("fault", "pause"),
    [
        (Fault(403, "You have exceeded a secondary rate limit", {"Retry-After": "4"}, "/commits?"), 4.0),
        (
            Fault(403, "API rate limit exceeded", {"X-RateLimit-Reset": "1", "X-RateLimit-Remaining": "0"}, "/pulls?"),
            1.0,
        ),
        (Fault(429, "Too many", {"Retry-After": "3"}, "page=2"), 3.0),
        (Fault(502, "Bad gateway"), 0.01),
        (Fault(200, hang=True, at="page=3"), 0.01),
    ],
    ids=["secondary", "primary", "429", "502", "hang-up"],
)
def test_a_request_is_repeated_after_the_pause_that_github_asks_for(github: GitHub, fault: Fault, pause: float) -> None:
    if fault.hang:
        github.ended.set()  # the connection ends without an answer
    github.faults.append(fault)
    pauses: list[float] = []
    assert read(github, pauses=pauses).rate == 4 / 9
    assert (github.faults, pauses) == ([], [pause])


def test_a_wait_is_told_of(github: GitHub, tmp_path: Path) -> None:
    github.faults.append(Fault(403, "slow down", {"Retry-After": "3"}))
    said = reverts(github, "--json", cwd=tmp_path)
    assert rate(said)["reverted"] == 5
    assert said.err.splitlines()[0] == "GitHub answered 403; retrying in 3 s"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            Fault(401, "Bad credentials"),
            ["GITHUB_TOKEN is invalid or expired (401", "GITHUB_TOKEN needs the permission `contents: read`"],
        ),
        (Fault(403, "Resource not accessible\x1b[2J"), ["GitHub denied it (403: Resource not accessible[2J)"]),
        (
            Fault(404, "Not Found"),
            [f"{REPOSITORY}: cannot read the repository: not found, or GITHUB_TOKEN cannot see it"],
        ),
        (Fault(403, "slow down", {"Retry-After": "3600"}), ["rate limit is reached; try again after", "in 60 min"]),
        (
            Fault(403, "API rate limit exceeded", {"X-RateLimit-Reset": "9999999999"}),
            ["GitHub's rate limit is reached"],
        ),
        (Fault(429, "Too many"), ["GitHub's rate limit is reached; try again after"]),
        (Fault(503, "Maintenance", {"Retry-After": "3600"}), ["GitHub is unavailable (503); try again after"]),
        (Fault(451, "Blocked"), ["cannot read the repository (451: Blocked)"]),
        (Fault(200, body="<html>"), ["does not answer as GitHub's API does; check GITHUB_API_URL"]),
        (Fault(200, body="[1]"), ["does not answer as GitHub's API does"]),
        (Fault(200, body="{"), ["does not answer as GitHub's API does"]),
        (Fault(200, body='{"full_name": 7, "default_branch": {}}'), ["does not answer as GitHub's API does"]),
        (Fault(200, body="<html>", at="/pulls"), ["does not answer as GitHub's API does"]),
        (Fault(200, body='[{"number": "x"}]', at="/pulls"), ["does not answer as GitHub's API does"]),
        (Fault(200, body='[{"sha": "x", "commit": null}]', at="/commits"), ["does not answer as GitHub's API does"]),
        (Fault(301, headers={"Location": "http://git.example/x"}), ["does not answer as GitHub's API does"]),
    ],
)
def test_what_does_not_pass_says_what_to_do(github: GitHub, fault: Fault, words: list[str]) -> None:
    github.faults.append(fault)
    with pytest.raises(GitHubError) as caught:
        read(github)
    assert [each for each in words if each not in str(caught.value)] == []
    assert str(caught.value).isprintable()


def test_a_wrong_token_is_refused(github: GitHub, tmp_path: Path) -> None:
    said = reverts(github, cwd=tmp_path, GITHUB_TOKEN="", GH_TOKEN="ghp_other")
    assert said.code == 11
    assert "GH_TOKEN is invalid or expired (401: Bad credentials)" in said.err
    assert "ghp_other" not in said.err


def test_without_a_token_public_things_are_read(github: GitHub) -> None:
    assert read(github, token=None).reverted == 4
    github.faults.append(Fault(403, "API rate limit exceeded", {"X-RateLimit-Reset": "9999999999"}))
    with pytest.raises(GitHubError, match="or set GITHUB_TOKEN: the rate limit with a token"):
        read(github, token=None)


def test_an_unreachable_server_is_tried_four_times_with_doubled_pauses() -> None:
    with serve(GitHub()) as gone:
        pass
    pauses: list[float] = []
    with pytest.raises(GitHubError, match=rf"{gone.url} cannot be reached \(.*Connection refused"):
        read(gone, pauses=pauses)
    assert pauses == [0.01, 0.02, 0.04]


def test_a_server_that_never_answers_is_not_waited_for_for_ever(github: GitHub) -> None:
    github.faults += [Fault(200, hang=True)] * 2
    with pytest.raises(GitHubError, match=r"cannot be reached \(.*timed out.*\); check the network"):
        read(github, timeout=1, attempts=2)
    assert len(github.asked) == 2


def test_a_server_that_always_fails_is_asked_four_times(github: GitHub) -> None:
    github.faults += [Fault(502, headers={"Retry-After": "1"})] * 4
    pauses: list[float] = []
    with pytest.raises(GitHubError, match=r"cannot read the repository \(502: scripted\); try again later"):
        read(github, pauses=pauses)
    assert (github.faults, pauses) == ([], [1.0] * 3)


def test_a_server_without_a_trusted_certificate_is_not_asked(github: GitHub) -> None:
    github.url = github.url.replace("http:", "https:")
    with pytest.raises(GitHubError, match=r"its certificate is not trusted here \(.*\); check GITHUB_API_URL"):
        read(github)
    assert github.asked == []


def test_the_patience_is_one_for_all_requests(github: GitHub) -> None:
    github.faults += [Fault(403, "slow down", {"Retry-After": "1"}, at) for at in ("/pulls?", "/commits?")]
    with pytest.raises(GitHubError, match="rate limit is reached"):
        read(github, seconds=1.5)
    assert github.faults == []
