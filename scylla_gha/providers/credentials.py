"""Credentials of a provider: a key, a bearer token, or an identity that is exchanged for tokens."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Protocol
from urllib.parse import urlencode

from pydantic import Field

from scylla_gha.model import Record

_IDENTITY_SECONDS: Final = 20


class CredentialError(Exception):
    """Failure to obtain a token for requests to the provider."""


class Federation(Record):
    """Exchange of the run's identity for a token: rule, and the identity's source (a file, or GitHub Actions)."""

    rule: str
    organization: str
    service_account: str | None = None
    workspace: str | None = None
    file: Path | None = None
    url: str | None = None
    audience: Annotated[str, Field(description="Audience of the requested identity")] = ""
    token: Annotated[str | None, Field(repr=False, description="Token for requesting the job's identity")] = None

    def identity(self) -> str:
        """Return the run's identity, a JWT that is valid for minutes.

        Raises:
            OSError: it cannot be read or requested.
            ValueError: the answer does not contain it.
        """
        if self.file is not None:
            return self.file.read_text(encoding="utf-8").strip()
        import urllib.request

        url = f"{self.url}&{urlencode({'audience': self.audience})}"
        request = urllib.request.Request(url, headers={"authorization": f"Bearer {self.token}"})  # noqa: S310 see federation_in
        with urllib.request.urlopen(request, timeout=_IDENTITY_SECONDS) as response:  # noqa: S310
            answer = json.load(response)
        value = answer.get("value") if isinstance(answer, dict) else None
        if not isinstance(value, str):
            raise ValueError("GitHub's answer contains no identity")  # noqa: TRY004 not a wrong argument
        return value


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials in an environment: a key, a bearer token or an identity to exchange; all None if there is none."""

    api_key: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)
    federation: Federation | None = None

    def __bool__(self) -> bool:
        """Tell if any credential is set."""
        return bool(self.api_key or self.bearer or self.federation)


class TokenSource(Protocol):
    """Source of short-lived tokens."""

    async def token(self) -> str:
        """Return a valid token.

        Raises:
            CredentialError: no token could be obtained.
        """
