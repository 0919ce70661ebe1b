"""A local server with the part of GitHub's REST API by which the toolkit writes.

Every request is held against GitHub's own description (openapi.py): what that does not allow is answered by 400 and
kept in `faults_of_ours`, which `serving` asserts to be empty.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from aiohttp import web

from tests.support.openapi import faults, find

REPOSITORY: Final = "octo-org/app"
TOKEN: Final = "ghp_" + "s3cret" * 6
BOT: Final = "scylla-bot"
FORK: Final = "stranger/app"
Parts = Mapping[str, str]
Told = dict[str, Any]


def sha(letter: str) -> str:
    return letter * 40


@dataclass(frozen=True)
class Broken:
    """An answer in the place of the next one to a request whose `METHOD /path` holds `at`."""

    status: int
    at: str = ""
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    done: bool = False  # the request is carried out first: only its answer is lost
    hangup: bool = False


@dataclass
class State:
    """State of the server, and the requests to it. Comments are keyed by their ids, issues and pulls by number."""

    login: str | None = BOT
    comments: dict[int, Told] = field(default_factory=dict)
    issues: dict[int, Told] = field(default_factory=dict)
    pulls: dict[int, Told] = field(default_factory=dict)
    rights: dict[str, str] = field(default_factory=dict)
    pushes: dict[str, list[Told]] = field(default_factory=dict)
    checks: list[Told] = field(default_factory=list)
    statuses: list[Told] = field(default_factory=list)
    reactions: list[tuple[int, str]] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    refs: dict[str, str] = field(default_factory=dict)
    annotated: set[str] = field(default_factory=set)
    runs: dict[int, Told] = field(default_factory=dict)
    artifacts: list[Told] = field(default_factory=list)
    dispatches: list[Told] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    before: dict[str, Callable[["State"], None]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    faults_of_ours: list[str] = field(default_factory=list)
    details: bool = True  # whether a dispatch is answered with its run, as older servers do not
    most: int = 100  # per page, whatever is asked for
    url: str = ""
    numbers: Iterator[int] = field(default_factory=lambda: count(1000))

    def comment(self, number: int, body: str, login: str = BOT, at: str = "2026-01-01T00:00:00Z") -> int:
        """Put a comment there, as if it had been written before."""
        made = next(self.numbers)
        self.comments[made] = {
            "id": made, "body": body, "user": {"login": login, "type": "User"}, "issue": number, "created_at": at,
            "updated_at": at, "html_url": f"https://github.com/{REPOSITORY}/issues/{number}#issuecomment-{made}",
        }  # fmt: skip
        return made

    def pull(self, number: int, head: str, *, repository: str | None = REPOSITORY, ref: str = "topic",
             pushed: str = "2026-01-01T00:00:00Z", state: str = "open") -> None:  # fmt: skip
        """Put a pull request there, its head pushed at a time."""
        repo = {"full_name": repository} if repository else None
        self.pulls[number] = {"number": number, "state": state, "head": {"sha": head, "ref": ref, "repo": repo},
                              "base": {"ref": "main", "sha": sha("b")}}  # fmt: skip
        if repository:
            self.pushes.setdefault(f"{repository}:refs/heads/{ref}", []).insert(0, {"after": head, "timestamp": pushed})

    def bodies(self, number: int) -> list[str]:
        return [one["body"] for one in self.comments.values() if one["issue"] == number]

    def writes(self) -> list[str]:
        return [one for one in self.asked if not one.startswith("GET ")]


@contextmanager
def serving(state: State) -> Iterator[State]:
    """Serve on a free port of loopback; every request must have been one that GitHub describes."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(_application(state), access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        state.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield state
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()
    assert state.faults_of_ours == []


def _application(state: State) -> web.Application:
    application = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        return await _handle(state, request)

    application.router.add_route("*", "/{path:.*}", handle)
    return application


async def _handle(state: State, request: web.Request) -> web.StreamResponse:
    line = f"{request.method} {request.path}"
    state.asked.append(line)
    for at in [each for each in state.before if each in line]:
        state.before.pop(at)(state)
    text = await request.text()
    wrong = _wrong(request, text)
    if wrong:
        state.faults_of_ours += wrong
        return web.json_response({"message": wrong[0]}, status=400)
    found = find(request.method, request.path)
    assert found is not None
    broken = next((each for each in state.broken if each.at in line), None)
    if broken is not None:
        state.broken.remove(broken)
        if not broken.done:
            return _fail(request, broken)
    status, told = _answer(state, found[0].name, {**request.query, **found[1]}, json.loads(text) if text else {})
    return _fail(request, broken) if broken else _page(state, request, status, told)


def _wrong(request: web.Request, text: str) -> list[str]:
    if request.headers.get("authorization") not in {f"token {TOKEN}", f"Bearer {TOKEN}"}:
        return ["not the token"]
    return faults(request.method, request.path, dict(request.query), json.loads(text) if text else None)


def _fail(request: web.Request, broken: Broken) -> web.StreamResponse:
    if broken.hangup:
        assert request.transport is not None
        request.transport.close()
    return web.json_response({"message": broken.message}, status=broken.status, headers=broken.headers)


def _page(state: State, request: web.Request, status: int, told: Any) -> web.StreamResponse:
    inside = next((name for name in ("check_runs", "workflow_runs") if isinstance(told, dict) and name in told), None)
    found = told[inside] if inside else told
    if told is None:
        return web.Response(status=status)
    if not isinstance(found, list):
        return web.json_response(told, status=status)
    page, size = int(request.query.get("page", 1)), min(state.most, int(request.query.get("per_page", 30)))
    part = found[(page - 1) * size : page * size]
    headers = {"Link": f'<{request.url.update_query(page=page + 1)}>; rel="next"'} if page * size < len(found) else {}
    return web.json_response({inside: part} if inside else part, headers=headers)


def _answer(state: State, name: str, given: Parts, body: Told) -> tuple[int, Any]:
    from tests.support.github_answers import ANSWERS, Call, not_found

    try:
        return ANSWERS[name](Call(state, given, body))
    except KeyError:
        return not_found()


def now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
