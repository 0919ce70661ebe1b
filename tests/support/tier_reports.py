"""Reports of experiments on tiers, of built rows: arms with treatments, and passes by arm and scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.model.variant import SystemPrompt, Treatment, Variant
from tests.support.records import make_cell, make_experiment, make_plan, make_result

VANILLA = "T0/01-vanilla"


@dataclass(frozen=True)
class TierArm:
    """One arm: its sub-test and treatment, and the passes of each scenario of `repetitions`."""

    variant: str
    passes: Sequence[int]
    treatment: Treatment = Treatment()
    model: str = "sonnet"
    usd: float | None = 0.1
    row: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.variant.lower().replace('/', '-')}.cli.{self.model}"


def blocks(*names: str) -> Treatment:
    """A treatment of blocks added to the CLI's prompt."""
    return Treatment(system_prompt=SystemPrompt(blocks=names))


def tier_plan(arms: Sequence[TierArm], repetitions: int, **given: Any) -> Plan:
    """A plan of the arms; what is given is of the experiment. The first arm is the baseline."""
    cells = [make_cell(arm.id, repetition, f"{number:03d}-s") for arm in arms
             for number in range(len(arm.passes)) for repetition in range(1, repetitions + 1)]  # fmt: skip
    planned = [Arm(id=arm.id, agent="cli", version="1", model=arm.model,
                   variant=Variant(id=arm.variant, treatment=arm.treatment)) for arm in arms]  # fmt: skip
    experiment: Experiment = make_experiment(**{"baseline": arms[0].id, "repetitions": repetitions, **given})
    return make_plan(*cells, experiment=experiment, arms=tuple(planned))


def tier_rows(arms: Sequence[TierArm], repetitions: int) -> list[Result]:
    """Rows of all cells: the first trials of a scenario pass, as many as the arm's passes say."""
    rows = []
    for arm in arms:
        for number, passes in enumerate(arm.passes):
            for repetition in range(1, repetitions + 1):
                passed = repetition <= passes
                columns = {
                    "agent": "cli", "model": arm.model, "variant": arm.variant, "passed": passed,
                    "score": float(passed), "category": ("bug_fixes", "new_features")[number % 2], "usd": arm.usd,
                    "delivered": True,
                    "input_tokens": 1000, "output_tokens": 100, "cache_read_tokens": 0, "cache_write_tokens": 0,
                    **arm.row,
                }  # fmt: skip
                rows.append(make_result(make_cell(arm.id, repetition, f"{number:03d}-s"), **columns))
    return rows


def tier_report(arms: Sequence[TierArm], repetitions: int = 2, **given: Any) -> Report:
    """The report of all rows; what is given is of the experiment."""
    plan = tier_plan(arms, repetitions, **given)
    return aggregate(plan, tier_rows(arms, repetitions), question=question_of(plan))


def ladder_report() -> Report:
    """Three tiers, tiers declared as the answer, a hypothesis, and a whole with its two parts."""
    treated = {"characters": {"system_prompt": 600, "tool_schemas": 300, "conversation": 100}, "delivered": True}
    skills = {**treated, "treatment_tokens": {"skills": 1500, "tools": 9000}, "short_skills": 2}
    arms = (
        TierArm(VANILLA, [0, 1, 0, 0] * 3, row={**treated, "treatment_tokens": {"tools": 8000}}),
        TierArm("T0/02-scope", [1, 1, 0, 0] * 3, blocks("scope"), row=treated),
        TierArm("T0/03-loop", [0, 1, 0, 1] * 3, blocks("loop"), row=treated),
        TierArm("T0/04-both", [2, 1, 1, 2] * 3, blocks("scope", "loop"), usd=0.12, row=treated),
        TierArm("T1/01-skill", [2, 2, 1, 2] * 3, Treatment(skills=("skill",)), usd=0.15, row=skills),
        TierArm("T2/01-tools", [2, 2, 1, 1] * 3, Treatment(tools=("Bash",)), usd=0.3, row=treated),
    )
    return tier_report(arms, family="tiers", question="Which step of the ladder pays?",
                       hypothesis="Each tier does better than the one before.", expected="all_better")  # fmt: skip
