"""Requests of the users of a cell, counted against GitHub's rate limits, which refuse nobody by themselves."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal

Resource = Literal["core", "graphql", "search", "code_search", "integration_manifest"]
LIMITS: Final[dict[Resource, int]] = {
    "core": 5000, "search": 30, "graphql": 5000, "code_search": 10, "integration_manifest": 5000,
}  # fmt: skip
_ANONYMOUS: Final[dict[Resource, int]] = {"core": 60, "search": 10, "graphql": 0, "code_search": 0}
_PER_MINUTE: Final = frozenset({"search", "code_search"})


@dataclass(frozen=True, slots=True)
class RateUse:
    """Use of a limit by a user; `reset` is the time when it begins anew, in seconds since 1970."""

    limit: int
    used: int
    reset: int

    @property
    def remaining(self) -> int:
        """Requests that are left."""
        return max(0, self.limit - self.used)


@dataclass
class RateUsage:
    """Counts of requests by login (None: not signed in) and resource.

    A count begins anew before its limit is reached: clients such as go-github send nothing more when nothing is left.
    """

    _counts: Counter[tuple[str | None, Resource]] = field(default_factory=Counter)

    def add(self, login: str | None, resource: Resource) -> None:
        """Count a request."""
        self._counts[login, resource] += 1

    def of(self, login: str | None, resource: Resource) -> RateUse:
        """Return what a user has used. Times are of this machine's clock, with which clients compare them."""
        limit = LIMITS[resource] if login else _ANONYMOUS.get(resource, 0)
        used = self._counts[login, resource] % limit if limit else 0
        return RateUse(limit, used, int(time.time()) + (60 if resource in _PER_MINUTE else 3600))


def resource_of(path: str) -> Resource:
    """Return the resource against whose limit a request counts."""
    if path == "/graphql":
        return "graphql"
    if path.startswith("/search/"):
        return "code_search" if path == "/search/code" else "search"
    return "core"
