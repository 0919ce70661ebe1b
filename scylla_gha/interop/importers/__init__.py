"""Import another tool's rows: their formats, the command-line options, and the conversion to results and a plan.

The keys of imported results are digests of the rows.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_args

import click

from scylla_gha.config import load_yaml
from scylla_gha.counting import counted, first_of
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.columns import JudgeTable, PassRule, map_columns, parse_rule
from scylla_gha.interop.importers.harbor import read_harbor
from scylla_gha.interop.importers.inspect_samples import read_inspect
from scylla_gha.interop.importers.skill_creator import read_skill_creator
from scylla_gha.interop.importers.tables import SourceTable, Value, read_csv, read_jsonl, read_parquet
from scylla_gha.interop.importers.values import ParsedRow, parse_row
from scylla_gha.model import digest, slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.mode import Mode
from scylla_gha.model.plan import Arm, Cell, ColumnMap, CostRange, Estimate, EstimateShare, Format, ImportSource, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.store.rows import require_same_github

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
        help="Column of the other tool for a field of results, such as scenario=task; arm=model+prompt joins two "
        "columns, FIELD= uses no column; may be repeated.",
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
        help="Unit of a column: ns, us, ms, s, min or h for times, usd or cent for costs, share or percent for "
        "scores (default: s, usd, share); may be repeated.",
    ),
    click.option("--passed-if", metavar="RULE", help="Condition for a row to have passed, such as 'score>=0.6'."),
    click.option(
        "--judge-scores",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Second file (CSV, JSON lines or Parquet) with a judge's score in each row.",
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
    "skill-creator": read_skill_creator,
}
_SUFFIXES: Final[Mapping[str, Format]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".json": "inspect",
}
_FOLDER_FORMATS: Final = frozenset({"harbor", "inspect", "skill-creator"})  # can be read from a folder
_AGENT: Final = "imported"
_UNKNOWN: Final = "unknown"
_MOST_NAMED: Final = 5  # rows in a note
_NO_BASELINE: Final = "none"  # baseline of a table without rows
_NO_COST: Final = EstimateShare(**dict.fromkeys(("usd", "minutes"), CostRange(low=None, likely=None, high=None)))
# Values of required fields that other tools lack: texts are unknown, and counts of this toolkit's features are 0.
_DEFAULTS: Final[dict[str, Value]] = {
    "category": _UNKNOWN,
    "size": _UNKNOWN,
    "difficulty": _UNKNOWN,
    "agent": _AGENT,
    "sandbox": _UNKNOWN,
    "outcome": Outcome.COMPLETED,
    "items_na": 0,
    "items_unjudged": 0,
    "broken_guards": 0,
}


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options for reading another tool's rows. `format` None: by the file's name; `judges` None: no second file."""

    mapping: ColumnMap = field(default_factory=ColumnMap)
    format: Format | None = None
    judges: JudgeTable | None = None


def import_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for reading another tool's rows; the command gets them as the argument `how`."""

    @functools.wraps(command)
    def with_import_options(**values: object) -> None:
        command(how=_take_options(values), **values)

    for option in reversed(_OPTIONS):
        with_import_options = option(with_import_options)
    return with_import_options


