"""Sandboxes in which agents and checks run; README.md tells how to add one."""

from typing import Final

from scylla_gha.sandboxes.base import Sandbox
from scylla_gha.sandboxes.bubblewrap import BubblewrapSandbox
from scylla_gha.sandboxes.docker import DockerSandbox
from scylla_gha.sandboxes.host import HostSandbox

# The sandbox that isolates most comes first.
SANDBOXES: Final[dict[str, Sandbox]] = {
    "docker": DockerSandbox(),
    "bubblewrap": BubblewrapSandbox(),
    "host": HostSandbox(),
}
