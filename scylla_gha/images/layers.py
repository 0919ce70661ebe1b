"""Build images from layers. Layers are tar files, which are equal if their contents are equal.

Layers are made on the host, from packages of Debian, npm or Python, so no build needs a network inside a container.
Cached layers are not built again.
"""

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.images.archive import TITLE, ImageArchive, ImageLayer, assemble_image, mark_complete, write_layer
from scylla_gha.model import digest
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.model.sandbox import EditableInstall, ImageRecipe, Tools
from scylla_gha.model.variant import NODE, packages_folder
from scylla_gha.prepare.agent_programs import cli_program, pypi_requirements
from scylla_gha.prepare.mcp_packages import (
    ModePrograms,
    PackagedServer,
    install_server,
    locked_requirements,
    node_program,
    programs_folder,
)
from scylla_gha.prepare.tools import locked, run_uv, tool_folders, write_editable_install
from scylla_gha.sandboxes import confine
from scylla_gha.sandboxes.docker import supervisor
from scylla_gha.sandboxes.docker.container import AGENT, CONFINE_FILE, SUPERVISOR, SUPERVISOR_FILE
from scylla_gha.sandboxes.docker.engine import TOOLKIT_LABEL
from scylla_gha.system import process

TOOLS: Final = "/opt/tools"
_PROGRAMS: Final = "/opt/mode"
_AGENT: Final = "/opt/agent"
_PATH: Final = f"{TOOLS}/bin:/usr/local/bin:/usr/bin:/bin"
_DIGEST: Final = "io.scylla-gha.image"  # label with a digest of the image's layers
_FORMAT: Final = 1  # increase it if a change of this module changes the layer of an unchanged recipe
_SECONDS: Final = 1200.0  # for a command
_DAY_ONE: Final = (
    "1"  # latest modification time of files, in seconds since 1970, so that equal contents are equal layers
)
_LEFT_OUT: Final = ("doc", "man", "info", "locale")
# Python's files are compiled without a check of the source's time, since all files have the same time.
_FINISH: Final = """set -eu
rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/cache/debconf/* "$1"/var/log/* "$1"/etc/resolv.conf \
  "$1"/etc/hostname "$1"/etc/machine-id "$1"/var/lib/dbus/machine-id
find "$1" -xdev -name __pycache__ -prune -exec rm -rf {} +
PYTHONHASHSEED=0 chroot "$1" python3 -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3*
find "$1" -xdev -type f -perm /6000 -exec chmod a-s {} +
"""
_PLATFORM: Final = f"{platform.machine()}-manylinux_2_36"
PYTHON: Final = "3.11"  # Python of all Debian releases that a recipe can name; packages are selected for it


@dataclass(frozen=True, slots=True)
class AgentCli:
    """An agent's CLI at a version."""

    package: CliPackage
    version: str

    @property
    def identity(self) -> str:
        """Package and version, with a digest of the package if its installation has options."""
        name = f"{self.package.id}@{self.version}"
        return f"{name} {digest(self.package.model_dump(mode='json'))[:8]}" if self.package.install_options else name


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """Contents of an image. The image for checks has no agent CLI, MCP servers or programs of a mode."""

    recipe: ImageRecipe
    python: dict[str, str]
    cli: AgentCli | None = None
    servers: tuple[PackagedServer, ...] = ()
    programs: ModePrograms | None = None
    node: dict[str, str] = field(default_factory=dict)
    editable: EditableInstall | None = None

    @property
    def title(self) -> str:
        """Description of the contents; equal contents have equal titles."""
        tools = [f"{name} {version}" for name, version in (*sorted(self.python.items()), *sorted(self.node.items()))]
        agent = [self.cli.identity] if self.cli else []
        servers = [f"mcp/{server.name} {server.lock_digest()[:8]}" for server in self.servers]
        programs = [f"programs {self.programs.digest[:8]}"] if self.programs else []
        own = [f"{self.editable.name} {digest(self.editable.model_dump(mode='json'))[:8]}"] if self.editable else []
        return ", ".join([self.recipe.id, *agent, *servers, *programs, *tools, *own])


