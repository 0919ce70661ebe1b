"""Model access without a key: a job's identity at GitHub is exchanged for a token of the provider, as often as needed.

GitHub vouches for a job by a token that any step may ask for (`id-token: write`); a rule of the provider trusts such
tokens of a repository or an environment, and gives one of its own for some minutes. Both are held by the gateway alone.
"""

import asyncio
import json
import threading
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

import aiohttp
from pydantic import Field

from scylla_gha.model.record import Record

if TYPE_CHECKING:
    from anthropic.lib.credentials import TokenCache

RULE: Final = "ANTHROPIC_FEDERATION_RULE_ID"
ASKED_WITH: Final = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
_ORGANIZATION: Final = "ANTHROPIC_ORGANIZATION_ID"
_SERVICE_ACCOUNT: Final = "ANTHROPIC_SERVICE_ACCOUNT_ID"
_WORKSPACE: Final = "ANTHROPIC_WORKSPACE_ID"
_SECONDS: Final = 30.0
_LONGEST: Final = 64 * 1024


class Federation(Record):
    """Which rule, and where the job's identity is told."""

    rule: str
    organization: str
    service_account: str | None = None
    workspace: str | None = None
    request_url: str
    request_token: Annotated[str, Field(repr=False)]

    def identity(self, audience: str) -> str:
        """A fresh token of GitHub's that says which job this is.

        Raises:
            OSError: GitHub does not tell.
        """
        join = "&" if urllib.parse.urlsplit(self.request_url).query else "?"
        url = f"{self.request_url}{join}{urllib.parse.urlencode({'audience': audience})}"
        asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.request_token}"})  # noqa: S310 the runner's
        with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:  # noqa: S310 the same
            found = json.loads(answer.read(_LONGEST))
        token = found.get("value") if isinstance(found, dict) else None
        if not isinstance(token, str):
            raise OSError("GitHub's answer holds no token")
        return token


def federation_from(environ: Mapping[str, str]) -> Federation | None:
    """What the variables of a job say; None where they name no rule, or this job has no identity."""
    given = {name: environ.get(name, "").strip() for name in (RULE, _ORGANIZATION, *ASKED_WITH)}
    if not all(given.values()):
        return None
    url, token = (given[name] for name in ASKED_WITH)
    return Federation(
        rule=given[RULE],
        organization=given[_ORGANIZATION],
        service_account=environ.get(_SERVICE_ACCOUNT, "").strip() or None,
        workspace=environ.get(_WORKSPACE, "").strip() or None,
        request_url=url,
        request_token=token,
    )


class NoTokenError(aiohttp.ClientError):
    """There is no token to ask the provider with; nothing was asked."""


class Tokens:
    """The provider's tokens: each is kept while it holds, and exchanged anew before its end."""

    def __init__(self, federation: Federation, upstream: str) -> None:
        self._federation = federation
        self._upstream = upstream
        self._cache: TokenCache | None = None
        self._lock = threading.Lock()

    async def token(self) -> str:
        """One that holds.

        Raises:
            NoTokenError: GitHub or the provider gives none.
        """
        return await asyncio.to_thread(self._token)

    def _token(self) -> str:
        from anthropic import AnthropicError  # takes seconds, which only those wait for who have no key

        try:
            with self._lock:
                self._cache = self._cache or self._opened()
            return self._cache.get_token()
        except (AnthropicError, OSError, ValueError) as error:
            raise NoTokenError(f"no token by the federation rule {self._federation.rule}: {error}") from None

    def _opened(self) -> "TokenCache":
        from anthropic.lib.credentials import TokenCache, WorkloadIdentityCredentials

        one = self._federation
        exchange = WorkloadIdentityCredentials(
            identity_token_provider=lambda: one.identity(self._upstream),
            federation_rule_id=one.rule,
            organization_id=one.organization,
            service_account_id=one.service_account,
            workspace_id=one.workspace,
        )
        exchange.bind_base_url(self._upstream)
        return TokenCache(exchange)
