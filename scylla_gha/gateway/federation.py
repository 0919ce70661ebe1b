"""A provider without a stored key: who buys a short-lived token, with the identity that a platform gives a run.

Source: platform.claude.com/docs/en/manage-claude/workload-identity-federation (2026-11-22).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlencode, urlsplit

from pydantic import Field

from scylla_gha.model.record import Record
from scylla_gha.proxy.addresses import is_loopback

RULE: Final = "ANTHROPIC_FEDERATION_RULE_ID"
ORGANIZATION: Final = "ANTHROPIC_ORGANIZATION_ID"
FILE: Final = "ANTHROPIC_IDENTITY_TOKEN_FILE"
ASK: Final = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")  # set where a job has id-token: write
_AUDIENCE: Final = "https://api.anthropic.com"
_SECONDS: Final = 20


class Federation(Record):
    """Who exchanges, by which rule, and where the run's identity comes from: a file, or GitHub Actions."""

    rule: str
    organization: str
    service_account: str | None = None
    workspace: str | None = None
    file: Path | None = None
    url: str | None = None
    token: Annotated[str | None, Field(repr=False, description="that GitHub gives the job to ask for its identity")] = (
        None
    )

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Federation | None":
        """What an environment tells, by the SDK's own variables; None where it is not configured, or has no identity.

        What is not https, and not of this machine, is no place to send a token to.
        """
        rule, organization, file = (environ.get(name, "").strip() for name in (RULE, ORGANIZATION, FILE))
        url, token = (environ.get(name, "") for name in ASK)
        parts = urlsplit(url)
        asks = bool(token) and (parts.scheme == "https" or is_loopback(parts.hostname or ""))
        if not rule or not organization or not (file or asks):
            return None
        optional = (environ.get(f"ANTHROPIC_{name}_ID") or None for name in ("SERVICE_ACCOUNT", "WORKSPACE"))
        account, workspace = optional
        if file:
            return cls(rule=rule, organization=organization, service_account=account, workspace=workspace,
                       file=Path(file))  # fmt: skip
        return cls(rule=rule, organization=organization, service_account=account, workspace=workspace, url=url,
                   token=token)  # fmt: skip

    def identity(self) -> str:
        """The run's identity, a JWT that is good for minutes.

        Raises:
            OSError: it cannot be had.
            ValueError: what came is none.
        """
        if self.file is not None:
            return self.file.read_text(encoding="utf-8").strip()
        import urllib.request

        url = f"{self.url}&{urlencode({'audience': _AUDIENCE})}"
        asked = urllib.request.Request(url, headers={"authorization": f"Bearer {self.token}"})  # noqa: S310 checked above
        with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:  # noqa: S310
            found = json.load(answer)
        value = found.get("value") if isinstance(found, dict) else None
        if not isinstance(value, str):
            raise ValueError("GitHub's answer holds no identity")  # noqa: TRY004 no wrong use of a function
        return value
