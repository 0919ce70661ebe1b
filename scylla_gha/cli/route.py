"""How a provider is reached, and what a fault says of that way."""

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
    """How the provider is reached: its address, and the variables of the environment that say so."""

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
        """Why every request fares like one that met this fault; None where the next one may be answered."""
        if fault.startswith(UNREACHABLE):
            mend = f"check {_ADDRESS}" if self.is_given else "check the network, or HTTPS_PROXY"
            return f"{self.address} cannot be reached; {mend}"
        if fault.startswith(_REJECTED):
            return f"{self.address} rejects what {self.credential} gives ({fault}); correct it"
        return None
