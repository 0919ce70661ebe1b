"""REST interface of the hub: routes by method and path, requests, and answers as GitHub gives them.

A module for each noun registers its routes with `@route`; `docs/hub-contract.md` lists them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlencode

from scylla_gha.hub.addresses import API
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.records import Permission, RepositoryRecord, UserRecord

_MOST_ON_A_PAGE: Final = 100
_DEFAULT_ON_A_PAGE: Final = 30
_WITH_SLASHES: Final = ("path", "ref", "basehead", "branch", "tag", "dir", "name")
_NAMES: Final = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """Answer: `body` is sent as JSON, or `content` as it is; both None is an empty body."""

    status: int = 200
    body: Any = None
    content: bytes | None = None
    content_type: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RestRequest:
    """Request in a session; `params` are of the path, and `body` is its JSON object ({} without one)."""

    session: HubSession
    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case

    @property
    def user(self) -> UserRecord:
        """The user who asks.

        Raises:
            HubError: nobody is signed in.
        """
        return self.session.user

    def repository(self, permission: Permission = "read", message: str = "") -> RepositoryRecord:
        """Return the path's repository, in which the user must have a permission.

        Raises:
            HubError: 404 if it may not be read, else 403.
        """
        repository = self.session.repository(self.params["owner"], self.params["repo"])
        self.session.require(repository, permission, *([message] if message else []))
        return repository

    def number(self, name: str) -> int:
        """Return a whole number of the path.

        Raises:
            HubError: it is none, so that nothing has it.
        """
        text = self.params[name]
        if not (text.isascii() and text.isdecimal() and len(text) < 16):  # noqa: PLR2004 fits into 64 bits
            raise HubError(404, "Not Found")
        return int(text)

    def has(self, name: str) -> bool:
        """Return whether the body has a field, be it null."""
        return name in self.body

    def optional(self, name: str, kind: type[T]) -> T | None:
        """Return a field of the body; None if it is absent or null.

        Raises:
            HubError: 422, it is of another type.
        """
        value = self.body.get(name)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise HubError(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r:.80} is not of type "
                                f"{_NAMES.get(kind, kind.__name__)}.")  # fmt: skip
        return value

    def needed(self, name: str, kind: type[T]) -> T:
        """Return a field that the body must have.

        Raises:
            HubError: 422, it is absent, null or of another type.
        """
        if (value := self.optional(name, kind)) is None:
            raise HubError(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        return value

    def texts(self, name: str) -> list[str] | None:
        """Return a field of the body that is a list of texts; None if it is absent or null.

        Raises:
            HubError: 422, it is something else.
        """
        values = self.optional(name, list)
        if values is not None and any(not isinstance(value, str) for value in values):
            raise HubError(422, f"Invalid request.\n\nFor 'properties/{name}', an item is not a string.")
        return values

    def page(self, items: Sequence[T], present: Callable[[T], Any], key: str = "") -> RestAnswer:
        """Answer with the page of a list that the query asks for, with a Link header; under `key`, with its length."""
        size = min(_count(self.query.get("per_page"), _DEFAULT_ON_A_PAGE), _MOST_ON_A_PAGE)
        number = _count(self.query.get("page"), 1)
        shown = [present(item) for item in items[(number - 1) * size : number * size]]
        body = {"total_count": len(items), key: shown} if key else shown
        last = max(1, -(-len(items) // size))
        link = self._links(number, last)
        return RestAnswer(200, body, headers={"Link": link} if link else {})

    def _links(self, number: int, last: int) -> str:
        pages = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
        shown = {"prev", "first"} if number >= last else {"next", "last"}
        shown |= {"prev", "first"} if number > 1 else set()
        links = []
        for name, page in pages.items():
            if name in shown and last > 1 and page >= 1:
                query = urlencode({**self.query, "page": page})
                links.append(f'<{API}{self.path}?{query}>; rel="{name}"')
        return ", ".join(links)


def _count(text: str | None, default: int) -> int:
    number = int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else 0  # noqa: PLR2004
    return number or default


Handler = Callable[[RestRequest], RestAnswer]


@dataclass(frozen=True, slots=True)
class RestRoute:
    """Operation of the contract: `template` is GitHub's own, such as /repos/{owner}/{repo}/issues."""

    method: str
    template: str
    handler: Handler
    pattern: re.Pattern[str]

    @property
    def rank(self) -> tuple[int, int]:
        """Order of trial: templates with more fixed parts first."""
        parts = self.template.split("/")
        return (-sum(not part.startswith("{") for part in parts), -len(parts))


ROUTES: list[RestRoute] = []


def route(method: str, *templates: str) -> Callable[[Handler], Handler]:
    """Register a function for a method and paths in GitHub's notation."""

    def register(handler: Handler) -> Handler:
        ROUTES.extend(RestRoute(method, template, handler, path_pattern(template)) for template in templates)
        ROUTES.sort(key=lambda candidate: candidate.rank)
        return handler

    return register


def path_pattern(template: str) -> re.Pattern[str]:
    """Return the pattern of the raw paths that a template of GitHub stands for."""
    parts = re.split(r"\{(\w+)\}", template)
    text = "".join(
        (f"(?P<{part}>.*)" if part in _WITH_SLASHES else f"(?P<{part}>[^/]+)") if at % 2 else re.escape(part)
        for at, part in enumerate(parts)
    )
    return re.compile(text)


def find_route(method: str, path: str) -> tuple[RestRoute, dict[str, str]] | None:
    """Return the route of a request's raw path, and its decoded parameters; None if the contract has none."""
    for candidate in ROUTES:
        if candidate.method == method and (matched := candidate.pattern.fullmatch(path)):
            return candidate, {name: unquote(value) for name, value in matched.groupdict().items()}
    return None
