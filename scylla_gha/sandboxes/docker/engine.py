"""Container engine: connection, removal of containers, and events."""

import contextlib
import functools
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scylla_gha.errors import SandboxError
from scylla_gha.system.process import LimitHit

if TYPE_CHECKING:
    from docker import APIClient

TOOLKIT_LABEL: Final = "io.scylla-gha"  # label of all objects that the toolkit makes in an engine
OWNER_LABEL: Final = "io.scylla-gha.owner"
_SOCKET: Final = "unix:///var/run/docker.sock"
_ANSWER_SECONDS: Final = 120  # within which the engine has to answer
_REMOVAL: Final = "removal of "
_EVENT_SECONDS: Final = 1.0  # within which an event follows its cause
_NANO: Final = 1e9
_MIN_VERSION: Final = (1, 41)  # API of engine 20.10, which has volumes of one container, and the log driver `none`


def connect() -> "APIClient":
    """Connect to the engine at `$DOCKER_HOST` or at the usual socket, for one thread.

    Raises:
        SandboxError: no engine answers, it is too old, or it is on another machine.
    """
    import docker
    from docker.errors import DockerException

    host = os.environ.get("DOCKER_HOST") or _SOCKET
    if not host.startswith("unix://"):
        raise SandboxError(
            f"DOCKER_HOST is {host!r}; the sandbox shares a socket with the engine, so the engine has to be on "
            "this machine: set DOCKER_HOST to unix:///PATH, or unset it"
        )
    try:
        with socket.socket(socket.AF_UNIX) as probe:  # the client would leave its socket open if nobody answers
            probe.connect(host.removeprefix("unix://"))
        api = docker.APIClient(base_url=host, version=_version(host), timeout=_ANSWER_SECONDS)
    except (OSError, DockerException) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SandboxError(
            f"no container engine answers at {host} ({why}); start one (on Debian and Ubuntu: "
            "apt-get install docker.io), join the group docker if it runs but may not be used, or set "
            "DOCKER_HOST to its socket"
        ) from None
    # A socket has no proxy, and searching the environment for one fails if another thread changes the environment.
    api.trust_env = False
    return api


@functools.cache
def _version(host: str) -> str:
    """Return the newest API version that both sides know; ask the engine once per process."""
    import docker

    with contextlib.closing(docker.APIClient(base_url=host, version="auto", timeout=_ANSWER_SECONDS)) as api:
        version: str = api.api_version
    if tuple(int(part) for part in version.split(".")) < _MIN_VERSION:
        raise SandboxError(
            f"the container engine at {host} has API version {version}, and 1.41 is needed; update it to "
            "Docker 20.10 or newer"
        )
    return version


def client_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the engine's client, which is imported only when an error has to be caught."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    return DockerException, RequestException


def answers() -> bool:
    """Return True if an engine can be used here; False also while it starts or ends."""
    with contextlib.suppress(SandboxError, OSError, *client_errors()), contextlib.closing(connect()) as api:
        return bool(api.ping())
    return False


@functools.cache
def owner() -> str:
    """Identify this process uniquely: boot, process namespace, id, and start time in clock ticks."""
    pid = os.getpid()
    return f"{_boot()}/{_namespace()}/{pid}/{_started(pid)}"


def is_gone(label: str) -> bool:
    """Return True if the process of an `owner` label has certainly ended.

    A process of another namespace of this boot cannot be looked up, so it counts as alive. Its containers end with it
    (see `supervisor`).
    """
    boot, namespace, pid, started = (label.split("/") + [""] * 4)[:4]
    if not pid.isdecimal() or boot != _boot():
        return True
    return namespace == _namespace() and _started(int(pid)) != started


def remove_stale(api: "APIClient") -> list[str]:
    """Remove the containers and volumes that killed harnesses left behind; return their names."""
    from docker.errors import APIError

    removed = []
    for container in api.containers(all=True, filters={"label": TOOLKIT_LABEL}):
        if is_gone(container["Labels"].get(OWNER_LABEL, "")):
            remove(api, container["Id"])
            removed.append(container["Names"][0].lstrip("/"))
    for volume in api.volumes(filters={"label": TOOLKIT_LABEL})["Volumes"] or ():
        if is_gone((volume["Labels"] or {}).get(OWNER_LABEL, "")):
            with contextlib.suppress(APIError):  # it is in use, or was removed meanwhile
                api.remove_volume(volume["Name"])
                removed.append(volume["Name"])
    return removed


