"""Operations that GitHub's REST API has, each with the page that documents it.

`operations.tsv.gz` lists those of npm's @octokit/openapi 23.0.2 (MIT, LICENSE-openapi.md);
`tests/support/openapi_operations.py` makes it. A request for one that the hub does not answer is a gap; one for
anything else is a mistake of the client, to which GitHub answers 404.
"""

import functools
import gzip
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scylla_gha.hub.rest import path_pattern

DOCUMENTATION: Final = "https://docs.github.com/rest"
_PACKED: Final = Path(__file__).with_name("operations.tsv.gz")
# Operations that GitHub has and does not describe, each with the one that answers alike.
UNDESCRIBED: Final[Mapping[str, str]] = {
    "GET /repos/{owner}/{repo}/contents": "GET /repos/{owner}/{repo}/contents/{path}",
    "GET /repos/{owner}/{repo}/git/refs": "GET /repos/{owner}/{repo}/git/matching-refs/{ref}",
    "GET /repos/{owner}/{repo}/git/refs/{ref}": "GET /repos/{owner}/{repo}/git/ref/{ref}",
    "GET /repos/{owner}/{repo}/tarball": "GET /repos/{owner}/{repo}/tarball/{ref}",
    "GET /repos/{owner}/{repo}/zipball": "GET /repos/{owner}/{repo}/zipball/{ref}",
    "GET /repos/{owner}/{repo}/statuses/{sha}": "GET /repos/{owner}/{repo}/commits/{ref}/statuses",
}


@functools.cache
def documented_operations() -> Mapping[str, str]:
    """Return the operations of GitHub, such as "GET /user", each with the page's part of the address."""
    lines = gzip.decompress(_PACKED.read_bytes()).decode().splitlines()
    return dict(line.split("\t") for line in lines)


def documentation_url(operation: str) -> str:
    """Return the address of the page that documents an operation; of all REST if GitHub has no such page."""
    page = documented_operations().get(UNDESCRIBED.get(operation, operation))
    return f"{DOCUMENTATION}/{page}" if page else DOCUMENTATION


def operation_of_github(method: str, path: str) -> str | None:
    """Return GitHub's operation for a request's raw path; None if GitHub has none."""
    for pattern, operation in _patterns().get(method, ()):
        if pattern.fullmatch(path):
            return operation
    return None


@functools.cache
def _patterns() -> Mapping[str, list[tuple[re.Pattern[str], str]]]:
    """Return the patterns of paths by method; they are compiled when a client first asks for what the hub has not."""
    patterns: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for operation in documented_operations():
        method, _, template = operation.partition(" ")
        patterns.setdefault(method, []).append((path_pattern(template), operation))
    return patterns
