"""Sandbox of kernel namespaces, made by `bwrap`, for machines without a container engine.

| | access of a process |
|---|---|
| processes | only its own: it cannot see, trace or signal processes of the harness |
| files | reads programs, some files of /etc, pinned tools and the agent's program; writes workspace, HOME and /tmp |
| names | fixed names of folders, which do not contain the toolkit, its scenarios or the cell |
| network | its own loopback; the gateway through its socket if the mounts have sockets |
| rights | a user of its own namespace without capabilities, who cannot get any and cannot make another namespace |

Unlike Docker, it has no image of its own (programs are those of this machine), no limit on memory, no limit on
processes if the harness is root, and no limit on disk except for /tmp. If the harness is root, the user number inside
is root's in the kernel. So system settings in /proc, which check only that number, are read-only.
"""

import contextlib
import functools
import json
import os
import select
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

import scylla_gha
from scylla_gha.config.library import toolkit_root
from scylla_gha.errors import SandboxError, ToolError
from scylla_gha.model.experiment import SandboxName, TrialLimits
from scylla_gha.model.sandbox import Isolation
from scylla_gha.sandboxes import bubblewrap_entry, confine
from scylla_gha.sandboxes.base import (
    SOCKETS,
    WORKSPACE,
    SandboxMounts,
    environment,
    fixed_names,
    forwarded_ports,
    temporary,
    translate_paths,
)
from scylla_gha.sandboxes.docker import supervisor
from scylla_gha.system import process
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams

_INSIDE: Final = "/run/box"
# The sandbox's own programs, by their names inside.
_PROGRAMS: Final = {"entry.py": bubblewrap_entry, "supervisor.py": supervisor, "confine.py": confine}
_TOOLS: Final = "/opt/tools"
_AGENT: Final = "/opt/agent"
_USER: Final = 1000
_SCRATCH_BYTES: Final = 512 * 1024 * 1024  # of /tmp, which is in memory
_SIGNAL_BASE: Final = 128  # a shell reports the signal that ended a process as 128 plus its number
_END_SECONDS: Final = 10.0
_PROBE_SECONDS: Final = 20.0
# TERM is ignored until the entry program restores it for the agent. Otherwise it would end bubblewrap, and with it the
# sandbox, before the agent could tidy up. Descriptor 9 is for bubblewrap's status; bubblewrap closes it inside.
_START: Final = 'exec 9>"$1"; shift; trap "" TERM; exec "$@"'
_NAMESPACES: Final = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--unshare-net",
    "--disable-userns",
    "--uid",
    str(_USER),
    "--gid",
    str(_USER),
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--hostname",
    "box",
)
_ETC_FILES: Final = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "pki/tls/certs",
    "localtime",
    "nsswitch.conf",
    "hosts",
    "passwd",
    "group",
    "protocols",
    "services",
    "mime.types",
    "os-release",
    "debian_version",
    "fonts",
    "chromium.d",
)
_SYSTEM_FOLDERS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PROC_SETTINGS: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver", "mtrr", "pressure")


class BubblewrapSandbox:
    """Sandbox that runs each process in fresh namespaces."""

    name: ClassVar[SandboxName] = "bubblewrap"
    user: ClassVar[int] = _USER
    isolation: ClassVar[Isolation] = Isolation(network="gateway", keys="hidden", files="own")
    has_network: ClassVar[bool] = False
    isolates_keys: ClassVar[bool] = True
    isolates_files: ClassVar[bool] = True
    needs_image: ClassVar[bool] = False
    limits_resources: ClassVar[bool] = False
    shares_folders: ClassVar[bool] = True
    allows_keys_in_actions: ClassVar[bool] = False

    def missing_reason(self) -> str | None:
        """Return why namespaces cannot be made here, and what to do; None if they can."""
        return _missing_reason(shutil.which("bwrap"))

    def check(self) -> None:
        """Check that namespaces can be made.

        Raises:
            SandboxError: namespaces cannot be made here.
        """
        if reason := self.missing_reason():
            raise SandboxError(reason)

    def sized(self, limits: TrialLimits) -> "BubblewrapSandbox":  # noqa: ARG002 the Protocol's signature
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
        """Run a program in fresh namespaces; its processes end with it.

        If a signal ends the sandbox, for instance because memory is short, the program counts as ended by that signal.

        Raises:
            SandboxError: bubblewrap is missing, or may not make namespaces here.
        """
        self.check()
        names = {**_program_names(mounts.program or argv[0], mounts.path), **fixed_names(mounts)}
        env = {**environment(mounts, names), "PATH": translate_paths(mounts.path, names)}
        with temporary() as folder:
            status_file = folder / "status"
            inner = tuple(translate_paths(arg, names) for arg in (_resolved(argv[0]), *argv[1:]))
            command = _command(inner, mounts, names, _copy_programs(folder))
            wrapped = ("/bin/sh", "-c", _START, "sh", str(status_file), *command)
            finished = process.run(wrapped, cwd=mounts.cwd, env=env, streams=streams, limits=limits, cancel=cancel)
            status = _read_status(status_file)
            _kill_first_process(status)
        if "exit-code" not in status and finished.code >= 0 and not (finished.timed_out or finished.cancelled):
            reason = streams.stderr.read_bytes()[-300:].decode(errors="replace").strip()
            raise SandboxError(f"bubblewrap made no sandbox (exit code {finished.code}): {reason}")
        return replace(finished, code=_SIGNAL_BASE - finished.code) if finished.code > _SIGNAL_BASE else finished