def build_image(spec: ImageSpec, cache: Path, *, fresh: bool = False) -> ImageArchive:
    """Return the image; make the layers that are not in the cache (`fresh`: the base layer in any case).

    It needs no engine.

    Raises:
        ToolError: a layer cannot be made.
    """
    layers = [base_layer(spec.recipe, cache, fresh=fresh)]
    if spec.python or spec.editable:
        layers.append(tools_layer(spec.python, cache, spec.editable))
    if spec.node:
        layers.append(modules_layer(spec.node, cache))
    if spec.cli:
        layers.append(cli_layer(spec.cli, cache))
    layers += [
        node_layer(version, cache) for version in sorted({server.node for server in spec.servers if server.node})
    ]
    layers += [server_layer(server, cache) for server in spec.servers]
    layers += [programs_layer(spec.programs, cache)] if spec.programs else []
    # The small supervisor layer is last: engines unpack all layers above a changed layer again.
    layers.append(supervisor_layer(cache))
    key = digest([[layer.sha256 for layer in layers], _PATH])
    return assemble_image(
        layers, f"scylla-gha:{key[:16]}", _PATH, {TOOLKIT_LABEL: "1", _DIGEST: key, TITLE: spec.title}
    )


def missing_build_tool() -> str | None:
    """Return the missing tool for building the base layer, and how to install it; None if no tool is missing."""
    if shutil.which("mmdebstrap") is None:
        return "images need mmdebstrap, which is not installed; on Debian and Ubuntu: apt-get install mmdebstrap"
    if os.geteuid() and shutil.which("newuidmap") is None:
        return (
            "for a user other than root, mmdebstrap needs newuidmap, which is not installed; on Debian and Ubuntu: "
            "apt-get install uidmap"
        )
    return None


def is_base_made(recipe: ImageRecipe, cache: Path) -> bool:
    """Return whether the base layer is in the cache."""
    return _path(_base_key(recipe), cache).with_suffix(".sha256").exists()


def _base_key(recipe: ImageRecipe) -> str:
    return digest([_FORMAT, "base", recipe.release, recipe.packages, platform.machine(), _FINISH])


def base_layer(recipe: ImageRecipe, cache: Path, *, fresh: bool = False) -> ImageLayer:
    """Return the layer of the Debian system with the sandbox's users; `fresh`: rebuild it with today's packages.

    Raises:
        ToolError: mmdebstrap or newuidmap is missing, or mmdebstrap fails.
    """
    key = _base_key(recipe)
    users = "".join(
        f'echo {name}:x:{number}:{number}::/home/dev:/bin/sh >>"$1"/etc/passwd\n'
        for name, number in (("dev", AGENT), ("keeper", SUPERVISOR))
    )

    def make(into: Path) -> None:
        if why := missing_build_tool():
            raise ToolError(why)
        leave = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _LEFT_OUT]
        argv = [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            f"--include={','.join(recipe.packages)}",
            *leave,
            f"--customize-hook={_FINISH}{users}",
            recipe.release,
            str(into),
        ]
        output = process.capture(argv, env={**os.environ, "SOURCE_DATE_EPOCH": _DAY_ONE}, seconds=_SECONDS)
        if output.code:
            raise ToolError(
                f"mmdebstrap could not make the image {recipe.id}: {output.message}; it needs root or user "
                "namespaces, access to Debian's archive, and the archive's key (debian-archive-keyring)"
            )

    return _layer(key, cache, make, fresh=fresh)


def supervisor_layer(cache: Path) -> ImageLayer:
    """Return the layer of the programs that supervise and confine a container's processes."""
    sources = {SUPERVISOR_FILE: Path(supervisor.__file__), CONFINE_FILE: Path(confine.__file__)}
    key = digest([_FORMAT, "keeper", [hashlib.sha256(source.read_bytes()).hexdigest() for source in sources.values()]])

    return _layer(key, cache, lambda into: write_layer(into, sources))


