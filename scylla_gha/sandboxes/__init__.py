"""Where agents and checks run. Only the host itself, for now."""

from typing import Final

from scylla_gha.sandboxes import host
from scylla_gha.sandboxes.base import Sandbox

SANDBOXES: Final[dict[str, Sandbox]] = {"host": host.HostSandbox()}
