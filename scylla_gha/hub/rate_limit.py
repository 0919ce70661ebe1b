"""Rate limits: the headers of every answer, and refusals when a fixture asks for them."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.rest import RestAnswer
from scylla_gha.hub.rest.dispatch import failure

Resource = Literal["core", "graphql", "search"]
_USUAL: Final = 5000
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class RateLimitRule:
    """Refusal that a fixture asks for: after `after` requests of a user the next `refuse` ones are refused.

    A primary limit answers 403 with no requests remaining, a secondary one 429 with Retry-After; both tell the client
    to wait `seconds`. Requests are counted, not time, so that a trial can be repeated.
    """

    after: int
    refuse: int
    seconds: int = 1
    kind: Literal["primary", "secondary"] = "primary"


@dataclass
class RateLimiter:
    """Counts of the requests of each user; without a rule nobody is refused."""

    rule: RateLimitRule | None = None
    _counts: Counter[str | None] = field(default_factory=Counter)
    _resource: Resource = "core"

    def checked(self, session: HubSession, resource: Resource) -> RestAnswer | None:
        """Count a request; return the answer if it is refused."""
        login = session.viewer.login if session.viewer else None
        self._counts[login] += 1
        self._resource = resource
        rule, count = self.rule, self._counts[login]
        if rule is None or not rule.after < count <= rule.after + rule.refuse:
            return None
        if rule.kind == "secondary":
            answer = failure(HubError(429, "You have exceeded a secondary rate limit. Please wait a few minutes before "
                                           "you try again."))  # fmt: skip
        else:
            answer = failure(HubError(403, f"API rate limit exceeded for user {login}."))
        return RestAnswer(answer.status, answer.body, headers={"Retry-After": str(rule.seconds)})

    def headers(self, login: str | None) -> dict[str, str]:
        """Return the headers about the limit that an answer to a user has."""
        used, limit, wait = self._counts[login], _USUAL, _HOUR
        if self.rule is not None and self.rule.kind == "primary":
            limit, last = self.rule.after, self.rule.after + self.rule.refuse
            wait = self.rule.seconds if limit <= used <= last else _HOUR
            used = used - last if used > last else used
        remaining = max(0, limit - used)
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Used": str(limit - remaining),
            "X-RateLimit-Reset": str(int(time.time()) + wait),
            "X-RateLimit-Resource": self._resource,
        }
