"""Layers of images, as tar files in the cache that are equal if their contents are.

Every layer is made on the host: of Debian's packages, of an npm package's folder, of Python packages. So no build needs
a network inside a container, and a layer in the cache needs no build.
"""

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scylla_gha import process
from scylla_gha.errors import ToolError
from scylla_gha.images.archive import ImageLayer, mark_complete, write_layer
from scylla_gha.model.record import digest
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.prepare.tools import locked
from scylla_gha.sandboxes import confine
from scylla_gha.sandboxes.docker import supervisor
from scylla_gha.sandboxes.docker.container import AGENT, CONFINE_FILE, SUPERVISOR, SUPERVISOR_FILE

PYTHON: Final = "3.11"  # of all releases that a recipe can name; packages are selected for it
TOOLS: Final = "/opt/tools"
_FORMAT: Final = 1  # to be raised if the same recipe makes another layer
_SECONDS: Final = 1200.0
_DAY_ONE: Final = "1"  # no file is younger than this second of 1970, so equal contents make equal layers
_LEFT_OUT: Final = ("doc", "man", "info", "locale")
# Python's files are compiled once, without a check of the source's age, since all files have the same.
_FINISH: Final = """set -eu
rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/cache/debconf/* "$1"/var/log/* "$1"/etc/resolv.conf \
  "$1"/etc/hostname "$1"/etc/machine-id "$1"/var/lib/dbus/machine-id
find "$1" -xdev -name __pycache__ -prune -exec rm -rf {} +
PYTHONHASHSEED=0 chroot "$1" python3 -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3*
find "$1" -xdev -type f -perm /6000 -exec chmod a-s {} +
"""


def missing_build_tool() -> str | None:
    """Return the missing tool that the base layer is built with and what to do, or None."""
    if shutil.which("mmdebstrap") is None:
        return "images are made by mmdebstrap, which is not installed; on Debian and Ubuntu: apt-get install mmdebstrap"
    if os.geteuid() and shutil.which("newuidmap") is None:
        return ("for a user other than root, mmdebstrap needs newuidmap, which is not installed; on Debian and Ubuntu: "
                "apt-get install uidmap")  # fmt: skip
    return None


def is_base_made(recipe: ImageRecipe, cache: Path) -> bool:
    """Return True if the base layer is in the cache."""
    return _path(_base_key(recipe), cache).with_suffix(".sha256").exists()


def _base_key(recipe: ImageRecipe) -> str:
    return digest([_FORMAT, "base", recipe.release, recipe.packages, platform.machine(), _FINISH])


def base_layer(recipe: ImageRecipe, cache: Path, *, fresh: bool = False) -> ImageLayer:
    """Return the layer of the system, with the users of the sandbox; `fresh` takes the packages of today.

    Raises:
        ToolError: mmdebstrap is missing, or the packages are not available.
    """
    key = _base_key(recipe)
    users = "".join(f'echo {name}:x:{number}:{number}::/home/dev:/bin/sh >>"$1"/etc/passwd\n'
                    for name, number in (("dev", AGENT), ("keeper", SUPERVISOR)))  # fmt: skip

    def make(into: Path) -> None:
        if why := missing_build_tool():
            raise ToolError(why)
        leave = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _LEFT_OUT]
        argv = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(recipe.packages)}", *leave,
                f"--customize-hook={_FINISH}{users}", recipe.release, str(into)]  # fmt: skip
        output = process.capture(argv, env={**os.environ, "SOURCE_DATE_EPOCH": _DAY_ONE}, seconds=_SECONDS)
        if output.code:
            raise ToolError(f"mmdebstrap could not make the image {recipe.id}: {output.message}; it needs root or user "
                            "namespaces, Debian's archive in reach, and its key (debian-archive-keyring)")  # fmt: skip

    return _layer(key, cache, make, fresh=fresh)


