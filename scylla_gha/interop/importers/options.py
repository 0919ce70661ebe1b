"""Formats of another tool's rows, and the command-line options that say how they are read."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

import click

from scylla_gha.config import load_yaml
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.columns import JudgeTable
from scylla_gha.interop.importers.harbor import read_harbor
from scylla_gha.interop.importers.inspect_samples import read_inspect
from scylla_gha.interop.importers.tables import SourceTable, read_csv, read_jsonl, read_parquet
from scylla_gha.model.plan import ColumnMap, Format

_OPTIONS: Final = (
    click.option(
        "--format",
        "form",
        type=click.Choice(get_args(Format)),
        show_default="by the file's name",
        help="Format of another tool's rows.",
    ),
    click.option(
        "--map",
        "mapped",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Column of another tool for one of our fields, such as scenario=task; arm=model+prompt joins two "
        "columns, and FIELD= means no column; may be repeated.",
    ),
    click.option(
        "--map-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="YAML file with columns (field: column), constants, units, passed_if, baseline.",
    ),
    click.option(
        "--set",
        "constants",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Value of a field in all rows, such as model=claude-sonnet-5; may be repeated.",
    ),
    click.option(
        "--unit",
        "units",
        multiple=True,
        metavar="COLUMN=UNIT",
        help="Unit of a column: ns, us, ms, s, min, h of times, usd or cent of costs, share or percent of "
        "scores (default: s, usd, share); may be repeated.",
    ),
    click.option("--passed-if", metavar="RULE", help="Condition under which a row has passed, such as 'score>=0.6'."),
    click.option(
        "--judge-scores",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Second file (CSV, JSON lines or Parquet) with one score of one judge in each row.",
    ),
    click.option(
        "--judge-column", default="judge", show_default=True, help="Column of --judge-scores with the judge's name."
    ),
    click.option(
        "--score-column", default="score", show_default=True, help="Column of --judge-scores with the score, 0 to 1."
    ),
    click.option(
        "--join",
        multiple=True,
        metavar="COLUMN",
        help="Column of both files that identifies the judged row (default: all columns that both have).",
    ),
)
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


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options for reading foreign rows. Without a format, the file's name decides."""

    mapping: ColumnMap = field(default_factory=ColumnMap)
    format: Format | None = None
    judges: JudgeTable | None = None


def import_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for reading foreign rows; the command gets them as the argument `how`."""

    @functools.wraps(command)
    def with_import_options(**values: object) -> None:
        command(how=_take_options(values), **values)

    for option in reversed(_OPTIONS):
        with_import_options = option(with_import_options)
    return with_import_options


def _take_options(values: dict[str, Any]) -> ImportOptions:
    """Remove the options for foreign rows from a command's values, and return them."""
    map_file, rule, form = (values.pop(name) for name in ("map_file", "passed_if", "form"))
    stored = load_yaml(map_file, ColumnMap) if map_file else ColumnMap()
    mapping = stored.model_copy(
        update={
            "columns": {**stored.columns, **_pairs(values.pop("mapped"), "--map", "scenario=task")},
            "constants": {**stored.constants, **_pairs(values.pop("constants"), "--set", "model=gpt-5")},
            "units": {**stored.units, **_pairs(values.pop("units"), "--unit", "duration=ms")},
            "passed_if": rule or stored.passed_if,
        }
    )
    path, *columns = (values.pop(name) for name in ("judge_scores", "judge_column", "score_column", "join"))
    if path is None:
        return ImportOptions(mapping, form)
    if not path.is_file():
        raise ConfigError(f"--judge-scores {path}: there is no such file")
    return ImportOptions(mapping, form, JudgeTable(read_table(path, format_of(path)), *columns))


def _pairs(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name or not sign:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE, as {example}", param_hint=option)
        pairs[name] = value
    return pairs


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
    """Return the format of a file or folder by its name.

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
