"""Layers of Python packages: a virtual environment for the Python of images, made on the host from wheels."""

import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scylla_gha import process
from scylla_gha.errors import ToolError
from scylla_gha.images.archive import write_layer
from scylla_gha.model.tools import EditableInstall
from scylla_gha.prepare.editable_install import write_editable_install

PYTHON: Final = "3.11"  # of all releases that a recipe can name; packages are selected for it
_SECONDS: Final = 1200.0


def is_compiled() -> bool:
    """Return whether this Python compiles packages; that of images cannot use another version's compiled files."""
    return sys.version.startswith(f"{PYTHON}.")


def write_environment(
    into: Path, at: str, requirements: Sequence[str], editable: EditableInstall | None = None
) -> None:
    """Write a layer with a virtual environment.

    Args:
        into: the layer's file.
        at: the environment's folder in the image.
        requirements: arguments of `uv pip install` that name the packages; empty: an environment without packages.
        editable: package of the start state that is installed in it.

    Raises:
        ToolError: a package cannot be installed; it needs a wheel.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, at.lstrip("/"))
        site = home / "lib" / f"python{PYTHON}" / "site-packages"
        site.mkdir(parents=True)
        if requirements:
            _install(requirements, site)
        _finish(home, site, at)
        if editable:
            write_editable_install(editable, home / "bin", site)
        if is_compiled():
            _compile(site, Path(folder))
        write_layer(into, {at: home})


def _install(requirements: Sequence[str], site: Path) -> None:
    from uv import find_uv_bin

    # A user's own link mode would put links to uv's cache into the layer, which lead nowhere in a container.
    system = ["--python-version", PYTHON, "--python-platform", f"{platform.machine()}-manylinux_2_36"]
    argv = [find_uv_bin(), "pip", "install", "--quiet", "--link-mode", "copy", "--target", str(site), *system,
            "--only-binary", ":all:", *requirements]  # fmt: skip
    output = process.capture(argv, env={**os.environ, "VIRTUAL_ENV": ""}, seconds=_SECONDS)
    if output.code:
        raise ToolError(f"uv could not install {', '.join(requirements)} for an image: {output.message}; is a package "
                        "registry in reach?")  # fmt: skip


def _finish(home: Path, site: Path, at: str) -> None:
    """Make it a virtual environment of the image's Python."""
    binaries = home / "bin"
    (site / "bin").rename(binaries) if (site / "bin").is_dir() else binaries.mkdir()
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
    argv = [sys.executable, "-P", "-m", "compileall", "-q", "-s", str(root), "-p", "/", "--invalidation-mode",
            "unchecked-hash", str(site)]  # fmt: skip
    process.capture(argv, env={"PYTHONHASHSEED": "0"}, seconds=_SECONDS)  # a file that does not compile stays as it is
