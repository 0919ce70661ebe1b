"""The hub over HTTP: real git and gh, credentials, hosts, headers and the request log."""

import datetime
import gzip
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Literal

import pytest

from scylla_gha.hub.rate_limit import RateLimitRule
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, make_hub
from tests.support.hub_server import ServedHub, connected, serving_hub

URL = f"https://github.com/{OWNER}/{NAME}"


def ask(served: ServedHub, method: str, url: str, body: Any = None, **headers: str) -> tuple[HTTPResponse, bytes]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    with connected(served.socket) as connection:
        connection.request(method, url, body, names)
        answer = connection.getresponse()
        return answer, answer.read()


def requests(served: ServedHub) -> list[dict[str, Any]]:
    lines = (served.folder / "github-requests.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served", {"ghp_other": 1}) as served:
        yield served


def clone(served: ServedHub, branch: str = "main") -> Path:
    served.run("git", "clone", "-q", "-b", branch, URL, "work")
    return served.folder / "work"


def change(served: ServedHub, work: Path, name: str = "new.txt") -> str:
    (work / name).write_text("new\n")
    served.run("git", "add", ".", cwd=work)
    served.run("git", "commit", "-qm", "New", cwd=work)
    return served.run("git", "rev-parse", "HEAD", cwd=work).strip()


def branches(served: ServedHub) -> dict[str, str]:
    repository = served.hub.state.repository(OWNER, NAME)
    assert repository is not None
    return served.hub.git(repository).branches()


def test_clone_and_push_with_real_git(served: ServedHub) -> None:
    work = clone(served)
    served.run("git", "checkout", "-qb", "feature/x", cwd=work)
    tip = change(served, work)
    printed = served.run("git", "push", "-u", "origin", "feature/x", cwd=work)
    assert f"remote:      {URL}/pull/new/feature/x" in printed
    assert branches(served)["feature/x"] == tip
    pushes = [entry for entry in served.hub.state.journal if entry.action == "push"]
    assert [(entry.fields, entry.detail) for entry in pushes] == [(("refs/heads/feature/x",), f"{'0' * 40} {tip}")]
    asked = [(entry["operation"], entry["identity"], entry["status"]) for entry in requests(served)]
    assert ("git-receive-pack", AUTHOR, 200) in asked
    anonymous = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.proxy",
                 "GIT_CONFIG_VALUE_0": f"http://127.0.0.1:{served.port}", "PATH": os.environ["PATH"]}  # fmt: skip
    argv = ["git", "clone", "-q", URL.replace("https", "http"), str(served.folder / "anonymous")]
    subprocess.run(argv, env=anonymous, check=True)
    assert ("git-upload-pack", None) in [(entry["operation"], entry["identity"]) for entry in requests(served)]
    served.run("git", "push", "-q", "origin", ":feature/x", "HEAD:refs/notes/x", cwd=work)
    assert "feature/x" not in branches(served)
    assert tip in served.run("git", "ls-remote", "origin", "refs/notes/x", cwd=work)


def test_a_push_without_rights_is_refused_as_on_github(served: ServedHub) -> None:
    work = clone(served)
    change(served, work)
    printed = served.run("git", "push", "origin", "main", cwd=work, token=READER, code=128)
    assert f"remote: Permission to {OWNER}/{NAME}.git denied to {READER}." in printed
    printed = served.run("git", "push", "origin", "main", cwd=work, token="ghp_nobody", code=128)
    assert "could not read Username" in printed


@pytest.mark.parametrize("ref", ["refs/pull/1/head", "refs/hub/x"])
def test_a_push_to_a_hidden_ref_is_refused(served: ServedHub, ref: str) -> None:
    work = clone(served)
    change(served, work)
    printed = served.run("git", "push", "origin", f"HEAD:{ref}", "HEAD:refs/heads/beside", cwd=work, code=1)
    assert "(deny updating a hidden ref)" in printed
    assert "beside" in branches(served), "each ref is decided upon alone"
    printed = served.run("git", "push", "--atomic", "origin", f"HEAD:{ref}", "HEAD:refs/heads/with", cwd=work, code=1)
    assert "(atomic push failed)" in printed or "atomic transaction failed" in printed
    assert "with" not in branches(served)


