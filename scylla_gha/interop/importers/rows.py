"""Foreign rows become results and a plan, as if they had been run; their keys are digests of what was read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.columns import ColumnMapping, PassRule, match_columns
from scylla_gha.interop.importers.fields import parse_value
from scylla_gha.interop.importers.prepare import Preparation, prepare
from scylla_gha.interop.importers.sources import SourceRow, SourceTable, Value
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Arm, Cell, CostRange, Estimate, EstimateShare, Format, ImportSource, Plan
from scylla_gha.model.record import digest, slug
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome

AGENT: Final = "imported"
_UNKNOWN: Final = "unknown"
_NOBODY: Final = "none"  # the baseline of no rows
_NO_GUESS: Final = CostRange(low=None, likely=None, high=None)
# What a row must have and another tool does not tell: text says that it is not known, and counts of what this toolkit
# alone does are 0.
_DEFAULTS: Final[dict[str, Value]] = {
    "category": _UNKNOWN, "size": _UNKNOWN, "difficulty": _UNKNOWN, "agent": AGENT, "sandbox": _UNKNOWN,
    "outcome": Outcome.COMPLETED, "items_na": 0, "items_unjudged": 0, "broken_guards": 0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImportInput:
    """How to read foreign rows, as the user says."""

    name: str
    file: str
    format: Format
    columns: Mapping[str, str] = field(default_factory=dict)
    rule: PassRule | None = None
    rule_text: str | None = None
    baseline: str | None = None
    preparation: Preparation = field(default_factory=Preparation)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its fields, and the digest of what it was read from."""

    where: str
    values: dict[str, Any]
    source: str


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """What was made of a table."""

    plan: Plan
    rows: tuple[Result, ...]


def load_rows(table: SourceTable, given: ImportInput) -> ImportedRows:
    """Make results and their plan of a table.

    Raises:
        ConfigError: a value is not what its field takes, a row is there twice, or the baseline is not an arm.
    """
    table, asked = prepare(table, given.columns, given.preparation, given.file)
    columns = match_columns(table, asked, given.rule, given.file)
    rows = [_typed(row, columns) for row in table.rows]
    rows = list(_numbered(rows))
    _refuse_twins(rows)
    notes = list(table.notes)
    names = _cell_names(rows)
    results = tuple(_result(row, given, name) for row, name in zip(rows, names, strict=True))
    odd = sum(row.values.get("passed") is not None and not made.measures_agent
              for row, made in zip(rows, results, strict=True))  # fmt: skip
    if odd and given.rule is None:
        notes.append(
            f"{counted(odd, 'row')} with an outcome that says nothing of the agent: no pass is taken from there."
        )
    if not rows:
        notes.append("The table has no rows.")
    source = ImportSource(
        file=given.file, format=given.format, sha256=digest([row.source for row in rows]), columns=columns.used,
        ignored=columns.ignored, passed_if=given.rule_text, notes=tuple(notes),
    )  # fmt: skip
    return ImportedRows(_plan(results, given, source), results)


def _typed(row: SourceRow, columns: ColumnMapping) -> _Row:
    values = {}
    for name, column in columns.used.items():
        raw = row.values.get(column)
        try:
            values[name] = parse_value(name, raw)
        except ValueError as error:
            said = "" if raw is None or raw == "" else f" {raw!r:.80}"
            raise ConfigError(f"{row.where}: column {column!r} (as {name}):{said} {error}") from None
    return _Row(row.where, values, digest({name: _plain(value) for name, value in row.values.items()}))


def _plain(value: Value) -> Value:
    return value if value is None or isinstance(value, str | int | float | dict | list) else str(value)


def _numbered(rows: Iterable[_Row]) -> Iterator[_Row]:
    """Repetitions that no column tells are counted in the order of the rows."""
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        group = (row.values["scenario"], row.values["arm"])
        seen[group] += 1
        row.values.setdefault("repetition", seen[group])
        yield row


def _refuse_twins(rows: Iterable[_Row]) -> None:
    first: dict[tuple[str, str, int], str] = {}
    for row in rows:
        cell = (row.values["scenario"], row.values["arm"], row.values["repetition"])
        if cell in first:
            raise ConfigError(f"{row.where}: repetition {cell[2]} of {cell[1]!r} on {cell[0]!r} is there already, at "
                              f"{first[cell]}; take one out, or count them by order: --map repetition=")  # fmt: skip
        first[cell] = row.where


def _cell_names(rows: Sequence[_Row]) -> list[str]:
    """Ids as the toolkit's own; where two names are alike but for their signs, a digest tells them apart."""
    scenarios, arms = (_slugs({row.values[name] for row in rows}) for name in ("scenario", "arm"))
    return [f"{scenarios[row.values['scenario']]}--{arms[row.values['arm']]}--r{row.values['repetition']:02d}"
            for row in rows]  # fmt: skip


def _slugs(names: Iterable[str]) -> dict[str, str]:
    short = {name: slug(name) for name in names}
    alike = Counter(short.values())
    return {name: one if one and alike[one] == 1 else f"{one or 'x'}-{digest(name)[:8]}" for name, one in short.items()}


def _result(row: _Row, given: ImportInput, cell: str) -> Result:
    known = {name: value for name, value in row.values.items() if value is not None}
    outcome = known.get("outcome", Outcome.COMPLETED)
    passed = given.rule.passed(known) if given.rule else known.get("passed")
    measures = outcome.measures_agent
    worth = {} if measures else dict.fromkeys(("score", "grade", "progress"))
    blank = {name: None for name, field_ in Result.model_fields.items() if field_.is_required()}
    return Result.model_validate({
        **blank, **_DEFAULTS, "reason": f"imported from {row.where}", **known, **worth,
        "experiment": given.name, "cell": cell, "epoch": "", "passed": passed if measures else None,
        "key": digest([row.values["scenario"], row.values["arm"], row.values["repetition"], row.source]),
        "measures_agent": measures, "judged": measures and passed is not None,
    })  # fmt: skip


def _plan(rows: Sequence[Result], given: ImportInput, source: ImportSource) -> Plan:
    arms = {row.arm: row for row in rows}
    order = list(dict.fromkeys(row.arm for row in rows))
    baseline = given.baseline or (order[0] if order else _NOBODY)
    if order and baseline not in arms:
        raise ConfigError(f"{given.file}: --baseline {baseline!r}: not an arm; the arms are: {', '.join(order[:20])}")
    models: dict[str, set[str | None]] = {}
    for row in rows:
        models.setdefault(row.arm, set()).add(row.model)
    experiment = Experiment(
        id=given.name, question=f"How do the arms of {given.file} compare?", agents=(AGENT,), baseline=baseline,
        scenarios=tuple(dict.fromkeys(row.scenario for row in rows)) or ("*",),
    )  # fmt: skip
    share = EstimateShare(usd=_NO_GUESS, minutes=_NO_GUESS)
    return Plan(
        experiment=experiment,
        arms=tuple(Arm(id=arm, agent=AGENT, version=None, model=_only(models[arm])) for arm in order),
        cells=tuple(Cell(id=row.cell, scenario=row.scenario, arm=row.arm, repetition=row.repetition, key=row.key)
                    for row in rows),
        estimate=Estimate(agents=share, judges=share, basis="none: the rows are imported"), imported=source,
    )  # fmt: skip


def _only(values: set[str | None]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None
