"""Export a run of evals as a workspace of skill-creator (github.com/anthropics/skills, `schemas.md`, read 2026-11-28).

```
iteration-1/benchmark.json
iteration-1/eval-<id>/eval_metadata.json
iteration-1/eval-<id>/<configuration>/run-<N>/  grading.json timing.json transcript.md outputs/
```

A configuration is `with_skill`, `without_skill` or `old_skill`. A repetition is a run. Trials that do not measure the
agent or were not judged are left out and counted in the notes, since skill-creator has no "unknown" grade.
"""

import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.rows import json_bytes
from scylla_gha.model.judgment import ItemScore
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import AttemptRecord, CellRecord, Result
from scylla_gha.model.skill_help import HELP_FILE, SkillHelp
from scylla_gha.store import read_record, write_bytes, write_text
from scylla_gha.store.run_folder import RunFolder
from scylla_gha.system.git import run_git

CONFIGURATIONS: Final = {"with": "with_skill", "without": "without_skill", "base": "old_skill"}
_ITERATION: Final = "iteration-1"
_MOST_BYTES: Final = 20 * 1024 * 1024  # maximum size of an exported output file
_Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GradedRun:
    """A trial with its grades, under skill-creator's names."""

    eval_id: int
    eval_name: str
    scenario: str
    configuration: str
    row: Result
    work: AttemptRecord
    items: tuple[ItemScore, ...]

    @property
    def folder(self) -> str:
        """The run's folder in the workspace."""
        return f"{_ITERATION}/eval-{self.eval_id}/{self.configuration}/run-{self.row.repetition}"

    @property
    def expectations(self) -> list[_Object]:
        """Assertions with a grade."""
        return [
            {"text": item.text, "passed": item.value >= 1.0, "evidence": item.reason}
            for item in self.items
            if item.value is not None
        ]

    @property
    def summary(self) -> _Object:
        """Counts of the grades."""
        total = len(self.expectations)
        passed = sum(bool(expectation["passed"]) for expectation in self.expectations)
        rate = round(passed / total, 4) if total else 0.0
        return {"passed": passed, "failed": total - passed, "total": total, "pass_rate": rate}

    @property
    def tokens(self) -> int:
        """Tokens of all kinds; 0 if unknown, since the format has no other value for it."""
        row = self.row
        kinds = (row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
        return row.total_tokens or sum(kind or 0 for kind in kinds)

    @property
    def final_message(self) -> str:
        """Last message of the agent; empty if it is unknown."""
        return (self.work.trajectory.final_message if self.work.trajectory else None) or ""

    @property
    def notes(self) -> list[str]:
        """Notes on assertions without a grade."""
        return [f"Not graded: {item.text} ({item.reason})" for item in self.items if item.value is None]


def write_workspace(
    plan: Plan, rows: Sequence[Result], records: Mapping[str, CellRecord], folder: RunFolder, target: Path
) -> str:
    """Write the workspace of a run; return a note on the number of trials that are left out, or "".

    Raises:
        ConfigError: the run is not a run of `scylla-gha skill`, or no trial has a grade.
    """
    runs = list(_graded(plan, rows, records))
    if not runs:
        raise ConfigError(
            f"{folder.root}: no trial is graded, so there is nothing to export for skill-creator; "
            "run `scylla-gha skill` first"
        )
    missing = len(plan.cells) - len(runs)
    note = f"{missing} of {counted(len(plan.cells), 'trial')} left out: not graded" if missing else ""
    for run in runs:
        _write_run(run, folder, target / run.folder)
        metadata = {
            "eval_id": run.eval_id,
            "eval_name": run.eval_name,
            "prompt": run.work.prompt or "",
            "assertions": [item.text for item in run.items],
        }
        _write_json(target / _ITERATION / f"eval-{run.eval_id}" / "eval_metadata.json", metadata)
    notes = [*_claims(folder), *([note] if note else [])]
    _write_json(target / _ITERATION / "benchmark.json", {**_benchmark(plan, runs), "notes": notes})
    return note


def _graded(plan: Plan, rows: Sequence[Result], records: Mapping[str, CellRecord]) -> Iterator[GradedRun]:
    numbers = _eval_numbers(cell.scenario for cell in plan.cells)
    for row in rows:
        configuration = CONFIGURATIONS.get((row.variant or "").rpartition("-")[2])
        if configuration is None:
            raise ConfigError(f"{row.arm}: is not an arm with or without a skill; export a run of `scylla-gha skill`")
        record = records.get(row.cell)
        if record is None or record.judgment is None or not row.measures_agent or not record.works:
            continue
        name = row.scenario.partition("-")[2]
        number = numbers[row.scenario]
        title = f"Eval {number}" if name == "eval" else name
        items = record.judgment.items
        yield GradedRun(number, title, row.scenario, configuration, row, record.works[-1], items)


def _eval_numbers(scenarios: Iterable[str]) -> dict[str, int]:
    """Return the number of each eval: its id, or a free number if the id is a word."""
    names = sorted(set(scenarios))
    numbers = {name: int(name.partition("-")[0]) for name in names if name.endswith("-eval")}
    free = (number for number in range(1, len(names) + 1000) if number not in numbers.values())
    return {**numbers, **{name: next(free) for name in names if name not in numbers}}


def _write_run(run: GradedRun, folder: RunFolder, target: Path) -> None:
    row, seconds = run.row, run.row.seconds or 0.0
    transcript = _transcript(run)
    outputs = list(_outputs(run, folder))
    metrics = {
        "tool_calls": row.tools,
        "total_tool_calls": row.tool_calls or 0,
        "total_steps": row.turns or 0,
        "errors_encountered": row.failed_tool_calls or 0,
        "output_chars": len(run.final_message) + sum(len(content) for _, content in outputs),
        "transcript_chars": len(transcript),
    }
    grading = {
        "expectations": run.expectations,
        "summary": run.summary,
        "execution_metrics": metrics,
        "user_notes_summary": {"uncertainties": [], "needs_review": run.notes, "workarounds": []},
    }
    timing = {
        "total_tokens": run.tokens,
        "duration_ms": round(seconds * 1000),
        "total_duration_seconds": seconds,
    }
    # No times in grading.json: with them, skill-creator's script would not read the tokens in timing.json.
    _write_json(target / "grading.json", grading)
    _write_json(target / "timing.json", timing)
    write_text(target / "transcript.md", transcript)
    write_text(target / "outputs" / "answer.md", run.final_message)
    for name, content in outputs:
        write_bytes(target / "outputs" / name, content)


def _transcript(run: GradedRun) -> str:
    parts = [f"## Eval Prompt\n\n{run.work.prompt or ''}"]
    for number, step in enumerate(run.work.trajectory.steps if run.work.trajectory else (), 1):
        calls = [f"**{call.name}** `{call.arguments}`\n\n```\n{call.result or ''}\n```" for call in step.tool_calls]
        parts.append("\n\n".join([f"## {number}. {step.source}", *filter(None, [step.text]), *calls]))
    return "\n\n".join(parts) + "\n"


def _outputs(run: GradedRun, folder: RunFolder) -> Iterator[tuple[str, bytes]]:
    """Yield the files that the agent changed, with `/` in names replaced by `_`, since the viewer has no folders."""
    patch = folder.cell(run.row.cell).attempt(run.work.number).file("diff.patch")
    diff = run.work.attempt.diff if run.work.attempt else None
    if diff is None or not diff.files or not patch.is_file():
        return
    with tempfile.TemporaryDirectory() as text:
        git, tree = Path(text) / "git", Path(text) / "tree"
        start = folder.root / "suite" / "fixtures" / f"{run.row.experiment}.{run.scenario}"
        if start.is_dir():
            shutil.copytree(start, tree)
        tree.mkdir(exist_ok=True)
        run_git(git, "init", "-q", work_tree=tree)
        run_git(git, "apply", "--binary", "--whitespace=nowarn", "-", work_tree=tree, stdin=patch.read_bytes())
        for name in diff.files:
            path = tree / name
            is_link = any(part.is_symlink() for part in (path, *path.parents))
            if path.is_file() and not is_link and path.stat().st_size <= _MOST_BYTES:
                yield name.replace("/", "_"), path.read_bytes()


def _claims(folder: RunFolder) -> Iterator[str]:
    """Yield the run's verdicts with their intervals as text, since the format has no fields for them."""
    answer = read_record(folder.root / HELP_FILE, SkillHelp)
    for contrast in answer.contrasts if answer else ():
        against = "no skill" if contrast.against == "none" else "the last version"
        if claim := contrast.here:
            difference = counted(100 * claim.value, "point", form="+.0f")
            ends = " to ".join(f"{100 * end:+.0f}" for end in (claim.low, claim.high))
            text = f"{claim.verdict.replace('_', ' ')}, {difference} of assertions (95 %: {ends})"
        else:
            text = f"not enough data: {contrast.no_claim}"
        yield f"On these evals, against {against}: {text}. {contrast.too_few}".rstrip()


def _benchmark(plan: Plan, runs: Sequence[GradedRun]) -> _Object:
    by_configuration: dict[str, list[GradedRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.eval_id, run.configuration != "with_skill", run.row.repetition)):
        by_configuration[run.configuration].append(run)
    summaries = {name: _summary(group) for name, group in by_configuration.items()}
    repetitions = Counter(run.row.repetition for run in runs)
    metadata = {
        "skill_name": plan.experiment.id.removeprefix("skill-"),
        "executor_model": next((run.row.model for run in runs if run.row.model), ""),
        "analyzer_model": ", ".join(plan.experiment.judges),
        "timestamp": min((run.row.started_at.isoformat() for run in runs if run.row.started_at), default=""),
        "evals_run": sorted({run.eval_id for run in runs}),
        "runs_per_configuration": max(repetitions),
    }
    return {
        "metadata": metadata,
        "runs": [_run(run) for group in by_configuration.values() for run in group],
        "run_summary": {**summaries, **_delta(summaries)},
    }


def _run(run: GradedRun) -> _Object:
    row = run.row
    result = {
        **run.summary,
        "time_seconds": row.seconds or 0.0,
        "tokens": run.tokens,
        "tool_calls": row.tool_calls or 0,
        "errors": row.failed_tool_calls or 0,
    }
    return {
        "eval_id": run.eval_id,
        "eval_name": run.eval_name,
        "configuration": run.configuration,
        "run_number": row.repetition,
        "result": result,
        "expectations": run.expectations,
        "notes": run.notes,
    }


def _summary(runs: Sequence[GradedRun]) -> _Object:
    return {
        "pass_rate": _spread([run.summary["pass_rate"] for run in runs]),
        "time_seconds": _spread([run.row.seconds or 0.0 for run in runs]),
        "tokens": _spread([float(run.tokens) for run in runs]),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    spread = stdev(values) if len(values) > 1 else 0.0
    numbers = {"mean": fmean(values), "stddev": spread, "min": min(values), "max": max(values)}
    return {name: round(value, 4) for name, value in numbers.items()}


def _delta(summaries: Mapping[str, _Object]) -> _Object:
    """Return the differences to the last version, else to no skill, in skill-creator's number format."""
    with_skill = summaries.get("with_skill")
    other = summaries.get("old_skill") or summaries.get("without_skill")
    if with_skill is None or other is None:
        return {}
    forms = {"pass_rate": "+.2f", "time_seconds": "+.1f", "tokens": "+.0f"}
    return {
        "delta": {name: format(with_skill[name]["mean"] - other[name]["mean"], form) for name, form in forms.items()}
    }


def _write_json(path: Path, value: _Object) -> None:
    write_bytes(path, json_bytes(value, indent=1) + b"\n")
