"""The token that a federation's identity buys.

Only the gateway does it, so neither the identity nor the token is ever in another process. The exchange and its renewal
are the SDK's.
"""

import aiohttp

from scylla_gha.gateway.federation import ORGANIZATION, RULE, Federation


class FederationError(aiohttp.ClientError):
    """No token could be had, so the provider cannot be asked."""


class Bearer:
    """The token of a federation, renewed before it ends."""

    def __init__(self, federation: Federation, upstream: str) -> None:
        from anthropic.lib.credentials import TokenCache, WorkloadIdentityCredentials

        credentials = WorkloadIdentityCredentials(
            identity_token_provider=federation.identity, federation_rule_id=federation.rule,
            organization_id=federation.organization, service_account_id=federation.service_account,
            workspace_id=federation.workspace,
        )  # fmt: skip
        credentials.bind_base_url(upstream)
        self._cache = TokenCache(credentials)

    async def token(self) -> str:
        """One that is good now.

        Raises:
            FederationError: there is none.
        """
        from anthropic import AnthropicError

        try:
            return await self._cache.async_get_token()
        except (AnthropicError, OSError, ValueError) as error:
            raise FederationError(f"this run's identity buys no token of the provider ({error}); check {RULE}, "
                                  f"{ORGANIZATION}, and the rule's conditions") from None  # fmt: skip
