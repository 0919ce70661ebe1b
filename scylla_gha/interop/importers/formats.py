"""Formats of another tool's rows: which one a file has, and its reader."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, get_args

from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.harbor import read_harbor
from scylla_gha.interop.importers.inspect_samples import read_inspect
from scylla_gha.interop.importers.tables import SourceTable, read_csv, read_jsonl, read_parquet
from scylla_gha.model.plan import Format

_READERS: Final[Mapping[Format, Callable[[Path], SourceTable]]] = {
    "csv": read_csv,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "harbor": read_harbor,
    "inspect": read_inspect,
}
_SUFFIXES: Final[Mapping[str, Format]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".json": "inspect",
}


def read_table(path: Path, file_format: Format) -> SourceTable:
    """Read a file or folder in a format.

    Raises:
        ConfigError: it is not in that format.
        ToolError: a package that reads it is not installed.
    """
    if path.is_dir() and file_format not in {"harbor", "inspect"}:
        raise ConfigError(f"{path}: is a folder, and {file_format} is a file; name the file")
    return _READERS[file_format](path)


def format_of(path: Path) -> Format:
    """Return the format that a file's or folder's name stands for.

    Raises:
        ConfigError: the name does not tell.
    """
    if path.is_dir():
        return "harbor" if any(path.glob("*/config.json")) or not any(path.glob("*.json")) else "inspect"
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(
            f"{path}: the format cannot be known from the name; add --format {'|'.join(get_args(Format))}"
        )
    return _SUFFIXES[path.suffix.lower()]
