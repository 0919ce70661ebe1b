"""The container engine: how it is found, and what of a harness that is no more is removed from it."""

import contextlib
import functools
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scylla_gha.errors import SandboxError

if TYPE_CHECKING:
    from docker import APIClient

OURS: Final = "io.scylla-gha"  # the label of everything that the toolkit makes in an engine
OWNER: Final = "io.scylla-gha.owner"
_SOCKET: Final = "unix:///var/run/docker.sock"
_SECONDS: Final = 120  # that the engine may take to answer
_REMOVAL: Final = "removal of "
_OLDEST: Final = (1, 41)  # engine 20.10: volumes of a container's own, and a `none` log


def connect() -> "APIClient":
    """A connection to the engine at `$DOCKER_HOST`, or at the usual socket; for one thread.

    Raises:
        SandboxError: no engine answers, it is too old, or it is on another machine.
    """
    import docker
    from docker.errors import DockerException

    host = os.environ.get("DOCKER_HOST") or _SOCKET
    if not host.startswith("unix://"):
        raise SandboxError(f"DOCKER_HOST is {host!r}; the sandbox shares a socket with the engine, so it has to be on "
                        "this machine: set it to unix:///PATH, or unset it")  # fmt: skip
    try:
        with socket.socket(socket.AF_UNIX) as probe:  # the client would leave its own open where nobody answers
            probe.connect(host.removeprefix("unix://"))
        api = docker.APIClient(base_url=host, version=_version(host), timeout=_SECONDS)
    except (OSError, DockerException) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SandboxError(f"no container engine answers at {host} ({why}); start one (on Debian and Ubuntu: "
                        "apt-get install docker.io), join the group docker if it runs but may not be used, or set "
                        "DOCKER_HOST to its socket") from None  # fmt: skip
    # No proxy leads to a socket; and to look for one in the environment fails where another thread changes that.
    api.trust_env = False
    return api


@functools.cache
def _version(host: str) -> str:
    """The newest version of the interface that both sides know; asked once a process."""
    import docker

    with contextlib.closing(docker.APIClient(base_url=host, version="auto", timeout=_SECONDS)) as api:
        version: str = api.api_version
    if tuple(int(part) for part in version.split(".")) < _OLDEST:
        raise SandboxError(f"the container engine at {host} speaks version {version} of its interface, and 1.41 is "
                        "needed; update it to Docker 20.10 or newer")  # fmt: skip
    return version


def answers() -> bool:
    """Whether an engine can be used here; one that is just starting or ending cannot."""
    from docker.errors import DockerException

    try:
        with contextlib.closing(connect()) as api:
            return bool(api.ping())
    except (SandboxError, OSError, DockerException):
        return False


@functools.cache
def owner() -> str:
    """This process, as no other process ever: boot, process namespace, id, and start time in clock ticks."""
    pid = os.getpid()
    return f"{_boot()}/{_namespace()}/{pid}/{_started(pid)}"


def is_gone(label: str) -> bool:
    """Whether the process that an `owner` label tells has ended for sure.

    A process of another namespace of this boot cannot be looked up from here, so it counts as living; what belongs to
    it ends by itself, see `keeper`.
    """
    boot, namespace, pid, started = (label.split("/") + [""] * 4)[:4]
    if not pid.isdecimal() or boot != _boot():
        return True
    return namespace == _namespace() and _started(int(pid)) != started


def reap(api: "APIClient") -> list[str]:
    """Remove the containers, with their volumes, of harnesses that were killed; their names."""
    return list(_reap_containers(api)) + list(_reap_volumes(api))


def _reap_containers(api: "APIClient") -> Iterator[str]:
    for found in api.containers(all=True, filters={"label": OURS}):
        if is_gone(found["Labels"].get(OWNER, "")):
            remove(api, found["Id"])
            yield found["Names"][0].lstrip("/")


def _reap_volumes(api: "APIClient") -> Iterator[str]:
    from docker.errors import APIError

    for found in api.volumes(filters={"label": OURS})["Volumes"] or ():
        if is_gone((found["Labels"] or {}).get(OWNER, "")):
            with contextlib.suppress(APIError):  # in use, or removed by somebody else
                api.remove_volume(found["Name"])
                yield found["Name"]


def remove(api: "APIClient", container: str) -> None:
    """Remove a container and its volumes, whatever state it is in; one that is not there is removed already."""
    from docker.errors import APIError, NotFound

    try:
        api.remove_container(container, v=True, force=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # noqa: PLR2004 Conflict: the engine is removing it itself
            raise
        with contextlib.suppress(NotFound):
            api.wait(container, timeout=_SECONDS, condition="removed")


def remove_behind(container: str) -> None:
    """Remove a container while the caller goes on, since that takes as long as to start one.

    This process does not end before it is gone, as Python waits for such a thread. One that the engine cannot remove
    now ends by itself, see `keeper`, is then removed by the engine, and else by `reap`; it is no fault of the trial.
    """
    threading.Thread(target=_removed, args=(container,), name=_REMOVAL + container).start()


def await_removals() -> None:
    """Wait until what `remove_behind` was told to remove is gone."""
    for thread in threading.enumerate():
        if thread.name.startswith(_REMOVAL):
            thread.join()


def _removed(container: str) -> None:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    with contextlib.suppress(DockerException, RequestException, SandboxError), contextlib.closing(connect()) as api:
        remove(api, container)


@functools.cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _started(pid: int) -> str:
    """When a process started, in ticks since the boot; empty where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
