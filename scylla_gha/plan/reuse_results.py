"""Reuse of stored rows under the same keys, and the fingerprint of the environment that the keys depend on.

A row is reused if it has the planned cell's key and digest of judging. Its origin does not
matter: an earlier attempt or wave, the merge base of a pull request, or another day. If the planned keys are not valid
on another machine, the fingerprint shows which versions and digests differ.
"""

import datetime
import functools
import platform
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.config.keys import KEY_VERSION, judging_digest, panel_digest
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.counting import counted, first_of
from scylla_gha.errors import RefusedError
from scylla_gha.images import SandboxImages
from scylla_gha.model.experiment import agent_name
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.plan.cells import key_of
from scylla_gha.prepare.tools import toolbox_digest
from scylla_gha.store.rows import LINE_BYTES, UntrustedFileError, open_file, row_fault

_FILE_BYTES: Final = 2 * 1024**3
# Rows of a run, its shards, and artifacts. Deeper folders are workspaces, where an agent could plant rows.
_ROW_FILES: Final = ("*.jsonl", "*/results.jsonl", "shards/*/results.jsonl")
_UNKNOWN_TIME: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_NAMED: Final = 5  # maximum number of differences in a message
_DIGEST_LENGTH: Final = 64


def judging_of(plan: Plan, library: Library) -> dict[str, str]:
    """Return the current digest of checks, rubric and judges, by planned scenario.

    Raises:
        ConfigError: a planned scenario is not in the library, or cannot be read.
    """
    panel = panel_digest(plan.experiment.judges, library.roots, plan.experiment.model_settings.judge)
    names = sorted({cell.scenario for cell in plan.cells})
    return {
        name: judging_digest(library.scenario(name).judging_digest, panel, plan.check_images.get(name))
        for name in names
    }


def reusable(paths: Sequence[Path], plan: Plan, library: Library) -> dict[str, Result]:
    """Return the newest reusable row of each planned cell, by the cell's id.

    Args:
        paths: files of rows, and folders of a run or of artifacts. Missing paths, and lines that are not rows of this
            version, are skipped; their cells only need new trials.
        plan: plan with the cells and the maximum age of rows.
        library: library with the checks and rubrics.

    Raises:
        ConfigError: a planned scenario is not in the library, or cannot be read.
    """
    planned, judging = {cell.key: cell for cell in plan.cells}, judging_of(plan, library)
    variants = {arm.id: arm.variant.id if arm.variant else None for arm in plan.arms}
    reused: dict[str, Result] = {}
    for row in stored_rows(paths):
        cell = planned.get(row.key)
        if cell is None or (row.scenario, row.repetition) != (cell.scenario, cell.repetition):
            continue
        is_old = plan.not_before is not None and _start_time(row) < plan.not_before
        if is_old or not (row.measures_agent and row.judged) or row.judging != judging[cell.scenario]:
            continue
        if cell.id not in reused or _start_time(row) > _start_time(reused[cell.id]):
            # Use this plan's names, since a change was another arm before its merge.
            names = {
                "experiment": plan.experiment.id,
                "epoch": plan.epoch,
                "cell": cell.id,
                "arm": cell.arm,
                "variant": variants[cell.arm],
            }
            reused[cell.id] = row.model_copy(update=names)
    return reused


def changed_skill_notes(plan: Plan, paths: Sequence[Path]) -> Iterator[str]:
    """Yield a note if stored rows of arms with skills have other keys than the planned cells.

    Args:
        plan: has the cells.
        paths: as in `reusable`.
    """
    arms = {arm.id for arm in plan.arms if arm.variant and arm.variant.treatment.skills}
    keys = {cell.id: cell.key for cell in plan.cells if cell.arm in arms}
    rows = (row for row in stored_rows(paths) if row.epoch == plan.epoch) if keys else ()
    count = len({row.cell for row in rows if row.key != keys.get(row.cell, row.key)})
    if count:
        yield (
            f"{counted(count, 'stored trial')} of arms with skills had another key and will be run again: skills "
            "are now delivered under their own names, without evals and tests, which changed the keys of such arms "
            "once; or their files or settings changed"
        )


def _start_time(row: Result) -> datetime.datetime:
    return row.started_at or _UNKNOWN_TIME


def stored_rows(paths: Sequence[Path]) -> Iterator[Result]:
    """Read all rows of this version of the toolkit in files, and in folders of runs, shards or artifacts."""
    for path in paths:
        if path.is_dir():
            for file in sorted({file for pattern in _ROW_FILES for file in path.glob(pattern)}):
                if not file.parent.is_symlink():
                    yield from _rows_of(file)
        elif path.exists():
            yield from _rows_of(path.resolve())  # the path may be a link


