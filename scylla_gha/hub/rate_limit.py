"""Rate limits: the headers of every answer, and refusals when a fixture asks for them."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.hub.cell import Hub, HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.rate_usage import RateUse, Resource
from scylla_gha.hub.rest import RestAnswer
from scylla_gha.hub.rest.dispatch import failure

_PAGE: Final = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"
_SECONDARY: Final = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@dataclass(frozen=True, slots=True)
class RateLimitRule:
    """Refusal that a fixture asks for: after `after` requests of a user the next `refuse` ones are refused.

    A primary limit answers 403, or an error of GraphQL, with no requests remaining until X-RateLimit-Reset; a secondary
    one answers 429 with Retry-After. Both tell the client to wait `seconds`. Requests are counted, not time, so that a
    trial can be repeated.
    """

    after: int
    refuse: int
    seconds: int = 1
    kind: Literal["primary", "secondary"] = "primary"

    def refuses(self, count: int) -> bool:
        """Return whether the request of a user with this number is refused."""
        return self.after < count <= self.after + self.refuse


@dataclass
class RateLimiter:
    """Counts of the requests of each user; without a rule nobody is refused."""

    rule: RateLimitRule | None = None
    _counts: Counter[str | None] = field(default_factory=Counter)

    def checked(self, session: HubSession, resource: Resource) -> RestAnswer | None:
        """Count a request; return the answer if it is refused."""
        login = session.viewer.login if session.viewer else None
        session.hub.usage.add(login, resource)
        self._counts[login] += 1
        if self.rule is None or not self.rule.refuses(self._counts[login]):
            return None
        if self.rule.kind == "secondary":
            answer = failure(HubError(429, _SECONDARY), f"{_PAGE}#about-secondary-rate-limits")
            return RestAnswer(answer.status, answer.body, headers={"Retry-After": str(self.rule.seconds)})
        message = f"API rate limit exceeded for {f'user ID {session.viewer.id}' if session.viewer else '127.0.0.1'}."
        if resource == "graphql":
            return RestAnswer(200, {"errors": [{"type": "RATE_LIMITED", "message": message}]})
        return failure(HubError(403, message), _PAGE)

    def headers(self, hub: Hub, login: str | None, resource: Resource) -> dict[str, str]:
        """Return the headers about the limit that an answer to a user has."""
        use = hub.usage.of(login, resource) if self.rule is None else self._ruled(self.rule, hub, login, resource)
        return {
            "X-RateLimit-Limit": str(use.limit),
            "X-RateLimit-Remaining": str(use.remaining),
            "X-RateLimit-Used": str(use.used),
            "X-RateLimit-Reset": str(use.reset),
            "X-RateLimit-Resource": resource,
        }

    def _ruled(self, rule: RateLimitRule, hub: Hub, login: str | None, resource: Resource) -> RateUse:
        """Return the use of a limit as a rule has it: nothing is left until the last refusal, then always something."""
        if rule.kind == "secondary":
            return hub.usage.of(login, resource)
        used, last = self._counts[login], rule.after + rule.refuse
        if used > last:
            return RateUse(rule.after, (used - last) % rule.after, hub.usage.of(login, resource).reset)
        wait = rule.seconds if used >= rule.after else 3600
        return RateUse(rule.after, min(used, rule.after), int(time.time()) + wait)
