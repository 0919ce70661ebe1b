"""Another tool's rows: the options that say how to read them, and the reading."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast, get_args

import click

from scylla_gha.config.load import load
from scylla_gha.errors import ConfigError
from scylla_gha.interop.columns import rule_of
from scylla_gha.interop.harbor import read_harbor
from scylla_gha.interop.imported import Given, Loaded, load_rows
from scylla_gha.interop.inspect_samples import read_inspect
from scylla_gha.interop.sources import Table
from scylla_gha.interop.tables import read_csv, read_jsonl, read_parquet
from scylla_gha.model.imported import ColumnMap, Format

_READERS: Final[Mapping[Format, Callable[[Path], Table]]] = {
    "csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet, "harbor": read_harbor, "inspect": read_inspect,
}  # fmt: skip
_SUFFIXES: Final[Mapping[str, Format]] = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".json": "inspect",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read foreign rows, as the command line says."""

    format: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    passed_if: str | None = None
    baseline: str | None = None


def reading(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how foreign rows are read; the command gets them as one `how`."""

    @functools.wraps(command)
    def with_reading(
        format_: str | None, mapped: tuple[str, ...], map_file: Path | None, passed_if: str | None, **others: object
    ) -> None:
        stored = load(map_file, ColumnMap) if map_file else ColumnMap()
        columns = {**stored.columns, **dict(_pair(each) for each in mapped)}
        form = cast("Format | None", format_)
        how = Reading(form, columns, passed_if or stored.passed_if, stored.baseline)
        command(how=how, **others)

    for option in (
        click.option("--passed-if", metavar="RULE", help="When a row has passed, e.g. 'score>=0.6'."),
        click.option("--map-file", type=click.Path(path_type=Path, dir_okay=False),
                     help="YAML with columns (field: column), passed_if, baseline."),
        click.option("--map", "mapped", multiple=True, metavar="FIELD=COLUMN",
                     help="Their column for our field, e.g. scenario=task; FIELD= is no column."),
        click.option("--format", "format_", type=click.Choice(get_args(Format)), show_default="by the file's name",
                     help="What foreign rows are."),
    ):  # fmt: skip
        with_reading = option(with_reading)
    return with_reading


def _pair(text: str) -> tuple[str, str]:
    name, sign, column = text.partition("=")
    if not name or not sign:
        raise click.BadParameter(f"{text!r} is not FIELD=COLUMN, as scenario=task", param_hint="--map")
    return name, column


def read_foreign(path: Path, how: Reading, name: str) -> Loaded:
    """Read a file or folder of another tool's rows.

    Raises:
        ConfigError: it is not there, or is not what it should be.
        ToolError: what reads it is not installed.
    """
    if not path.exists():
        raise ConfigError(f"{path}: there is no such file or folder")
    form = how.format or _format_of(path)
    if path.is_dir() and form not in {"harbor", "inspect"}:
        raise ConfigError(f"{path}: is a folder, and {form} is a file; name the file")
    table = _READERS[form](path)
    rule = rule_of(how.passed_if) if how.passed_if else None
    return load_rows(table, Given(name, path.name, form, how.columns, rule, how.passed_if, how.baseline))


def _format_of(path: Path) -> Format:
    if path.is_dir():
        return "harbor" if any(path.glob("*/config.json")) or not any(path.glob("*.json")) else "inspect"
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(
            f"{path}: what it is cannot be told by its name; say it: --format {'|'.join(get_args(Format))}"
        )
    return _SUFFIXES[path.suffix.lower()]
