"""Tools that a user's own command installed into a copy of a code base, kept in the cache of this machine.

The folder `setups/NAME` of the cache has the copy, `code`, with what the command left in it. A virtual environment
(`.venv` or `venv`) is on PATH of agents and checks; programs of Node.js find `node_modules` in a folder above them.
"""

from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError

_DONE: Final = "done"  # marks a folder whose command succeeded
_ENVIRONMENTS: Final = (".venv", "venv")
GO_BUILD: Final = "go-build"  # compiled packages of Go's library
GO_MODULES: Final = "go-modules"
_MOUNTED: Final = ("node_modules", GO_BUILD, GO_MODULES)  # at the root of sandboxes: above each folder in them


def setup_folder(name: str, cache: Path) -> Path:
    """Return the folder of a set of prepared tools, which may not exist yet."""
    return cache / "setups" / name


def is_prepared(folder: Path) -> bool:
    """Return True if the command succeeded there."""
    return (folder / _DONE).exists()


def mark_prepared(folder: Path) -> None:
    """Note that the command succeeded."""
    (folder / _DONE).touch()


def prepared_code(name: str, cache: Path) -> Path:
    """Return the copy of the code base.

    Raises:
        ToolError: it is not on this machine.
    """
    folder = setup_folder(name, cache)
    if not is_prepared(folder):
        raise ToolError(f"tools.prepared: {name} is not in the cache of this machine; run `scylla-gha readiness` here "
                        "with --setup again")  # fmt: skip
    return folder / "code"


def virtual_environment(code: Path) -> Path | None:
    """Return the virtual environment that a command made; None if there is none."""
    folders = (code / name for name in _ENVIRONMENTS)
    return next((folder for folder in folders if (folder / "bin" / "python").exists()), None)


def prepared_folders(code: Path) -> dict[str, Path]:
    """Return the folders of the copy that programs need, by absolute path inside of sandboxes."""
    folders = {f"/{name}": code / name for name in _MOUNTED if (code / name).is_dir()}
    if environment := virtual_environment(code):
        python = (environment / "bin" / "python").resolve().parent.parent
        if len(python.parts) > 2 and python.parts[1] != "usr":  # noqa: PLR2004 not a folder of the system
            folders[str(python)] = python
    return folders
