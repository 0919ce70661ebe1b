"""The way to a provider: its address and credentials, and the faults that every request would meet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from scylla_gha.cli.credentials import BEARERS, KEY
from scylla_gha.gateway.evidence import UNREACHABLE
from scylla_gha.gateway.settings import ANTHROPIC

_ADDRESS: Final = "ANTHROPIC_BASE_URL"
_FEDERATION: Final = "ANTHROPIC_FEDERATION_RULE_ID"
_REJECTED: Final = ("401", "403")


@dataclass(frozen=True, slots=True)
class Route:
    """The way to the provider: its address, and the environment variables that set it."""

    address: str
    credential: str
    is_given: bool

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """The way that the gateway takes with this environment."""
        given = environ.get(_ADDRESS)
        credential = next((name for name in (KEY, *BEARERS) if environ.get(name)), _FEDERATION)
        return cls(given or ANTHROPIC, credential, bool(given))

    def dead_end(self, fault: str) -> str | None:
        """Return why every request would meet this fault; None if the next one may be answered."""
        if fault.startswith(UNREACHABLE):
            mend = f"check {_ADDRESS}" if self.is_given else "check the network, or HTTPS_PROXY"
            return f"{self.address} cannot be reached; {mend}"
        if fault.startswith(_REJECTED):
            return f"{self.address} rejects what {self.credential} gives ({fault}); correct it"
        return None
