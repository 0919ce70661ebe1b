"""The host itself, with a minimal environment, the trial's own HOME, and limits, but no isolation of files or network.

Keys are exposed. The harness protects its own memory and environment, but the shell that started it has keys too, and
this user's files may have some. Root can read everything.
"""

import contextlib
import os
from pathlib import Path
from typing import ClassVar

from scylla_gha.model.experiment import SandboxName, TrialLimits
from scylla_gha.model.sandbox import Isolation
from scylla_gha.sandboxes.base import ENVIRONMENT, SandboxMounts
from scylla_gha.system import process
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams


class HostSandbox:
    """Sandbox that runs processes on the machine itself."""

    name: ClassVar[SandboxName] = "host"
    user: ClassVar[int] = os.getuid()
    isolation: ClassVar[Isolation] = Isolation(network="open", keys="exposed", files="open")
    has_network: ClassVar[bool] = True
    isolates_keys: ClassVar[bool] = False
    isolates_files: ClassVar[bool] = False
    needs_image: ClassVar[bool] = False
    limits_resources: ClassVar[bool] = False
    shares_folders: ClassVar[bool] = True
    allows_keys_in_actions: ClassVar[bool] = False

    def missing_reason(self) -> None:
        """Return None: the host can always be used."""

    def check(self) -> None:
        """Do nothing: the host can always be used."""

    def sized(self, limits: TrialLimits) -> "HostSandbox":  # noqa: ARG002 the Protocol's signature
        """Return this sandbox unchanged: it enforces no such limits."""
        return self

    def run(
        self,
        argv: tuple[str, ...],
        mounts: SandboxMounts,
        streams: ProcessStreams,
        limits: ProcessLimits,
        cancel: Cancel | None = None,
    ) -> FinishedProcess:
        """Run a program without the harness's environment."""
        for name, folder in mounts.programs.items():
            if Path(name).parent == Path("/"):
                with contextlib.suppress(FileExistsError):
                    (mounts.cwd.parent / Path(name).name).symlink_to(folder)
        home = str(mounts.home)
        env = {**ENVIRONMENT, "PATH": mounts.path, "HOME": home, "TMPDIR": home, **mounts.extra}
        return process.run(argv, cwd=mounts.cwd, env=env, streams=streams, limits=limits, cancel=cancel)
