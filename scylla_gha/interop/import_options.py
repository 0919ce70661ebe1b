"""Another tool's rows: the options that say how to read them, and the reading."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

import click

from scylla_gha.config.load import load_yaml
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.columns import rule_of
from scylla_gha.interop.importers.harbor import read_harbor
from scylla_gha.interop.importers.inspect_samples import read_inspect
from scylla_gha.interop.importers.prepare import JudgeTable, Preparation
from scylla_gha.interop.importers.rows import ImportedRows, ImportInput, load_rows
from scylla_gha.interop.importers.sources import SourceTable
from scylla_gha.interop.importers.tables import read_csv, read_jsonl, read_parquet
from scylla_gha.model.plan import ColumnMap, Format

_READERS: Final[Mapping[Format, Callable[[Path], SourceTable]]] = {
    "csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet, "harbor": read_harbor, "inspect": read_inspect,
}  # fmt: skip
_SUFFIXES: Final[Mapping[str, Format]] = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".json": "inspect",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to read foreign rows, as the command line says."""

    format: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    passed_if: str | None = None
    baseline: str | None = None
    preparation: Preparation = field(default_factory=Preparation)


_NAMES: Final = ("form", "map_file", "mapped", "constants", "units", "passed_if", "judge_scores", "judge_column",
                 "score_column", "join")  # fmt: skip
_OPTIONS: Final = (
    click.option("--format", "form", type=click.Choice(get_args(Format)), show_default="by the file's name",
                 help="What foreign rows are."),
    click.option("--map", "mapped", multiple=True, metavar="FIELD=COLUMN",
                 help="Their column for our field, e.g. scenario=task; arm=model+prompt joins two columns; "
                      "FIELD= means no column."),
    click.option("--map-file", type=click.Path(path_type=Path, dir_okay=False),
                 help="YAML with columns (field: column), constants, units, passed_if, baseline."),
    click.option("--set", "constants", multiple=True, metavar="FIELD=VALUE",
                 help="A value that all rows have, e.g. model=claude-sonnet-5."),
    click.option("--unit", "units", multiple=True, metavar="COLUMN=UNIT",
                 help="Unit of a column: ns, us, ms, s, min, h of times, usd or cent of costs, share or percent of "
                      "scores.  [default: s, usd, share]"),
    click.option("--passed-if", metavar="RULE", help="When a row has passed, e.g. 'score>=0.6'."),
    click.option("--judge-scores", type=click.Path(path_type=Path, dir_okay=False),
                 help="A second file, CSV, JSON lines or Parquet, with one score of one judge in each row."),
    click.option("--judge-column", default="judge", show_default=True, help="Its column with the judge's name."),
    click.option("--score-column", default="score", show_default=True, help="Its column with the score, 0 to 1."),
    click.option("--join", multiple=True, metavar="COLUMN",
                 help="A column of both files that tells which row was judged.  [default: all that both have]"),
)  # fmt: skip


def import_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how foreign rows are read; the command gets them as one `how`."""

    @functools.wraps(command)
    def with_reading(**given: object) -> None:
        asked = {name: given.pop(name) for name in _NAMES}
        command(how=_reading(asked), **given)

    for option in reversed(_OPTIONS):
        with_reading = option(with_reading)
    return with_reading


def _reading(asked: Mapping[str, Any]) -> ImportOptions:
    stored = load_yaml(asked["map_file"], ColumnMap) if asked["map_file"] else ColumnMap()
    columns = {**stored.columns, **_pairs(asked["mapped"], "--map", "scenario=task")}
    constants = {**stored.constants, **_pairs(asked["constants"], "--set", "model=gpt-5")}
    units = {**stored.units, **_pairs(asked["units"], "--unit", "duration=ms")}
    judges = _judges(asked) if asked["judge_scores"] else None
    return ImportOptions(asked["form"], columns, asked["passed_if"] or stored.passed_if, stored.baseline,
                   Preparation(constants, units, judges))  # fmt: skip


def _judges(asked: Mapping[str, Any]) -> JudgeTable:
    path = asked["judge_scores"]
    if not path.is_file():
        raise ConfigError(f"--judge-scores {path}: there is no such file")
    table = _READERS[_format_of(path)](path)
    return JudgeTable(table, asked["judge_column"], asked["score_column"], asked["join"])


def _pairs(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name or not sign:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE, as {example}", param_hint=option)
        found[name] = value
    return found


def read_foreign(path: Path, how: ImportOptions, name: str) -> ImportedRows:
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
    return load_rows(table, ImportInput(name, path.name, form, how.columns, rule, how.passed_if, how.baseline,
                                  how.preparation))  # fmt: skip


def _format_of(path: Path) -> Format:
    if path.is_dir():
        return "harbor" if any(path.glob("*/config.json")) or not any(path.glob("*.json")) else "inspect"
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(
            f"{path}: what it is cannot be told by its name; say it: --format {'|'.join(get_args(Format))}"
        )
    return _SUFFIXES[path.suffix.lower()]