def supervisor_layer(cache: Path) -> ImageLayer:
    """Return the layer of the sandbox's own programs."""
    sources = {SUPERVISOR_FILE: Path(supervisor.__file__), CONFINE_FILE: Path(confine.__file__)}
    key = digest([_FORMAT, "keeper", [hashlib.sha256(source.read_bytes()).hexdigest() for source in sources.values()]])

    return _layer(key, cache, lambda into: write_layer(into, sources))


def agent_layer(package: Path, program: str, identity: str, cache: Path) -> ImageLayer:
    """Return the layer of an agent's command line.

    Args:
        package: the folder that npm installed it into.
        program: its name on PATH.
        identity: the package and its version.
        cache: the cache's root.

    Raises:
        ToolError: the program is a script for node, which images do not have.
    """
    with (package / "node_modules" / ".bin" / program).open("rb") as file:
        first = file.readline(200)
    if first.startswith(b"#!") and b"node" in first:
        raise ToolError(f"{identity}: {program} is a script for node, which images have not yet; use the host sandbox")
    modules = "/opt/agent/node_modules"

    def make(into: Path) -> None:
        links = {f"/usr/local/bin/{program}": f"{modules}/.bin/{program}"}
        write_layer(into, {modules: package / "node_modules"}, links)

    return _layer(digest([_FORMAT, "agent without scripts", identity, program, platform.machine()]), cache, make)


def tools_layer(packages: dict[str, str], cache: Path) -> ImageLayer:
    """Return the layer of a scenario's Python packages, in an environment of their own for the image's Python.

    Raises:
        ToolError: a package cannot be installed; it needs a wheel.
    """
    compiled = sys.version.startswith(f"{PYTHON}.")  # the image's Python cannot use another version's compiled files
    key = digest([_FORMAT, "tools", packages, PYTHON, platform.machine(), compiled])

    def make(into: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder, TOOLS.lstrip("/"))
            site = home / "lib" / f"python{PYTHON}" / "site-packages"
            site.mkdir(parents=True)
            _install(packages, site)
            _finish_environment(home, site)
            if compiled:
                _compile(site, Path(folder))
            write_layer(into, {TOOLS: home})

    return _layer(key, cache, make)


def _install(packages: dict[str, str], site: Path) -> None:
    from uv import find_uv_bin

    pins = [f"{name}=={version}" for name, version in sorted(packages.items())]
    if not pins:
        return
    # A user's own link mode would put links to uv's cache into the layer, which lead nowhere in a container.
    system = ["--python-version", PYTHON, "--python-platform", f"{platform.machine()}-manylinux_2_36"]
    argv = [find_uv_bin(), "pip", "install", "--quiet", "--link-mode", "copy", "--target", str(site), *system,
            "--only-binary", ":all:", *pins]  # fmt: skip
    output = process.capture(argv, env={**os.environ, "VIRTUAL_ENV": ""}, seconds=_SECONDS)
    if output.code:
        raise ToolError(f"uv could not install {', '.join(pins)} for an image: {output.message}; is a package registry "
                        "in reach?")  # fmt: skip


def _finish_environment(home: Path, site: Path) -> None:
    """Make it a virtual environment of the image's Python."""
    binaries = home / "bin"
    (site / "bin").rename(binaries) if (site / "bin").is_dir() else binaries.mkdir()
    for script in binaries.iterdir():
        content = script.read_bytes()
        if content.startswith(b"#!"):
            script.write_bytes(f"#!{TOOLS}/bin/python3\n".encode() + content.partition(b"\n")[2])
    for name in ("python", "python3", f"python{PYTHON}"):
        (binaries / name).symlink_to("/usr/bin/python3")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n", encoding="ascii")
    for name in (".lock", ".gitignore"):
        (site / name).unlink(missing_ok=True)


def _compile(site: Path, root: Path) -> None:
    argv = [sys.executable, "-P", "-m", "compileall", "-q", "-s", str(root), "-p", "/", "--invalidation-mode",
            "unchecked-hash", str(site)]  # fmt: skip
    process.capture(argv, env={"PYTHONHASHSEED": "0"}, seconds=_SECONDS)  # a file that does not compile stays as it is


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
