"""The host codeload.github.com, which has archives of source code."""

import re
from typing import Final
from urllib.parse import parse_qs, unquote

from scylla_gha.hub.addresses import CODELOAD, CODELOAD_PATH
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.http_request import HubRequest
from scylla_gha.hub.operations.archives import may_download, source_archive
from scylla_gha.hub.rest import RestAnswer

_PATH: Final = re.compile(r"/([^/]+)/([^/]+)/(legacy\.)?(zip|tar\.gz)/(.+)")
_TYPES: Final = {"zip": "application/zip", "tar.gz": "application/x-gzip"}


def archive_path(request: HubRequest) -> str | None:
    """Return the path at codeload.github.com that a request asks for; None if it is for another host."""
    if f"https://{request.host}" == CODELOAD:
        return request.path
    is_below = request.path.startswith(f"{CODELOAD_PATH}/") and not request.host.endswith("github.com")
    return request.path.removeprefix(CODELOAD_PATH) if is_below else None


def answer_archive(session: HubSession, path: str, query: str) -> RestAnswer:
    """Return the archive that a path asks for, or 404."""
    matched = _PATH.fullmatch(unquote(path))
    repository = session.state.repository(matched[1], matched[2]) if matched else None
    token = parse_qs(query).get("token", [""])[0]
    if matched is None or repository is None or not may_download(session, repository, token):
        return _missing()
    form = matched[4]
    archive = source_archive(session, repository, form, matched[5], by_commit=matched[3] is not None)
    if archive is None:
        return _missing()
    headers = {"Content-Disposition": f"attachment; filename={archive.title}.{form}"}
    return RestAnswer(200, content=archive.content, content_type=_TYPES[form], headers=headers)


def _missing() -> RestAnswer:
    return RestAnswer(404, content=b"404: Not Found", content_type="text/plain; charset=utf-8")
