"""The package of a start state in a virtual environment, as `pip install -e` installs it, without running its build.

Modules come from the project that a program runs in: the nearest folder at or above the working folder that has a
project file and the package's import roots. So agent, checks and their copies each import their own code. A program
that runs elsewhere, such as one that a test starts in a temporary folder, takes the project of the program above it.
"""

from pathlib import Path
from typing import Final

from scylla_gha.model.tools import EditableInstall

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
    """Write the import roots alone, for an environment in which a command installed the package."""
    (packages / f"{_MODULE}.py").write_text(_FINDER.format(roots=install.roots, files=_FILES), encoding="utf-8")
    (packages / f"{_MODULE}.pth").write_text(f"import {_MODULE}\n", encoding="utf-8")


def _lines(points: dict[str, str]) -> str:
    return "".join(f"{name} = {point}\n" for name, point in sorted(points.items()))
