"""Where agents and checks run: on the host itself, in boxes of namespaces, or in containers."""

from typing import Final

from scylla_gha.sandboxes import bubblewrap, docker, host
from scylla_gha.sandboxes.base import Sandbox

SANDBOXES: Final[dict[str, Sandbox]] = {
    "host": host.HostSandbox(),
    "bubblewrap": bubblewrap.BubblewrapSandbox(),
    "docker": docker.DockerSandbox(),
}