def _take_options(values: dict[str, Any]) -> ImportOptions:
    """Remove the options for reading another tool's rows from a command's values, and return them."""
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
        ConfigError: the file or folder is not in that format.
        ToolError: a package that reads the format is not installed.
    """
    if path.is_dir() and file_format not in _FOLDER_FORMATS:
        raise ConfigError(f"{path}: is a folder, but the format {file_format} is a file; name the file")
    return _READERS[file_format](path)


def format_of(path: Path) -> Format:
    """Return the format of a file or folder by its name.

    Raises:
        ConfigError: the name has no known suffix.
    """
    if path.is_dir():
        if any(path.glob("eval-*/*/")) or any(path.glob("iteration-*/eval-*/")):
            return "skill-creator"
        return "harbor" if any(path.glob("*/config.json")) or not any(path.glob("*.json")) else "inspect"
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: the name does not show the format; add --format {'|'.join(get_args(Format))}")
    return _SUFFIXES[path.suffix.lower()]


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """Results of a table, and a plan that fits them."""

    plan: Plan
    rows: tuple[Result, ...]


def load_rows(table: SourceTable, file: str, file_format: Format, name: str, options: ImportOptions) -> ImportedRows:
    """Convert a table to results and their plan; columns may be added to the table.

    Args:
        table: the rows.
        file: name of the file, for messages and the report.
        file_format: format of the file.
        name: name of the run.
        options: mapping of columns, and judges' scores.

    Raises:
        ConfigError: a value does not fit its field, a cell has two rows, the baseline is not an arm, or the rows mix
            trials on the hub and on github.com.
    """
    mapping = options.mapping
    rule = parse_rule(mapping.passed_if) if mapping.passed_if else None
    columns = map_columns(table, mapping, rule, options.judges, file)
    rows = [parse_row(row, columns, trials_of_a_tool=table.trials_of_a_tool) for row in table.rows]
    _number_repetitions(rows)
    results = [_result(row, name, cell, rule) for row, cell in zip(rows, _cell_names(rows), strict=True)]
    require_same_github(results, file)
    notes = [*table.notes, *_notes(rows)]
    if not table.trials_of_a_tool:
        notes.extend(_repetition_notes(rows, columns))
    unmeasured = sum(
        row.values.get("passed") is not None and not result.measures_agent
        for row, result in zip(rows, results, strict=True)
    )
    if unmeasured and rule is None:
        notes.append(
            f"{counted(unmeasured, 'row has', 'rows have')} an outcome that does not measure the agent, so the verdict "
            "is ignored."
        )
    source = ImportSource(
        file=file,
        format=file_format,
        sha256=digest([row.digest for row in rows]),
        columns=columns,
        ignored=tuple(column for column in table.columns if column not in columns.values()),
        passed_if=mapping.passed_if,
        notes=tuple(notes),
    )
    return ImportedRows(_plan(results, name, mapping.baseline, source), tuple(results))


def _notes(rows: Sequence[ParsedRow]) -> Iterator[str]:
    """Yield notes for the report on an empty table, unusable values and times without an offset."""
    if not rows:
        yield "The table has no rows."
    unusable = [f"{row.source.where}: {'; '.join(row.unusable)}" for row in rows if row.unusable]
    if unusable:
        yield (
            f"{counted(len(unusable), 'row has', 'rows have')} unusable values, which count as unknown: "
            f"{first_of(unusable, _MOST_NAMED, '; ')}."
        )
    local = sum(row.has_local_time for row in rows)
    if local:
        yield f"{counted(local, 'row has', 'rows have')} a time without an offset from UTC, which is read as UTC."


def _repetition_notes(rows: Sequence[ParsedRow], columns: Mapping[str, str]) -> Iterator[str]:
    """Yield a note on rows that count as repetitions, though a resumed run or a second scorer may have written them."""
    groups = {(row.values["scenario"], row.values["arm"]) for row in rows}
    if "repetition" in columns or len(groups) == len(rows):
        return
    equal = len(rows) - len({row.digest for row in rows})
    yield (
        f"{counted(len(rows) - len(groups), 'row has', 'rows have')} the scenario and arm of an earlier row, and count "
        f"as repetitions; {counted(equal, 'of them equals', 'of them equal')} an earlier row in all columns. If a "
        "resumed run or a second scorer wrote them, keep one row for each trial, or map what distinguishes them: "
        "--map arm=model+COLUMN, --map repetition=COLUMN."
    )


def _number_repetitions(rows: Sequence[ParsedRow]) -> None:
    """Number repetitions in the order of the rows if no column has their numbers.

    Raises:
        ConfigError: a cell has two rows.
    """
    first: dict[tuple[str, str, int], str] = {}
    for row in rows:
        if "repetition" in row.values:
            cell = (row.values["scenario"], row.values["arm"], row.values["repetition"])
            earlier = first.setdefault(cell, row.source.where)
            if earlier != row.source.where:
                raise ConfigError(
                    f"{row.source.where}: repetition {cell[2]} of {cell[1]!r} on {cell[0]!r} exists already "
                    f"at {earlier}; keep the valid row (of a resumed run, usually the last), or, if both are "
                    "trials, number them by order: --map repetition="
                )
    numbers: dict[tuple[str, str], Iterator[int]] = {}
    for row in rows:
        group = (row.values["scenario"], row.values["arm"])
        free = numbers.setdefault(group, (number for number in itertools.count(1) if (*group, number) not in first))
        if "repetition" not in row.values:
            row.values["repetition"] = next(free)


def _cell_names(rows: Sequence[ParsedRow]) -> list[str]:
    """Return cell ids; a digest distinguishes scenarios or arms whose names have equal slugs."""
    scenarios, arms = (_slugs({row.values[name] for row in rows}) for name in ("scenario", "arm"))
    return [
        f"{scenarios[row.values['scenario']]}--{arms[row.values['arm']]}--r{row.values['repetition']:02d}"
        for row in rows
    ]


def _slugs(names: Iterable[str]) -> dict[str, str]:
    slugs = {name: slug(name) for name in names}
    counts = Counter(slugs.values())
    return {
        name: short if short and counts[short] == 1 else f"{short or 'x'}-{digest(name)[:8]}"
        for name, short in slugs.items()
    }


def _result(row: ParsedRow, experiment: str, cell: str, rule: PassRule | None) -> Result:
    known = {name: value for name, value in row.values.items() if value is not None}
    outcome = known.get("outcome", Outcome.COMPLETED)
    passed = rule.passed(known) if rule else known.get("passed")
    measures = outcome.measures_agent
    unscored = {} if measures else dict.fromkeys(("score", "grade", "progress"))
    unjudged = ": ".join(("imported without a verdict", *(["; ".join(row.unusable)] if row.unusable else [])))
    blank = {name: None for name, info in Result.model_fields.items() if info.is_required()}
    return Result.model_validate(
        {
            **blank,
            **_DEFAULTS,
            "reason": f"imported from {row.source.where}",
            **known,
            **unscored,
            "experiment": experiment,
            "cell": cell,
            "epoch": "",
            "passed": passed if measures else None,
            "key": digest([row.values["scenario"], row.values["arm"], row.values["repetition"], row.digest]),
            "measures_agent": measures,
            "judged": measures and passed is not None,
            "unjudged": known.get("unjudged", unjudged) if measures and passed is None else None,
        }
    )


def _plan(rows: Sequence[Result], name: str, baseline: str | None, source: ImportSource) -> Plan:
    arms = _arms(rows)
    names = [arm.id for arm in arms]
    if baseline and names and baseline not in names:
        raise ConfigError(f"{source.file}: --baseline {baseline!r}: not an arm; the arms are: {', '.join(names[:20])}")
    modes = dict.fromkeys(arm.mode.id for arm in arms if arm.mode)
    experiment = Experiment(
        id=name,
        question=f"How do the arms of {source.file} compare?",
        agents=(_AGENT,),
        baseline=baseline or next(iter(names), _NO_BASELINE),
        modes=() if baseline else tuple(modes),
        scenarios=tuple(dict.fromkeys(row.scenario for row in rows)) or ("*",),
    )
    cells = (
        Cell(id=row.cell, scenario=row.scenario, arm=row.arm, repetition=row.repetition, key=row.key) for row in rows
    )
    estimate = Estimate(agents=_NO_COST, judges=_NO_COST, basis="none: the rows are imported")
    return Plan(experiment=experiment, arms=arms, cells=tuple(cells), estimate=estimate, imported=source)


def _arms(rows: Sequence[Result]) -> tuple[Arm, ...]:
    """Return the arms in the order of the rows; a value that differs between rows of an arm is unknown."""
    columns: dict[str, tuple[set[str | None], ...]] = {}
    for row in rows:
        values = columns.setdefault(row.arm, (set(), set(), set(), set()))
        for distinct, value in zip(values, (row.mode, row.variant, row.agent, row.model), strict=True):
            distinct.add(value)
    modes = _slugs(mode for row_modes, *_ in columns.values() for mode in row_modes if mode)
    arms = []
    for name, values in columns.items():
        mode, variant, agent, model = (next(iter(distinct)) if len(distinct) == 1 else None for distinct in values)
        arms.append(
            Arm(
                id=name,
                agent=agent or _AGENT,
                version=None,
                model=model,
                variant=Variant(id=variant, treatment=Treatment()) if variant else None,
                mode=Mode(id=modes[mode]) if mode else None,
            )
        )
    return tuple(arms)


def read_foreign(path: Path, how: ImportOptions, name: str) -> ImportedRows:
    """Read a file or folder of another tool's rows.

    Raises:
        ConfigError: the path does not exist, or its content is not in the format.
        ToolError: a package that reads the format is not installed.
    """
    if not path.exists():
        raise ConfigError(f"{path}: there is no such file or folder")
    file_format = how.format or format_of(path)
    return load_rows(read_table(path, file_format), path.name, file_format, name, how)
