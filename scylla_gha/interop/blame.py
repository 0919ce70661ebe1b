"""Whose doing an exception of another harness was: by its type first, then by words of its message.

| an exception | outcome |
|---|---|
| `AgentTimeoutError` | timeout |
| a type that names the verifier or a reward | judge_error |
| a type that names environment, sandbox, container, image or the agent's setup | sandbox_error |
| a cancelled task, an interrupted run | cancelled |
| a rate limit, an overload, a lost connection, a refused key, a status of 429 or 5xx | provider_error |
| all else, as an agent's exit code | agent_error |
"""

import re
from typing import Final

from scylla_gha.model.trial import Outcome

_BY_TYPE: Final = (
    (re.compile(r"^(AgentTimeout|TimeLimit)", re.IGNORECASE), Outcome.TIMEOUT),
    (re.compile(r"verifier|reward|scorer", re.IGNORECASE), Outcome.JUDGE_ERROR),
    (re.compile(r"environment|sandbox|container|image|agentsetup|docker", re.IGNORECASE), Outcome.SANDBOX_ERROR),
    (re.compile(r"cancel|KeyboardInterrupt", re.IGNORECASE), Outcome.CANCELLED),
)
_PROVIDER: Final = re.compile(
    r"rate.?limit|overloaded|too many requests|service.?unavailable|bad gateway|api.?connection|api.?timeout|"
    r"internal.?server.?error|authentication.?error|api.?status|insufficient.?quota|credit balance|"
    r"\b(error|status|code|http)\W{0,9}(429|5\d\d)\b",
    re.IGNORECASE,
)


def blame(kind: str, message: str) -> Outcome:
    """The outcome of a trial that an exception ended."""
    for pattern, outcome in _BY_TYPE:
        if pattern.search(kind):
            return outcome
    return Outcome.PROVIDER_ERROR if _PROVIDER.search(f"{kind}: {message}") else Outcome.AGENT_ERROR