def test_headers_and_hosts_are_those_of_github(served: ServedHub) -> None:
    answer, _ = ask(served, "GET", "/emojis", Authorization=f"Bearer {AUTHOR}")
    assert answer.status == 501
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.headers["Server"] == "github.com"
    assert answer.headers["X-OAuth-Scopes"] == "gist, read:org, repo, workflow"
    assert answer.headers["X-RateLimit-Remaining"] == "4999"
    again, _ = ask(served, "GET", f"http://github.com/{OWNER}/{NAME}/issues", User_Agent="GitHub CLI 2.102.0")
    assert again.status == 404
    assert answer.headers["X-GitHub-Request-Id"] != again.headers["X-GitHub-Request-Id"]
    first, second = requests(served)
    assert (first["gaps"], first["client"]) == (["GET /emojis"], "tests")
    assert (second["interface"], second["client"], len(second["gaps"])) == ("site", "gh/2.102.0", 1)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", f"{REPO}/pull/1"), ("DELETE", f"{REPO}/issues/1"), ("GET", "/nothing"), ("OPTIONS", REPO)],
)
def test_what_github_does_not_have_is_404_and_no_gap(served: ServedHub, method: str, path: str) -> None:
    """https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api"""
    answer, content = ask(served, method, path, Authorization=f"token {AUTHOR}")
    assert (answer.status, json.loads(content)["message"]) == (404, "Not Found")
    (entry,) = requests(served)
    assert (entry["gaps"], served.endpoint.log.traffic.gaps) == ([], 0)


@pytest.mark.parametrize(
    ("host", "path"),
    [("api.github.com", "/graphql"), ("github.localhost", "/api/graphql"), ("api.github.localhost", "/graphql")],
)
def test_graphql_is_at_each_host(served: ServedHub, host: str, path: str) -> None:
    body = json.dumps({"query": "{__typename}"})
    answer, content = ask(served, "POST", path, body, Host=host, Authorization=f"token {AUTHOR}")
    assert (answer.status, json.loads(content)) == (200, {"data": {"__typename": "Query"}})
    assert ask(served, "POST", path, body, Host=host)[0].status == 401
    assert [entry["interface"] for entry in requests(served)] == ["graphql", "graphql"]


@pytest.mark.parametrize("path", [REPO, "/graphql", "/nothing"])
def test_the_api_wants_a_user_agent(served: ServedHub, path: str) -> None:
    """https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api#user-agent"""
    for name in ("", " "):
        answer, content = ask(served, "GET", path, Authorization=f"token {AUTHOR}", User_Agent=name)
        assert (answer.status, content[:73]) == (
            403,
            b"Request forbidden by administrative rules. Please make sure your request ",
        )
    assert ask(served, "GET", f"http://github.com/{OWNER}/{NAME}/info/refs?service=git-upload-pack")[0].status == 200


def test_a_token_of_another_cell_is_refused_and_counted(served: ServedHub) -> None:
    answer, content = ask(served, "GET", REPO, Authorization="token ghp_other")
    assert (answer.status, json.loads(content)["message"]) == (401, "Bad credentials")
    ask(served, "GET", REPO, Authorization="token ghp_unknown")
    traffic = served.endpoint.log.traffic
    assert (traffic.requests, traffic.foreign) == (2, 1)


def test_a_tunnel_and_a_huge_body_are_refused_and_counted(served: ServedHub) -> None:
    answer, _ = ask(served, "CONNECT", "api.github.com:443")
    assert answer.status == 405
    bomb = gzip.compress(bytes(70 * 1024 * 1024))
    answer, _ = ask(served, "POST", "/graphql", bomb, Content_Encoding="gzip", Authorization=f"token {AUTHOR}")
    assert answer.status == 413
    assert [entry["refused"] for entry in requests(served)] == [
        "This GitHub speaks HTTP without TLS",
        "Payload too large",
    ]


def test_what_is_no_request_of_http_is_refused_and_counted(served: ServedHub) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(served.socket))
        client.sendall(b"GET / HTTP/9\r\nnonsense\r\n\r\n")
        assert b" 400 " in client.recv(4096).splitlines()[0]
    (entry,) = requests(served)
    assert (entry["operation"], entry["status"], entry["refused"]) == ("invalid HTTP", 400, "not a request of HTTP")
    assert served.endpoint.log.traffic.requests == 1


