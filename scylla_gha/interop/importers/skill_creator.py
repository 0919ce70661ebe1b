"""Read workspaces of skill-creator (github.com/anthropics/skills, `schemas.md`, read 2026-11-28), a row for each run.

The scenario is the eval, the arm is the configuration (`with_skill`, `without_skill`, `old_skill`), and the repetition
is the number of the run. The score is the share of expectations that passed; a run passed if all did. Grades come from
`grading.json`; a run without a readable one has no score. The newest iteration is read; to read another one, give its
folder `iteration-N`. A configuration without folders `run-N`, as skill-creator itself writes it, is a single run.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.tables import (
    SourceRow,
    SourceTable,
    Value,
    is_number,
    read_json_object,
    text_of,
    trials_table,
)
from scylla_gha.lenient_json import inner_object
from scylla_gha.model.trial import Outcome

_GRADING: Final = "grading.json"
_ORDER: Final = ("without_skill", "old_skill")  # the first arm of the rows is the baseline
_NUMBER: Final = re.compile(r"\d+")
_Object = dict[str, Any]


def read_skill_creator(path: Path) -> SourceTable:
    """Read the runs of a workspace, or of one of its iterations.

    Raises:
        ConfigError: there is no run.
    """
    iterations = sorted(path.glob("iteration-*"), key=lambda folder: (_number(folder), folder.name))
    root = iterations[-1] if iterations else path
    root = root / "runs" if (root / "runs").is_dir() else root
    runs = [run for folder in sorted(root.glob("eval-*"), key=_number) for run in _runs(folder)]
    if not runs:
        raise ConfigError(
            f"{path}: contains no run of skill-creator (eval-N/with_skill/{_GRADING}); give its workspace"
        )
    rows = [
        SourceRow(str(run / _GRADING), dict(_row(folder, configuration, run))) for folder, configuration, run in runs
    ]
    return trials_table(rows, _notes(rows, len(iterations), root))


def _number(path: Path) -> int:
    digits = _NUMBER.search(path.name)
    return int(digits[0]) if digits else 0


def _order(configuration: Path) -> tuple[int, str]:
    name = configuration.name
    return _ORDER.index(name) if name in _ORDER else len(_ORDER), name


def _runs(folder: Path) -> Iterator[tuple[Path, Path, Path]]:
    """Yield for each run of an eval the folders of eval, configuration and run."""
    configurations = sorted(folder.iterdir() if folder.is_dir() else (), key=_order)
    for configuration in configurations:
        runs = sorted(configuration.glob("run-*"), key=_number)
        if not runs and ((configuration / "outputs").is_dir() or (configuration / _GRADING).is_file()):
            runs = [configuration]
        yield from ((folder, configuration, run) for run in runs)


def _notes(rows: list[SourceRow], iterations: int, root: Path) -> Iterator[str]:
    if iterations > 1:
        yield f"{counted(iterations, 'iteration')}: only {root.name}, the newest, is read."
    unread = sum(row.values.get("score") is None for row in rows)
    if unread:
        yield f"{counted(unread, 'run has', 'runs have')} no readable {_GRADING}, and so no score."
    if all(row.values["repetition"] == 1 for row in rows):
        yield "Each eval has one run per configuration, too few to tell a difference from chance."


def _row(folder: Path, configuration: Path, run: Path) -> Iterator[tuple[str, Value]]:
    metadata, _ = _read(folder / "eval_metadata.json")
    grading, fault = _read(run / _GRADING)
    timing = {**inner_object(grading, "timing"), **_read(run / "timing.json")[0]}
    metrics = inner_object(grading, "execution_metrics")
    yield "scenario", folder.name
    yield "title", text_of(metadata.get("eval_name"))
    yield "arm", configuration.name
    yield "repetition", _number(run) if run != configuration else 1
    yield "seconds", timing.get("total_duration_seconds")
    yield "total_tokens", timing.get("total_tokens")
    yield "tool_calls", metrics.get("total_tool_calls")
    yield "outcome", Outcome.COMPLETED.value
    score = _score(grading)
    yield "score", score
    yield "passed", score >= 1.0 if score is not None else None
    if fault:
        yield "reason", fault[:500]


def _score(grading: _Object) -> float | None:
    """Return the share of expectations that passed; without expectations, `summary.pass_rate`. None: unknown."""
    expectations = grading.get("expectations")
    if isinstance(expectations, list) and expectations:
        grades = [expectation.get("passed") for expectation in expectations if isinstance(expectation, dict)]
        known = [grade for grade in grades if isinstance(grade, bool)]
        return sum(known) / len(known) if len(known) == len(expectations) else None
    rate = inner_object(grading, "summary").get("pass_rate")
    return float(rate) if is_number(rate) and 0 <= rate <= 1 else None


def _read(path: Path) -> tuple[_Object, str]:
    """Return a file's JSON object and ""; an empty object and the reason if it cannot be read."""
    try:
        return read_json_object(path.read_bytes(), path.name, keep_non_finite=True), ""
    except (ConfigError, OSError) as error:
        return {}, str(error)
