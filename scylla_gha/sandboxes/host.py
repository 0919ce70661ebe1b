"""The host itself: a scrubbed environment, a HOME of the trial's own, limits; no isolation of files or network."""

from typing import Final

from scylla_gha import proc
from scylla_gha.proc import Cancel, Finished, Limits, Streams
from scylla_gha.sandboxes.base import Box

# An allow-list: nothing of the harness's own environment reaches an agent or a check.
_FIXED: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "USER": "dev",
    "LOGNAME": "dev",
    "SHELL": "/bin/sh",
    # without a name, git refuses to commit, and a HOME that is empty has none
    "GIT_AUTHOR_NAME": "dev",
    "GIT_AUTHOR_EMAIL": "dev@example.com",
    "GIT_COMMITTER_NAME": "dev",
    "GIT_COMMITTER_EMAIL": "dev@example.com",
}


class HostSandbox:
    """Runs on the machine itself."""

    name: Final = "host"

    def run(
        self, argv: tuple[str, ...], box: Box, streams: Streams, limits: Limits, cancel: Cancel | None = None
    ) -> Finished:
        """Run a program with nothing in its environment but the box."""
        env = {**_FIXED, "PATH": box.path, "HOME": str(box.home), "TMPDIR": str(box.home), **box.extra}
        return proc.run(argv, cwd=box.cwd, env=env, streams=streams, limits=limits, cancel=cancel)
