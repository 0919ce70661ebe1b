"""Modes: files in `config/modes/`, resolved to what an agent is given."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from scylla_gha.config import did_you_mean, load_yaml, read_text, there_are
from scylla_gha.config.materials import material_digest, material_path, resolve_inside
from scylla_gha.errors import ConfigError
from scylla_gha.model.mode import Mode, ModeFile


def mode_paths(roots: Sequence[Path]) -> dict[str, Path]:
    """Return the files of all modes by id; an earlier root hides the same id in a later one."""
    return {path.stem: path for root in reversed(roots) for path in sorted((root / "config" / "modes").glob("*.yaml"))}


def read_mode(name: str, roots: Sequence[Path]) -> Mode:
    """Read and resolve the mode with that id; errors as in `resolve_mode`, and if there is none."""
    paths = mode_paths(roots)
    if name not in paths:
        hint = did_you_mean(name, list(paths)) or there_are(sorted(paths))
        raise ConfigError(f"mode {name!r}: not found in config/modes/ of this repository or of the toolkit{hint}")
    return resolve_mode(resolve_inside(paths[name], roots), roots)


def program_files(mode: Mode, roots: Sequence[Path]) -> dict[str, Path]:
    """Return the files of a mode's programs, by the names of the programs."""
    folder = mode_paths(roots)[mode.id].parent
    return {name: folder / program.file for name, program in mode.programs.items() if program.file}


def resolve_mode(path: Path, roots: Sequence[Path]) -> Mode:
    """Resolve a mode file: read its instructions, and compute the digests of its files.

    Args:
        path: its file.
        roots: folders of configuration, in which MCP servers are looked up.

    Raises:
        ConfigError: it is invalid, or a file or an MCP server that it names is missing or invalid.
    """
    declared = load_yaml(path, ModeFile)
    if declared.id != path.stem:
        raise ConfigError(f"{path}: id: is {declared.id!r}, but the file is named {path.stem!r}; make them equal")
    materials, faults = dict[str, str](), list[str]()
    for name in declared.mcp_servers:
        try:
            materials[f"mcp/{name}"] = material_digest("mcp", material_path(roots, "mcp", name))
        except ConfigError as error:
            faults.append(f"{path}: mcp_servers: {error}")
    for name, program in declared.programs.items():
        if program.file is not None:
            file = resolve_inside(path.parent / program.file, roots)
            if file.is_file() and os.access(file, os.X_OK):
                materials[f"modes/{program.file}"] = hashlib.sha256(file.read_bytes()).hexdigest()
            else:
                faults.append(f"{path}: programs.{name}.file: {file} is missing or not executable; "
                              "put the program there, and make it executable by `chmod +x`")  # fmt: skip
    if faults:
        raise ConfigError("\n".join(faults))
    return Mode(
        id=declared.id,
        programs=declared.programs,
        mcp_servers=declared.mcp_servers,
        env=declared.env,
        clients=declared.clients,
        instructions=_instructions(declared, path, roots),
        materials=materials,
    )


def _instructions(declared: ModeFile, path: Path, roots: Sequence[Path]) -> str | None:
    """Return the instructions without blank lines around them; None if there are none."""
    if declared.instructions_file is None:
        return declared.instructions and declared.instructions.strip()
    file = resolve_inside(path.parent / declared.instructions_file, roots)
    text = read_text(file).strip()
    if not text:
        raise ConfigError(f"{path}: instructions_file: {file} is empty; write the text on the tools")
    return text
