"""Media types that a request may ask for: raw, html, object, diff, patch or sha instead of plain JSON."""

import base64
import re
from typing import Final

from scylla_gha.hub.rest import RestAnswer, RestRequest

_ACCEPTED: Final = re.compile(r"application/vnd\.github(?:\.v3)?\.(raw|html|object|diff|patch|sha|text|full)\b")
_TYPES: Final = {
    "diff": "application/vnd.github.diff; charset=utf-8",
    "patch": "application/vnd.github.patch; charset=utf-8",
    "sha": "application/vnd.github.sha; charset=utf-8",
    "raw": "application/vnd.github.raw; charset=utf-8",
    "html": "application/vnd.github.html; charset=utf-8",
}


def media_type(request: RestRequest) -> str:
    """Return the media type that the request's Accept header names, such as "raw"; "json" if it names none."""
    matched = _ACCEPTED.search(request.headers.get("accept", ""))
    return matched[1] if matched else "json"


def as_media(kind: str, content: bytes | str) -> RestAnswer:
    """Return content as it is, under the media type that was asked for."""
    return RestAnswer(200, content=content.encode() if isinstance(content, str) else content, content_type=_TYPES[kind])


def base64_lines(content: bytes) -> str:
    """Return content in base64, in lines of 60 characters as GitHub writes them."""
    text = base64.b64encode(content).decode()
    return "".join(f"{text[at : at + 60]}\n" for at in range(0, len(text), 60))