def cli_layer(cli: AgentCli, cache: Path) -> ImageLayer:
    """Return the layer of an agent's CLI, of npm or PyPI.

    Raises:
        ToolError: the package cannot be installed, or its program does not run in an image.
    """
    program = cli.package.program
    if cli.package.npm:
        folder = cli_program(cli.package, cli.version, cache).parent.parent.parent
        return agent_layer(folder, program, cli.identity, cache)
    requirements = pypi_requirements(cli.package, cli.version)
    links = {f"/usr/local/bin/{program}": f"{_AGENT}/bin/{program}"}
    key = digest([_FORMAT, "agent of pypi", cli.identity, PYTHON, platform.machine(), is_compiled()])
    return _layer(key, cache, lambda into: write_environment(into, _AGENT, requirements, links=links))


def agent_layer(package: Path, program: str, identity: str, cache: Path) -> ImageLayer:
    """Return the layer of an agent's CLI.

    Args:
        package: folder in which npm installed the CLI.
        program: name of the program on PATH.
        identity: name and version of the package.
        cache: root of the cache.

    Raises:
        ToolError: the program is a script for Node.js, which images do not have.
    """
    with (package / "node_modules" / ".bin" / program).open("rb") as file:
        first = file.readline(200)
    if first.startswith(b"#!") and b"node" in first:
        raise ToolError(f"{identity}: {program} is a script for node, which images do not have; use the host sandbox")
    modules = f"{_AGENT}/node_modules"

    def make(into: Path) -> None:
        links = {f"/usr/local/bin/{program}": f"{modules}/.bin/{program}"}
        write_layer(into, {modules: package / "node_modules"}, links)

    return _layer(digest([_FORMAT, "agent without scripts", identity, program, platform.machine()]), cache, make)


def tools_layer(packages: dict[str, str], cache: Path, editable: EditableInstall | None = None) -> ImageLayer:
    """Return the layer of a scenario's Python packages, in a virtual environment of the image's Python.

    With `editable`, the environment also has the package of the start state.

    Raises:
        ToolError: a package cannot be installed, for example because it has no wheel.
    """
    editable_fields = [editable.model_dump(mode="json")] if editable else []
    key = digest([_FORMAT, "tools", packages, PYTHON, platform.machine(), is_compiled(), *editable_fields])
    pins = [f"{name}=={version}" for name, version in sorted(packages.items())]
    return _layer(key, cache, lambda into: write_environment(into, TOOLS, pins, editable))


def modules_layer(packages: dict[str, str], cache: Path) -> ImageLayer:
    """Return the layer of a scenario's npm packages.

    Raises:
        ToolError: a package cannot be installed.
    """
    key = digest([_FORMAT, "npm", packages, platform.machine()])
    return _layer(key, cache, lambda into: write_layer(into, dict(tool_folders(Tools(node=packages), cache))))


def server_layer(server: PackagedServer, cache: Path) -> ImageLayer:
    """Return the layer of an MCP server's packages.

    Raises:
        ToolError: a package cannot be installed.
    """
    folder = packages_folder(server.name)
    if server.is_npm:

        def make(into: Path) -> None:
            modules = install_server(server, cache).folder / "node_modules"
            write_layer(into, {f"{folder}/node_modules": modules})

        return _layer(digest([_FORMAT, "mcp of npm", server.name, server.lock_digest()]), cache, make)
    key = digest([_FORMAT, "mcp of pypi", server.name, server.lock_digest(), PYTHON, is_compiled()])
    return _layer(key, cache, lambda into: write_environment(into, folder, locked_requirements(server)))


