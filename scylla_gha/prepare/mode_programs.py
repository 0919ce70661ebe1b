"""Programs of modes, beside a scenario's own: PyPI and Debian packages, npm packages, and files.

Agents find them on PATH, checks do not. Programs of npm packages and of files are put into a folder, which is a layer
of images, and a folder on PATH in other sandboxes.
"""

import hashlib
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.model import digest
from scylla_gha.model.mode import Mode, ModeProgram
from scylla_gha.model.tools import Tools
from scylla_gha.model.variant import AgentResources
from scylla_gha.prepare.mcp_packages import node_program
from scylla_gha.prepare.tools import locked, npm_program, search_path

_DONE: Final = "done"  # marks a finished folder
# The folder has another path in each sandbox, and the program may be started through a link.
_START_NODE: Final = """#!/bin/sh
folder=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$folder/{name}/node" "$folder/{name}/node_modules/.bin/{name}" "$@"
"""


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
