"""git over HTTP: fetches are answered by `git upload-pack`; pushes by `push`, so that GitHub's rules decide on them.

Both of git's programs are run as `git http-backend` runs them, without it: that saves a process a request.
"""

import re
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from scylla_gha.errors import ToolError
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.http_request import HubRequest
from scylla_gha.hub.push import GIT_LIMITS, packet, push
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.rest import RestAnswer
from scylla_gha.system.git import run_git_limited

_UPLOAD, _RECEIVE = "git-upload-pack", "git-receive-pack"
_PATH: Final = re.compile(r"/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack|HEAD|objects/.*)")
_PROTOCOL: Final = re.compile(r"version=[012]")


def git_operation(request: HubRequest) -> str | None:
    """Return the operation of a request of git, such as `git-upload-pack`; None if it is not one."""
    matched = _PATH.fullmatch(request.path)
    if matched is None:
        return None
    return f"info/refs {_service(request)[:60]}" if matched[3] == "info/refs" else matched[3][:100]


def _service(request: HubRequest) -> str:
    return dict(parse_qsl(request.query)).get("service", "dumb")


def answer_git(session: HubSession, request: HubRequest) -> RestAnswer:
    """Answer a request of which `git_operation` says that git sent it."""
    matched = _PATH.fullmatch(request.path)
    assert matched is not None  # noqa: S101 as promised
    owner, name, path = matched.groups()
    listing = path == "info/refs"
    service = _service(request) if listing else path
    if service not in (_UPLOAD, _RECEIVE) or request.method != ("GET" if listing else "POST"):
        return _text(HTTPStatus.FORBIDDEN, "Please upgrade your git client.")
    try:
        repository = _repository(session, owner, name, writing=service == _RECEIVE)
        if listing:
            return _advertise(session, repository, service, request)
        if service == _RECEIVE:
            return _result(service, push(session, repository, request.content))
        return _result(service, _run(session, repository, service, request))
    except HubError as error:
        return refusal(error)
    except ToolError as error:
        return _text(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))


def refusal(error: HubError) -> RestAnswer:
    """Return a refusal in the form that git understands; 401 asks for credentials."""
    headers = {"WWW-Authenticate": 'Basic realm="GitHub"'} if error.status == HTTPStatus.UNAUTHORIZED else {}
    return _text(error.status, error.message, headers)


def _repository(session: HubSession, owner: str, name: str, *, writing: bool) -> RepositoryRecord:
    """Return the repository of a request.

    Raises:
        HubError: the user may not do this with it; 401 if somebody who is signed in perhaps may.
    """
    repository = session.state.repository(owner, name)
    if session.viewer is None and (writing or repository is None or repository.private):
        raise HubError(401, "Invalid username or token. Password authentication is not supported for Git operations.")
    if repository is None or not session.may(repository, "read"):
        raise HubError(404, "Repository not found.")
    if writing and not session.may(repository, "write"):
        raise HubError(403, f"Permission to {owner}/{name}.git denied to {session.user.login}.")
    if writing and repository.archived:
        raise HubError(403, "This repository was archived so it is read-only.")
    return repository


def _run(session: HubSession, repository: RepositoryRecord, service: str, request: HubRequest, *options: str) -> bytes:
    version = request.headers.get("git-protocol", "")
    env = {"GIT_PROTOCOL": version} if service == _UPLOAD and _PROTOCOL.fullmatch(version) else {}
    return run_git_limited(session.git(repository).path, service.removeprefix("git-"), "--stateless-rpc", *options, ".",
                           stdin=request.content, limits=GIT_LIMITS, env=env)  # fmt: skip


def _advertise(session: HubSession, repository: RepositoryRecord, service: str, request: HubRequest) -> RestAnswer:
    output = _run(session, repository, service, request, "--advertise-refs")
    is_second = output.startswith(packet(b"version 2\n"))
    head = b"" if is_second else packet(f"# service={service}\n".encode()) + b"0000"
    return _result(service, head + output, "advertisement")


def _result(service: str, output: bytes, kind: str = "result") -> RestAnswer:
    return RestAnswer(200, content=output, content_type=f"application/x-{service}-{kind}",
                      headers={"Cache-Control": "no-cache, max-age=0, must-revalidate"})  # fmt: skip


def _text(status: int, message: str, headers: dict[str, str] | None = None) -> RestAnswer:
    content = f"{message}\n".encode()
    return RestAnswer(status, content=content, content_type="text/plain; charset=utf-8", headers=headers or {})
