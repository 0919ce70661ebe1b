"""Symbolic links in configuration: followed within what they are part of, refused where they lead out of it.

Configuration of a pull request is read on a machine with files of its own, and what is read reaches agents and reports.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from scylla_gha.errors import ConfigError


def contained(path: Path, roots: Sequence[Path]) -> Path:
    """Return the path, of a file or folder of configuration, if neither it nor a link in it leads out.

    Args:
        path: a file; or the folder of a skill, an MCP server, a scenario or a fixture, which has to be whole by itself.
        roots: folders with `config/`, `scenarios/` and `fixtures/`; the path is below one of them.

    Raises:
        ConfigError: it is stored outside of its root, or a link in it leads out of it.
    """
    root = next(root for root in roots if path.is_relative_to(root))
    own = path.resolve()
    if not own.is_relative_to(root.resolve()):
        raise ConfigError(f"{path}: is stored outside of {root}, by a symbolic link; put a copy in its place")
    for folder, folders, files in os.walk(path):
        for link in (Path(folder, name) for name in (*folders, *files)):
            if link.is_symlink() and not link.resolve().is_relative_to(own):
                raise ConfigError(f"{link}: is a symbolic link that leads out of {path}; put a copy of the file or "
                                  "folder that it names in its place")  # fmt: skip
    return path
