"""What several commands read of a stored run, and how they read it."""

import contextlib
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """Folders of recorded model traffic: one to write to, or one to answer from instead of a provider."""

    record: Path | None = None
    replay: Path | None = None


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch off the search for reference cycles while many records are made.

    No record refers to itself, and the search takes a fifth to a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def stored_plan(folder: RunFolder) -> Plan:
    """Read the plan in a run's folder.

    Raises:
        ConfigError: the folder has no plan.
    """
    plan = read_record(folder.plan, Plan)
    if plan is None:
        raise ConfigError(f"{folder.plan}: there is no plan; run `scylla-gha evaluate {folder.root.name}` first, or "
                          "`plan`, where it is to be run step by step")  # fmt: skip
    return plan