def remove(api: "APIClient", container: str) -> None:
    """Remove a container in any state, with its volumes; do nothing if it is missing."""
    from docker.errors import APIError, NotFound

    try:
        api.remove_container(container, v=True, force=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # noqa: PLR2004 Conflict: the engine is removing it itself
            raise
        with contextlib.suppress(NotFound):
            api.wait(container, timeout=_ANSWER_SECONDS, condition="removed")


def remove_in_background(container: str) -> None:
    """Remove a container in a thread, since its removal takes as long as its start.

    Python waits for the thread before this process ends. If the engine cannot remove the container now, it ends with
    this process (see `supervisor`), and the engine or `remove_stale` removes it; the trial is not affected.
    """
    threading.Thread(target=_connect_and_remove, args=(container,), name=_REMOVAL + container).start()


def await_removals() -> None:
    """Wait for the threads of `remove_in_background`."""
    for thread in threading.enumerate():
        if thread.name.startswith(_REMOVAL):
            thread.join()


def _connect_and_remove(container: str) -> None:
    with contextlib.suppress(SandboxError, *client_errors()), contextlib.closing(connect()) as api:
        remove(api, container)


@functools.cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _started(pid: int) -> str:
    """Return the start time of a process in ticks since the boot; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


class ContainerEvents:
    """The engine's events of one container from now on. No process in the container can write them.

    They are received as they happen, since the engine keeps only the last 256 events of all containers. Events that
    happen while this process is stopped wait in the connection.
    """

    def __init__(self, api: "APIClient", name: str) -> None:
        self._api, self._name = api, name
        filters = {"type": ["container"], "container": [name], "event": ["exec_die", "oom", "kill", "die"]}
        # The engine answers a moment before it subscribes; `since` covers that moment.
        self._stream: Any = api.events(since=int(time.time()), filters=filters, decode=True)

    def close(self) -> None:
        """Receive no more events."""
        self._stream._response.close()

    def exited(self, process: str) -> float | None:
        """Return the time at which a process ended, by the monotonic clock; None if the engine does not state it."""
        for event in self._received(_EVENT_SECONDS):
            if event["Actor"]["Attributes"].get("execID") == process:
                seconds_ago: float = time.time() - event["timeNano"] / _NANO
                return time.monotonic() - seconds_ago
        return None

    def end(self) -> tuple[frozenset[LimitHit], str] | None:
        """Return the limits that ended the container, and a note; None if it runs. No events can be read afterwards.

        The container counts as lost if it was ended through the engine without a lack of memory, or if the engine does
        not know why it ended. Any other cause came from inside, such as a signal.
        """
        if self._runs():
            return None
        events = {event["Action"]: event for event in self._received(_EVENT_SECONDS)}
        if "die" not in events:
            return frozenset({LimitHit.LOST}), "the container is gone, and the engine does not state why"
        if "oom" in events:  # before "kill": on a busy machine, the engine may also report its own kill
            note = "the whole sandbox was ended for lack of memory, and its files are gone"
            return frozenset({LimitHit.MEMORY}), note
        if "kill" in events:
            return frozenset({LimitHit.LOST}), "the container was ended through the engine"
        code = events["die"]["Actor"]["Attributes"].get("exitCode", "unknown")
        return frozenset(), f"the whole sandbox was ended from inside (exit code {code}), and its files are gone"

    def _runs(self) -> bool:
        from docker.errors import NotFound

        try:
            return bool(self._api.inspect_container(self._name)["State"]["Running"])
        except NotFound:
            return False

    def _received(self, seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the events until now, and the events of the next `seconds`."""
        timer = threading.Timer(seconds, self._stream.close)
        timer.start()
        try:
            for event in self._stream:
                if event["Actor"]["Attributes"].get("name") == self._name:  # the engine matches names by prefix
                    yield event
        finally:
            timer.cancel()
