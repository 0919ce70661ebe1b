"""A change of the configuration against what it changes: both versions of each variant that differs, side by side."""

from collections.abc import Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import RefusedError
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Arm

_HEAD: Final = "head"


def compare_head(experiment: Experiment, here: Sequence[Arm], there: Sequence[Arm]) -> tuple[Arm, ...]:
    """The arms whose variant differs between two versions of the configuration, each version an arm of its own.

    Raises:
        RefusedError: there is none.
    """
    known, arms = {arm.id: arm for arm in here}, dict[str, Arm]()
    for arm in there:
        twin = known.get(arm.id)
        if twin and _configuration(twin) == _configuration(arm):
            continue
        held = twin or known[experiment.baseline]
        arms[held.id] = held
        name = f"{arm.id}.{_HEAD}"
        arms[name] = arm.model_copy(update={"id": name, "side": _HEAD, "against": held.id})
    if not arms:
        raise RefusedError(f"experiment {experiment.id}: none of its {counted(len(there), 'arm')} is another one "
                           "with the changed "
                           "configuration, so there is nothing to compare; name an experiment whose variants the "
                           "change touches")  # fmt: skip
    return tuple(arms.values())


def _configuration(arm: Arm) -> str | None:
    return arm.variant.digest if arm.variant else None