def programs_layer(programs: ModePrograms, cache: Path) -> ImageLayer:
    """Return the layer of a mode's programs that come from files or from npm.

    Raises:
        ToolError: a package cannot be installed.
    """

    def make(into: Path) -> None:
        links = {f"/usr/local/bin/{name}": f"{_PROGRAMS}/bin/{name}" for name in programs.sources}
        write_layer(into, {_PROGRAMS: programs_folder(programs, cache)}, links)

    return _layer(digest([_FORMAT, "programs", programs.digest]), cache, make)


def node_layer(version: str, cache: Path) -> ImageLayer:
    """Return the layer of Node.js, which is not on PATH.

    Raises:
        ToolError: Node.js cannot be installed.
    """
    key = digest([_FORMAT, "node", version, platform.machine()])
    return _layer(key, cache, lambda into: write_layer(into, {NODE: node_program(version, cache)}))


def _path(key: str, cache: Path) -> Path:
    return cache / "layers" / f"{key[:24]}.tar"


def _layer(key: str, cache: Path, make: Callable[[Path], None], *, fresh: bool = False) -> ImageLayer:
    path = _path(key, cache)
    stored = path.with_suffix(".sha256")
    with locked(path):
        if fresh or not stored.exists():
            stored.unlink(missing_ok=True)
            unfinished = path.with_suffix(".making.tar")
            make(unfinished)
            unfinished.replace(path)
            with path.open("rb") as file:
                mark_complete(path, hashlib.file_digest(file, "sha256").hexdigest())
        return ImageLayer(path, stored.read_text(encoding="ascii"))


def is_compiled() -> bool:
    """Return whether Python packages in images are compiled, which needs this Python to have the images' version."""
    return sys.version.startswith(f"{PYTHON}.")


def write_environment(
    into: Path,
    at: str,
    requirements: Sequence[str],
    editable: EditableInstall | None = None,
    links: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a layer with a virtual environment.

    Args:
        into: file of the layer.
        at: absolute path of the environment in the image.
        requirements: arguments of `uv pip install` that name the packages; empty: no packages.
        links: targets of links, by the paths of the links in the image.
        editable: package of the start state to install; None: none.

    Raises:
        ToolError: a package cannot be installed, for example because it has no wheel.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, at.lstrip("/"))
        site = home / "lib" / f"python{PYTHON}" / "site-packages"
        site.mkdir(parents=True)
        if requirements:
            options = ("--quiet", "--only-binary", ":all:", "--target", str(site))
            # Copy: with another link mode in the user's settings, the layer would contain links to uv's cache.
            modes = ("--link-mode", "copy", "--python-version", PYTHON, "--python-platform", _PLATFORM)
            fault = f"uv could not install {', '.join(requirements)} for an image"
            run_uv("pip", "install", *options, *modes, *requirements, fault=fault)
        _finish(home, site, at)
        if editable:
            write_editable_install(editable, home / "bin", site)
        if is_compiled():
            _compile(site, Path(folder))
        write_layer(into, {at: home}, dict(links))


def _finish(home: Path, site: Path, at: str) -> None:
    """Turn a folder with installed packages into a virtual environment of the image's Python."""
    binaries = home / "bin"
    if (site / "bin").is_dir():
        (site / "bin").rename(binaries)
    else:
        binaries.mkdir()
    for script in binaries.iterdir():
        content = script.read_bytes()
        if content.startswith(b"#!"):
            script.write_bytes(f"#!{at}/bin/python3\n".encode() + content.partition(b"\n")[2])
    for name in ("python", "python3", f"python{PYTHON}"):
        (binaries / name).symlink_to("/usr/bin/python3")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n", encoding="ascii")
    for name in (".lock", ".gitignore"):
        (site / name).unlink(missing_ok=True)


def _compile(site: Path, root: Path) -> None:
    module = [sys.executable, "-P", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    argv = [*module, "-s", str(root), "-p", "/", str(site)]
    process.capture(argv, env={"PYTHONHASHSEED": "0"}, seconds=_SECONDS)  # files that cannot be compiled are skipped