@functools.cache
def _missing_reason(program: str | None) -> str | None:
    """Try `bwrap` once per process of the harness."""
    if program is None:
        return "bubblewrap is not installed; on Debian and Ubuntu: apt-get install bubblewrap"
    try:
        attempt = process.capture([program, *_NAMESPACES, *_system_mounts(), "true"], seconds=_PROBE_SECONDS)
    except ToolError as error:
        return str(error)
    if attempt.code == 0:
        return None
    return (
        f"bubblewrap cannot make a sandbox here ({attempt.message[-200:]}): install version 0.8 or newer, and allow "
        "this user to make user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or "
        "kernel.unprivileged_userns_clone=1)"
    )


def _command(
    argv: tuple[str, ...], mounts: SandboxMounts, names: Mapping[Path, str], programs: Path
) -> tuple[str, ...]:
    return (
        shutil.which("bwrap") or "bwrap",
        "--json-status-fd",
        "9",
        "--as-pid-1",
        *_NAMESPACES,
        *_system_mounts(),
        *_trial_mounts(mounts, names, programs),
        "--chdir",
        WORKSPACE,
        "--",
        str(_python()),
        "-I",
        "-S",
        f"{_INSIDE}/entry.py",
        json.dumps(forwarded_ports(mounts)),
        *argv,
    )


def _copy_programs(folder: Path) -> Path:
    """Copy the sandbox's own programs, since a process inside can read the paths of its mounts on the host."""
    programs = folder / "own"
    programs.mkdir()
    for name, module in _PROGRAMS.items():
        shutil.copyfile(str(module.__file__), programs / name)
    return programs


def _python() -> Path:
    """Return the Python on which this virtual environment is based, since the environment contains the toolkit."""
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return python.resolve() if python.exists() else Path(sys.executable).resolve()


def _system_mounts() -> Iterator[str]:
    """Yield the arguments that mount this machine's system files, which every sandbox has."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.exists():
            yield from ("--ro-bind", str(path), str(path))
    for name in _ETC_FILES:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev")
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108
        yield from ("--size", str(_SCRATCH_BYTES), "--tmpfs", folder)
    yield from ("--remount-ro", "/dev")
    for name in _PROC_SETTINGS:
        if Path("/proc", name).exists():
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")


def _program_names(program: str, search_path: str) -> dict[Path, str]:
    """Return the paths inside the sandbox of Python, the pinned tools and the agent's program."""
    python = _python().parent.parent
    names = {} if _is_system_path(python) else {python: str(python)}
    tools = [path.parent if path.name == "bin" else path for path in map(Path, search_path.split(":"))]
    for path in dict.fromkeys(tools):
        if path.is_absolute() and not _is_system_path(path) and path not in names:
            names[path] = f"{_TOOLS}{len(names) or ''}" if _TOOLS in names.values() else _TOOLS
    real = Path(_resolved(program))
    if real.is_absolute() and not _is_system_path(real) and real.exists():
        package = _installed_folder(real)
        names[package] = f"{_AGENT}/{package.name}"
    return names


def _resolved(program: str) -> str:
    """Return a program's real path; a path of the system stays as it is."""
    path = Path(program)
    return program if not path.is_absolute() or _is_system_path(path) else str(path.resolve())


def _hide_toolkit(mounted: Iterable[Path]) -> Iterator[str]:
    """Yield the arguments that hide the toolkit and its solutions if it is installed in a mounted folder."""
    for folder in {Path(scylla_gha.__file__).resolve().parent, toolkit_root().resolve()}:
        if _is_system_path(folder) or any(folder.is_relative_to(root) for root in mounted):
            yield from ("--tmpfs", str(folder))


def _installed_folder(program: Path) -> Path:
    """Return the folder of npm packages or the virtual environment of a program, or the program itself."""
    if "node_modules" in program.parts:
        return Path(*program.parts[: program.parts.index("node_modules") + 1])
    environments = (folder for folder in program.parents if (folder / "pyvenv.cfg").is_file())
    return next(environments, program)


def _is_system_path(path: Path) -> bool:
    return path == Path("/") or path.parts[1] in {"usr", *_SYSTEM_FOLDERS}


def _trial_mounts(mounts: SandboxMounts, names: Mapping[Path, str], programs: Path) -> Iterator[str]:
    """Yield the arguments that mount the trial's folders, last, so that no other mount covers them."""
    folders = fixed_names(mounts)
    for folder, name in names.items():
        if folder not in folders:
            yield from ("--ro-bind-try", str(folder), name)
    yield from _hide_toolkit(names.keys() - folders.keys())
    yield from ("--ro-bind", str(programs), _INSIDE)
    if mounts.sockets:
        yield from ("--ro-bind", str(mounts.sockets), SOCKETS)
    for name, folder in {**mounts.programs, **mounts.managed}.items():
        yield from ("--ro-bind", str(folder), name)
    for folder, name in folders.items():
        yield from ("--bind" if folder in {mounts.cwd, mounts.home} else "--ro-bind", str(folder), name)
    yield from ("--remount-ro", "/")


def _read_status(path: Path) -> dict[str, int]:
    """Read bubblewrap's status: the first process inside, its namespaces, and the program's exit code."""
    status: dict[str, int] = {}
    with contextlib.suppress(OSError, ValueError):  # bubblewrap may have been ended in the middle of a line
        for line in path.read_text(encoding="utf-8").splitlines():
            status |= json.loads(line)
    return status


def _kill_first_process(status: dict[str, int]) -> None:
    """End the remaining processes in the sandbox and wait for them, since bubblewrap itself may end first."""
    pid = status.get("child-pid", 0)
    with contextlib.suppress(OSError):  # it has already ended
        handle = os.pidfd_open(pid)
        try:
            if Path(f"/proc/{pid}/ns/pid").stat().st_ino == status.get("pid-namespace"):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], _END_SECONDS)
        finally:
            os.close(handle)
