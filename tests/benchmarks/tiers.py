"""Cost of sub-tests for the harness: `python tests/benchmarks/tiers.py`.

Targets: all 114 resolved and hashed in 1 s; the largest (T6) prepared in at most 200 ms more than the smallest (T0).
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import AgentTask
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.plan import Arm
from scylla_gha.variants import agent_resources, arm_treatment

ROUNDS = 7


def least(action: Callable[[], object]) -> tuple[float, float]:
    """The least milliseconds of some rounds: by the clock, and of the processor, which a busy machine changes less."""
    clock, processor = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter(), time.process_time()
        action()
        clock.append(time.perf_counter() - began[0])
        processor.append(time.process_time() - began[1])
    return 1000 * min(clock), 1000 * min(processor)


def resolve() -> None:
    tiers = Library((toolkit_root(),)).tiers
    assert len({tiers.declared_digest(name) for name in tiers.names}) == len(tiers.names)


def equip(name: str) -> None:
    """Do what `run` does for the variant before the agent starts: check its digests, write its files."""
    library = Library((toolkit_root(),))
    variant = VARIANTS[name]
    resources = agent_resources(variant, library.roots)
    arm = Arm(id="arm", agent="claude-code", version=None, variant=variant)
    with tempfile.TemporaryDirectory() as home:
        task = AgentTask(prompt="", home=Path(home), patch=Path(home), limits=TrialLimits(safety_net=False),
                         treatment=arm_treatment(arm, resources), resources=resources)  # fmt: skip
        AGENTS["claude-code"].command(task, "claude")


VARIANTS = Library((toolkit_root(),)).variants()


if __name__ == "__main__":
    print(f"{'least of ' + str(ROUNDS) + ' rounds, ms':34} clock  processor")
    for title, action in (
        ("resolve and hash all sub-tests", resolve),
        ("equip with T0/00-empty", lambda: equip("T0/00-empty")),
        ("equip with T6/01-everything", lambda: equip("T6/01-everything")),
    ):
        print(f"{title:32} {'{:7.1f}  {:9.1f}'.format(*least(action))}")
