"""Fingerprint of the environment that a plan's keys depend on, so another machine can name what differs."""

import functools
import platform
from collections.abc import Iterator, Mapping
from typing import Final

from scylla_gha.config.keys import KEY_VERSION, panel_digest
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import RefusedError
from scylla_gha.images.sandbox_pool import SandboxImages
from scylla_gha.model.plan import Plan
from scylla_gha.plan.build import InstalledAgent
from scylla_gha.plan.cells import agent_name, key_of
from scylla_gha.prepare.tools import toolbox_digest

_NAMED: Final = 5  # differences that a message names
_DIGEST_LENGTH: Final = 64


def environment_fingerprint(
    plan: Plan, sources: ConfigSources, images: SandboxImages, agents: Mapping[str, InstalledAgent]
) -> dict[str, str]:
    """Return versions and digests that the keys of a plan's cells and judgments depend on, by name.

    Args:
        plan: has the cells.
        sources: configuration of this machine.
        images: sandbox and images of this machine.
        agents: those of this machine.
    """
    library, variants = sources.here, functools.cache(Library.variants)
    versions = {agent_name(name)[0]: installed.version for name, installed in agents.items()}
    experiment, arms = plan.experiment, {name: plan.arm(name) for name in dict.fromkeys(c.arm for c in plan.cells)}
    values = {
        "python": f"{platform.python_version()} {platform.machine()}",
        "key version": str(KEY_VERSION),
        "sandbox": images.sandbox,
        "judges": panel_digest(experiment.judges, library.roots, experiment.model_settings.judge),
    }
    values |= {f"agent {arm.agent}": versions.get(arm.agent) or "unknown" for arm in arms.values()}
    for arm in arms.values():
        if arm.variant:
            own = variants(sources.variant(arm)).get(arm.variant.id)
            suffix = " of the change" if arm.side else ""
            values[f"variant {arm.variant.id}{suffix}"] = own.digest if own else "not there"
    groups = dict.fromkeys((cell.scenario, cell.arm) for cell in plan.cells)
    for name in dict.fromkeys(scenario for scenario, _ in groups):
        values |= _of_scenario(name, library, images)
    for name, arm in {(name, arms[arm_id].agent): (name, arms[arm_id]) for name, arm_id in groups}.values():
        if (image := images.image(library.scenario(name).scenario.tools, arm)) is not None:
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
    }


def require_same_environment(
    plan: Plan, planned: Mapping[str, str], here: Mapping[str, str], library: Library, images: SandboxImages
) -> None:
    """Check that the planned keys are valid on this machine.

    Raises:
        RefusedError: the environment differs from the planned one; the message names the differences.
    """
    differ = [f"{name}: {_shown(planned.get(name))} when it was planned, {_shown(value)} here"
              for name, value in here.items() if planned.get(name) != value]  # fmt: skip
    if differ:
        more = f"; and {len(differ) - _NAMED} more" if len(differ) > _NAMED else ""
        raise RefusedError(f"{'; '.join(differ[:_NAMED])}{more}: the planned keys are not valid here. Check out the "
                           "planned commit, use the same Python and image, and pin the agents in the experiment "
                           "(NAME@VERSION); or plan again")  # fmt: skip
    wrong = next(_wrong(plan, library, images), None)
    if wrong is not None:
        raise RefusedError(f"{wrong}: has another key here, though nothing that is known to be under it differs; plan "
                           "again with this version of the toolkit")  # fmt: skip


def _wrong(plan: Plan, library: Library, images: SandboxImages) -> Iterator[str]:
    return (cell.id for cell in plan.cells if key_of(plan, cell, library.scenario(cell.scenario), images) != cell.key)


def _shown(value: str | None) -> str:
    """Shorten a digest to its first characters."""
    return "not known" if value is None else value if len(value) < _DIGEST_LENGTH else value[:12]
