"""What a plan can see, and whether its gate can be passed: told, or refused, before anything is paid for."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from scylla_gha.config.extras import installation, need
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.plan import Choice
from scylla_gha.store import RunFolder, read_lines

if TYPE_CHECKING:
    from scylla_gha.model.design import PairVariance

_PILOT = "the variances of the rows that are stored"


def has_statistics() -> bool:
    """Whether the `report` extra is installed."""
    return bool(importlib.util.find_spec("numpy") and importlib.util.find_spec("scipy"))


def require_statistics() -> None:
    """For commands that are nothing without them.

    Raises:
        ToolError: the `report` extra is not installed.
    """
    need("numpy", "scipy", what="this command")


def foresight(plan: Plan, folder: RunFolder) -> tuple[str, ...]:
    """Notes for a plan: the smallest effect that it can see. None without the `report` extra."""
    if not has_statistics():
        return ()
    from scylla_gha.analysis.gates import notes

    variances, basis = _pilot(folder.results, plan.experiment.baseline)
    return tuple(notes(plan, variances, basis))


def refuse_futile_gate(plan: Plan, folder: RunFolder, choice: Choice) -> None:
    """Refuse a plan whose gate nothing could ever pass; a part of an experiment is not held against it.

    Raises:
        RefusedError: it cannot be passed, or there are no statistics to tell whether it is.
    """
    gate = plan.experiment.gate
    if gate == "none" or choice.only:
        return
    if not has_statistics():
        raise RefusedError(f"gate {gate}: its test needs the statistics; {installation('report')}, "
                           "or set gate: none")  # fmt: skip
    from scylla_gha.analysis.gates import futile

    why = futile(plan, *_pilot(folder.results, plan.experiment.baseline))
    if why:
        raise RefusedError(why)


def _pilot(results: Path, baseline: str) -> tuple[tuple["PairVariance", ...], str]:
    """The variances of what is stored, and where they come from."""
    from scylla_gha.analysis.design import USUAL_BASIS, pair_variances
    from scylla_gha.analysis.frame import read

    try:
        found = pair_variances(read(read_lines(results, Result)), baseline) if results.exists() else ()
    except ConfigError:  # of another version; planning says so already
        found = ()
    return found, _PILOT if found else USUAL_BASIS
