"""A local server with the few endpoints of GitHub's REST API that the toolkit asks, and faults from a script."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.openapi import faults

REPOSITORY, TOKEN = "octo-org/app", "ghp_" + "s3cret" * 6
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def on(day: float) -> datetime:
    return FIRST_DAY + timedelta(days=day)


def sha(number: int) -> str:
    """The commit that the merge of a pull request made, or another commit, by its number."""
    return f"{number:02d}" + "ab" * 19


@dataclass(frozen=True)
class Closed:
    """A closed pull request; merged, unless that is None."""

    number: int
    merged: datetime | None
    title: str = "A change"
    body: str | None = None
    labels: tuple[str, ...] = ()
    author: str | None = "octocat"
    base: str = "main"
    updated: datetime | None = None


@dataclass(frozen=True)
class Fault:
    """An answer in the place of the next one to a path with `at` in it."""

    status: int
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    at: str = ""
    body: str | None = None
    hang: bool = False


@dataclass
class GitHub:
    """State of the server, and the requests that it was sent."""

    pulls: Sequence[Closed] = ()
    commits: Sequence[tuple[str, datetime, str]] = ()
    brought: Mapping[str, Sequence[int]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    url: str = ""
    asked: list[str] = field(default_factory=list)
    most: int = 5  # per page, whatever is asked for: there are always several pages
    ended: threading.Event = field(default_factory=threading.Event)
    wrong: list[str] = field(default_factory=list)  # requests that GitHub's own description does not allow

    def fault(self, path: str) -> Fault | None:
        found = next((each for each in self.faults if each.at in path), None)
        if found is not None:
            self.faults.remove(found)
        return found

    def answer(self, path: str, query: Mapping[str, str]) -> Any:
        """The whole list or thing at a path; None where there is none."""
        root = f"/repos/{REPOSITORY}"
        if path == root:
            return {"full_name": REPOSITORY, "default_branch": "main", "url": f"{self.url}{root}"}
        if path == f"{root}/pulls":
            assert (query["state"], query["sort"], query["direction"]) == ("closed", "updated", "desc")
            found = sorted(self.pulls, key=_updated, reverse=True)
            return [_pull(each) for each in found if each.base == query["base"]]
        if path == f"{root}/commits":
            since, until = (datetime.fromisoformat(query[name]) for name in ("since", "until"))
            return [_commit(*each) for each in self.commits if since <= each[1] <= until]
        if path.startswith(f"{root}/commits/") and path.endswith("/pulls"):
            numbers = self.brought.get(path.split("/")[-2])
            return None if numbers is None else [_pull(each) for each in self.pulls if each.number in numbers]
        return None


def _updated(pull: Closed) -> datetime:
    return pull.updated or pull.merged or FIRST_DAY


def _pull(pull: Closed) -> dict[str, Any]:
    return {
        "number": pull.number, "title": pull.title, "body": pull.body, "state": "closed", "base": {"ref": pull.base},
        "user": {"login": pull.author} if pull.author else None, "labels": [{"name": name} for name in pull.labels],
        "merged_at": _stamp(pull.merged), "updated_at": _stamp(_updated(pull)), "merge_commit_sha": sha(pull.number),
    }  # fmt: skip


def _commit(name: str, at: datetime, message: str) -> dict[str, Any]:
    return {"sha": name, "commit": {"message": message, "committer": {"name": "x", "date": _stamp(at)}}}


def _stamp(at: datetime | None) -> str | None:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


@contextmanager
def serve(github: GitHub) -> Iterator[GitHub]:
    """Serve on a free port of loopback."""

    class Handler(_Handler):
        served = github

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    github.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield github
    finally:
        github.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
    assert github.wrong == []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: GitHub

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
        """Say nothing."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.served.asked.append(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.served.wrong += faults("GET", parts.path, asked)
        fault = self.served.fault(self.path)
        if fault is not None:
            self._fail(fault)
        elif self.headers.get("authorization") not in {None, f"token {TOKEN}", f"Bearer {TOKEN}"}:
            self._send(401, {"message": "Bad credentials"})
        else:
            self._answer(parts.path, asked)

    def _fail(self, fault: Fault) -> None:
        if fault.hang:
            self.served.ended.wait(60)
            self.close_connection = True
        else:
            self._send(fault.status, {"message": fault.message} if fault.body is None else fault.body, fault.headers)

    def _answer(self, path: str, query: Mapping[str, str]) -> None:
        found = self.served.answer(path, query)
        if found is None:
            status, message = (422, "No commit found for SHA") if path.endswith("/pulls") else (404, "Not Found")
            self._send(status, {"message": message})
        elif isinstance(found, list):
            self._page(path, query, found)
        else:
            self._send(200, found)

    def _page(self, path: str, query: Mapping[str, str], found: list[Any]) -> None:
        page = int(query.get("page", "1"))
        asked = {name: value for name, value in query.items() if name != "page"}
        following = "&".join([*(f"{name}={value}" for name, value in asked.items()), f"page={page + 1}"])
        link = (
            {"Link": f'<{self.served.url}{path}?{following}>; rel="next"'}
            if page * self.served.most < len(found)
            else {}
        )
        self._send(200, found[(page - 1) * self.served.most : page * self.served.most], link)

    def _send(self, status: int, content: object, headers: Mapping[str, str] | None = None) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
