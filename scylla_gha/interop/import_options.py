"""Reading of another tool's rows, and the command-line options that say how."""

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import click

from scylla_gha.config.load import load_yaml
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.columns import JudgeTable
from scylla_gha.interop.importers.harbor import read_harbor
from scylla_gha.interop.importers.inspect_samples import read_inspect
from scylla_gha.interop.importers.rows import ImportedRows, ImportOptions, load_rows
from scylla_gha.interop.importers.tables import SourceTable, read_csv, read_jsonl, read_parquet
from scylla_gha.model.plan import ColumnMap, Format

_READERS: Final[Mapping[Format, Callable[[Path], SourceTable]]] = {
    "csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet, "harbor": read_harbor, "inspect": read_inspect,
}  # fmt: skip
_SUFFIXES: Final[Mapping[str, Format]] = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".json": "inspect",
}  # fmt: skip
_NAMES: Final = ("form", "map_file", "mapped", "constants", "units", "passed_if", "judge_scores", "judge_column",
                 "score_column", "join")  # fmt: skip
_OPTIONS: Final = (
    click.option("--format", "form", type=click.Choice(get_args(Format)), show_default="by the file's name",
                 help="Format of another tool's rows."),
    click.option("--map", "mapped", multiple=True, metavar="FIELD=COLUMN",
                 help="Column of another tool for one of our fields, such as scenario=task; arm=model+prompt joins two "
                      "columns, and FIELD= means no column; may be repeated."),
    click.option("--map-file", type=click.Path(path_type=Path, dir_okay=False),
                 help="YAML file with columns (field: column), constants, units, passed_if, baseline."),
    click.option("--set", "constants", multiple=True, metavar="FIELD=VALUE",
                 help="Value of a field in all rows, such as model=claude-sonnet-5; may be repeated."),
    click.option("--unit", "units", multiple=True, metavar="COLUMN=UNIT",
                 help="Unit of a column: ns, us, ms, s, min, h of times, usd or cent of costs, share or percent of "
                      "scores (default: s, usd, share); may be repeated."),
    click.option("--passed-if", metavar="RULE", help="Condition under which a row has passed, such as 'score>=0.6'."),
    click.option("--judge-scores", type=click.Path(path_type=Path, dir_okay=False),
                 help="Second file (CSV, JSON lines or Parquet) with one score of one judge in each row."),
    click.option("--judge-column", default="judge", show_default=True,
                 help="Column of --judge-scores with the judge's name."),
    click.option("--score-column", default="score", show_default=True,
                 help="Column of --judge-scores with the score, 0 to 1."),
    click.option("--join", multiple=True, metavar="COLUMN",
                 help="Column of both files that identifies the judged row (default: all columns that both have)."),
)  # fmt: skip


def import_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how foreign rows are read; the command gets them as one `how`."""

    @functools.wraps(command)
    def with_import_options(**values: object) -> None:
        import_values = {name: values.pop(name) for name in _NAMES}
        command(how=_import_options(import_values), **values)

    for option in reversed(_OPTIONS):
        with_import_options = option(with_import_options)
    return with_import_options


def _import_options(values: Mapping[str, Any]) -> ImportOptions:
    stored = load_yaml(values["map_file"], ColumnMap) if values["map_file"] else ColumnMap()
    mapping = stored.model_copy(update={
        "columns": {**stored.columns, **_pairs(values["mapped"], "--map", "scenario=task")},
        "constants": {**stored.constants, **_pairs(values["constants"], "--set", "model=gpt-5")},
        "units": {**stored.units, **_pairs(values["units"], "--unit", "duration=ms")},
        "passed_if": values["passed_if"] or stored.passed_if,
    })  # fmt: skip
    path = values["judge_scores"]
    if path is None:
        return ImportOptions(mapping, values["form"])
    if not path.is_file():
        raise ConfigError(f"--judge-scores {path}: there is no such file")
    table = _READERS[_format_of(path)](path)
    judges = JudgeTable(table, values["judge_column"], values["score_column"], values["join"])
    return ImportOptions(mapping, values["form"], judges)


def _pairs(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name or not sign:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE, as {example}", param_hint=option)
        pairs[name] = value
    return pairs


def read_foreign(path: Path, how: ImportOptions, name: str) -> ImportedRows:
    """Read a file or folder of another tool's rows.

    Raises:
        ConfigError: it does not exist, or is not what it should be.
        ToolError: a package that reads it is not installed.
    """
    if not path.exists():
        raise ConfigError(f"{path}: there is no such file or folder")
    form = how.format or _format_of(path)
    if path.is_dir() and form not in {"harbor", "inspect"}:
        raise ConfigError(f"{path}: is a folder, and {form} is a file; name the file")
    return load_rows(_READERS[form](path), path.name, form, name, how)


def _format_of(path: Path) -> Format:
    if path.is_dir():
        return "harbor" if any(path.glob("*/config.json")) or not any(path.glob("*.json")) else "inspect"
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(
            f"{path}: the format cannot be known from the name; add --format {'|'.join(get_args(Format))}"
        )
    return _SUFFIXES[path.suffix.lower()]