def test_what_is_unchanged_is_not_sent_again(served: ServedHub) -> None:
    """https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api"""
    token = f"token {AUTHOR}"
    answer, content = ask(served, "GET", "/user", Authorization=token)
    assert (answer.status, json.loads(content)["login"]) == (200, AUTHOR)
    etag = answer.headers["ETag"]
    for known in (etag, etag.removeprefix("W/"), f'"other", {etag}'):
        again, content = ask(served, "GET", "/user", Authorization=token, If_None_Match=known)
        assert (again.status, content) == (304, b"")
    head, content = ask(served, "HEAD", "/user", Authorization=token)
    assert (head.status, content, head.headers["ETag"]) == (200, b"", etag)
    raw = {"Authorization": token, "Accept": "application/vnd.github.raw"}
    file, content = ask(served, "GET", f"{REPO}/contents/README.md", **raw)
    assert content == b"# Demo\n"
    raw["If_None_Match"] = file.headers["ETag"]
    assert ask(served, "GET", f"{REPO}/contents/README.md", **raw)[0].status == 304
    assert ask(served, "GET", f"{REPO}/contents/src/app.py", **raw)[0].status == 200


def test_what_is_used_of_each_limit_is_counted_as_github_does(served: ServedHub) -> None:
    """https://docs.github.com/rest/rate-limit/rate-limit"""
    token = {"Authorization": f"token {AUTHOR}"}
    for _ in range(31):
        found, _ = ask(served, "GET", f"/search/issues?q=repo:{OWNER}/{NAME}", **token)
    assert (found.headers["X-RateLimit-Resource"], found.headers["X-RateLimit-Remaining"]) == ("search", "29")
    query = json.dumps({"query": "{rateLimit{used remaining resetAt}}"})
    answer, content = ask(served, "POST", "/graphql", query, **token)
    limit = json.loads(content)["data"]["rateLimit"]
    assert (limit["used"], limit["remaining"], answer.headers["X-RateLimit-Used"]) == (1, 4999, "1")
    anonymous, _ = ask(served, "GET", REPO)
    assert (anonymous.headers["X-RateLimit-Limit"], anonymous.headers["X-RateLimit-Used"]) == ("60", "1")
    _, content = ask(served, "GET", "/rate_limit", **token)
    used = {name: resource["used"] for name, resource in json.loads(content)["resources"].items()}
    assert used == {"core": 0, "search": 1, "graphql": 1, "code_search": 0, "integration_manifest": 0}
    until = datetime.datetime.fromisoformat(limit["resetAt"])
    assert until > datetime.datetime.now(datetime.UTC), "by the clock of the client"


@pytest.mark.parametrize(("kind", "status"), [("primary", 403), ("secondary", 429)])
def test_a_rate_limit_that_a_fixture_asks_for(
    served: ServedHub, kind: Literal["primary", "secondary"], status: int
) -> None:
    """https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"""
    served.endpoint.limiter.rule = RateLimitRule(after=2, refuse=1, seconds=7, kind=kind)
    answers = [ask(served, "GET", "/user", Authorization=f"token {AUTHOR}") for _ in range(4)]
    assert [answer.status for answer, _ in answers] == [200, 200, status, 200]
    refused, content = answers[2]
    assert refused.headers["Retry-After"] == (None if kind == "primary" else "7")
    assert refused.headers["X-RateLimit-Remaining"] == ("0" if kind == "primary" else "4997")
    wait = int(refused.headers["X-RateLimit-Reset"]) - time.time()
    assert (wait < 8) == (kind == "primary")
    assert "rate-limits-for-the-rest-api" in json.loads(content)["documentation_url"]
    assert ask(served, "GET", "/user", Authorization=f"token {READER}")[0].status == 200, "limits are of a user"


def test_a_primary_limit_is_an_error_of_graphql(served: ServedHub) -> None:
    """https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api"""
    served.endpoint.limiter.rule = RateLimitRule(after=2, refuse=1)
    query = json.dumps({"query": "{viewer{login}}"})
    answers = [ask(served, "POST", "/graphql", query, Authorization=f"token {AUTHOR}") for _ in range(8)]
    bodies = [json.loads(content) for _, content in answers]
    assert [number for number, body in enumerate(bodies) if "errors" in body] == [2]
    assert bodies[2]["errors"][0]["type"] == "RATE_LIMITED"
    left = [(answer.status, answer.headers["X-RateLimit-Remaining"]) for answer, _ in answers]
    assert left[:3] == [(200, "1"), (200, "0"), (200, "0")]
    assert "0" not in dict(left[3:]).values(), "clients such as go-github would send nothing for an hour"
