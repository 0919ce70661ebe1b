"""Reports and facts for comments."""

import dataclasses
from typing import Any

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.plan import Arm
from scylla_gha.model.publication import ArmEntry, CommentFacts, PastVerdict, RunPage
from scylla_gha.model.report import Report
from scylla_gha.model.trial import Outcome
from tests.support.records import WHEN, make_cell, make_excluded_result, make_experiment, make_plan, make_result

ORIGIN = RunPage(repository="octo-org/app", run=123456789)
HEAD, BASE = "a1b2c3d" + "0" * 33, "d4e5f60" + "0" * 33
SCENARIOS = tuple(f"{number:03d}-task" for number in range(1, 13))
REPETITIONS = 5


@dataclasses.dataclass(frozen=True)
class Made:
    """Shape of a made run: how many of five tries pass, by arm; cells without a trial, and faults of others.

    `against` says what arms are held against, where that is not the first one for all.
    """

    passes: dict[str, tuple[int, ...]]
    against: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: int = 0
    faults: int = 0
    margin: float = 0.05


def report_of(made: Made) -> Report:
    """Twelve scenarios, five repetitions; the first arm is the baseline."""
    names = list(made.passes)
    cells = [make_cell(arm, repetition, scenario) for scenario in SCENARIOS for arm in names
             for repetition in range(1, REPETITIONS + 1)]  # fmt: skip
    rows = []
    for number, cell in enumerate(cells):
        if number < made.missing:
            continue
        if number < made.missing + made.faults:
            kind = (Outcome.PROVIDER_ERROR, Outcome.SANDBOX_ERROR)[number % 2]
            rows.append(make_excluded_result(cell, kind, reason="529: overloaded", agent="cli", model="m", usd=0.01))
            continue
        wanted = made.passes[cell.arm]
        passed = cell.repetition <= wanted[SCENARIOS.index(cell.scenario) % len(wanted)]
        score, usd = (0.9 if passed else 0.2), 0.05 + 0.01 * (number % 7)
        told = {"passed": passed, "score": score, "progress": score, "grade": "A" if passed else "D"}
        rows.append(
            make_result(cell, agent="cli", model="m", usd=usd, judge_usd=0.01, seconds=30.0 + number % 11, **told)
        )
    experiment = make_experiment(question="Does the head do worse?", repetitions=REPETITIONS, baseline=names[0],
                                 margin=made.margin)  # fmt: skip
    plan = make_plan(*cells, experiment=experiment)
    arms = tuple(Arm(id=name, agent="cli", version="1", against=made.against.get(name),
                     side="head" if name in made.against else None) for name in names)  # fmt: skip
    plan = plan.model_copy(update={"arms": arms})
    return aggregate(plan, rows, question=question_of(plan))


def facts(**given: Any) -> CommentFacts:
    defaults = {
        "suite": "demo", "experiment": "demo", "origin": ORIGIN, "head": HEAD, "base": BASE, "base_name": "main",
        "pull": 7, "at": WHEN, "minutes": 14.0, "branch": "scylla-results", "digest": "0123456789abcdef",
        "margin": 0.05, "entrants": (ArmEntry(arm="base.cli.m", agent="cli", version="2.1.197", model="m"),
                                     ArmEntry(arm="head.cli.m", agent="cli", version="2.1.197", model="m")),
    }  # fmt: skip
    return CommentFacts.model_validate({**defaults, **given})


def past(verdict: str = "worse", run: int = 123456788, **given: Any) -> PastVerdict:
    said = f"head against base: {verdict}"
    return PastVerdict.model_validate({"verdict": verdict, "said": said, "head": BASE, "run": run, "at": WHEN, **given})
