"""Workload identity federation: the variables that configure it, and the exchange of the identity for tokens.

Only the gateway exchanges, so neither the identity nor the token is in another process. The SDK does the exchange and
the renewal. Source: platform.claude.com/docs/en/manage-claude/workload-identity-federation (2026-11-22).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scylla_gha.egress_proxy.addresses import is_loopback
from scylla_gha.providers.base import CredentialError
from scylla_gha.providers.federation import Federation

FEDERATION_RULE: Final = "ANTHROPIC_FEDERATION_RULE_ID"
_ORGANIZATION: Final = "ANTHROPIC_ORGANIZATION_ID"
_FILE: Final = "ANTHROPIC_IDENTITY_TOKEN_FILE"
# set if a job has id-token: write
REQUEST_VARIABLES: Final = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
_AUDIENCE: Final = "https://api.anthropic.com"


def federation_in(environ: Mapping[str, str]) -> Federation | None:
    """Read the SDK's variables; None if federation is not configured, or there is no identity.

    A URL for the identity must be https or on this machine, since a token is sent to it.
    """
    rule, organization, file = (environ.get(name, "").strip() for name in (FEDERATION_RULE, _ORGANIZATION, _FILE))
    url, token = (environ.get(name, "") for name in REQUEST_VARIABLES)
    parts = urlsplit(url)
    is_requestable = bool(token) and (parts.scheme == "https" or is_loopback(parts.hostname or ""))
    if not rule or not organization or not (file or is_requestable):
        return None
    account, workspace = (environ.get(f"ANTHROPIC_{name}_ID") or None for name in ("SERVICE_ACCOUNT", "WORKSPACE"))
    return Federation(
        rule=rule,
        organization=organization,
        service_account=account,
        workspace=workspace,
        file=Path(file) if file else None,
        url=None if file else url,
        token=None if file else token,
        audience=_AUDIENCE,
    )


class FederationToken:
    """The token of a federation, renewed before it expires."""

    def __init__(self, federation: Federation, base_url: str) -> None:
        from anthropic.lib.credentials import TokenCache, WorkloadIdentityCredentials

        credentials = WorkloadIdentityCredentials(
            identity_token_provider=federation.identity, federation_rule_id=federation.rule,
            organization_id=federation.organization, service_account_id=federation.service_account,
            workspace_id=federation.workspace,
        )  # fmt: skip
        credentials.bind_base_url(base_url)
        self._cache = TokenCache(credentials)

    async def token(self) -> str:
        """Return a valid token.

        Raises:
            CredentialError: none could be obtained.
        """
        from anthropic import AnthropicError

        try:
            return await self._cache.async_get_token()
        except (AnthropicError, OSError, ValueError) as error:
            raise CredentialError(
                f"the provider gives no token for this run's identity ({error}); check {FEDERATION_RULE}, "
                f"{_ORGANIZATION}, and the rule's conditions"
            ) from None