def _rows_of(path: Path) -> Iterator[Result]:
    try:
        with open_file(path, _FILE_BYTES) as file:
            yield from filter(None, map(_row, _lines(file)))
    except UntrustedFileError:
        return


def _lines(file: BufferedReader) -> Iterator[bytes]:
    """Yield the lines, except lines longer than any row."""
    is_start = True
    while line := file.readline(LINE_BYTES):
        if is_start:
            yield line
        is_start = line.endswith(b"\n")


def _row(line: bytes) -> Result | None:
    try:
        row = Result.model_validate_json(line)
    except ValidationError:
        return None
    return None if row_fault(row) else row


def environment_fingerprint(
    plan: Plan, sources: ConfigSources, images: SandboxImages, versions: Mapping[str, str | None]
) -> dict[str, str]:
    """Return, by name, the versions and digests behind the keys of a plan's cells and judgments.

    Args:
        plan: has the cells.
        sources: sources of this machine's configuration.
        images: sandbox and images of this machine.
        versions: versions of this machine's agents, by their ids in the experiment; None: unknown.
    """
    library, variants = sources.here, functools.cache(Library.variants)
    by_name = {agent_name(agent_id)[0]: version for agent_id, version in versions.items()}
    experiment, arms = plan.experiment, {name: plan.arm(name) for name in dict.fromkeys(c.arm for c in plan.cells)}
    values = {
        "python": f"{platform.python_version()} {platform.machine()}",
        "key version": str(KEY_VERSION),
        "sandbox": images.sandbox,
        "judges": panel_digest(experiment.judges, library.roots, experiment.model_settings.judge),
    }
    values |= {f"agent {arm.agent}": by_name.get(arm.agent) or "unknown" for arm in arms.values()}
    for arm in arms.values():
        if arm.variant:
            own = variants(sources.variant(arm)).get(arm.variant.id)
            suffix = " of the change" if arm.side else ""
            values[f"variant {arm.variant.id}{suffix}"] = own.digest if own else "not there"
        if arm.mode:
            values[f"mode {arm.mode.id}"] = sources.variant(arm).mode(arm.mode.id).digest
    groups = dict.fromkeys((cell.scenario, cell.arm) for cell in plan.cells)
    for name in dict.fromkeys(scenario for scenario, _ in groups):
        values |= _of_scenario(name, library, images)
    for name, arm in {(name, arms[arm_id].agent): (name, arms[arm_id]) for name, arm_id in groups}.values():
        folder = library.scenario(name)
        if (image := images.image(folder.scenario.tools, folder.arm(arm))) is not None:
            values[f"image of {arm.agent} for {name}"] = image
    return values


def _of_scenario(name: str, library: Library, images: SandboxImages) -> dict[str, str]:
    folder = library.scenario(name)
    image = images.image(folder.scenario.tools, None)
    return {
        f"task of {name}": folder.task_digest,
        f"solution of {name}": folder.solution_digest,
        f"checks and rubric of {name}": folder.judging_digest,
        f"tools of {name}": toolbox_digest(folder.scenario.tools),
        **({f"image of the checks of {name}": image} if image else {}),
        **({f"mode of {name}": folder.mode.digest} if folder.mode else {}),
    }


def require_same_environment(
    plan: Plan, planned: Mapping[str, str], here: Mapping[str, str], library: Library, images: SandboxImages
) -> None:
    """Check that the planned keys are valid on this machine.

    Raises:
        RefusedError: the environment differs from the planned one; the message names the differences.
    """
    differ = [
        f"{name}: {_shown(planned.get(name))} when it was planned, {_shown(value)} here"
        for name, value in here.items()
        if planned.get(name) != value
    ]
    if differ:
        raise RefusedError(
            f"{first_of(differ, _NAMED, '; ')}: the planned keys are not valid here. Check out the planned commit, use "
            "the same Python and image, and pin the agents in the experiment (NAME@VERSION); or plan again"
        )
    keys = ((cell, key_of(plan, cell, library.scenario(cell.scenario), images)) for cell in plan.cells)
    wrong = next((cell.id for cell, key in keys if key != cell.key), None)
    if wrong is not None:
        raise RefusedError(
            f"{wrong}: its key differs here, but every recorded input is equal; plan again with "
            "this version of the toolkit"
        )


def _shown(value: str | None) -> str:
    """Shorten a digest to its first characters."""
    return "not known" if value is None else value if len(value) < _DIGEST_LENGTH else value[:12]
