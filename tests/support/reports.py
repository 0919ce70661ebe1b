"""Reports of made rows, computed as a run's are."""

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Any

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.plan import Arm, Cell
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.report import markdown
from tests.support.records import make_cell, make_excluded_result, make_experiment, make_plan, make_result

VARIANTS = ("T0/00-empty", "T0/01-vanilla", "T1/01-skill")
SCENARIOS = (
    "001-fix-a-bug",
    "002-add-a-flag",
    "003-rename",
    "004-new-module",
    "005-speed-up",
    "006-untangle",
    "007-read-a-log",
    "008-close-a-leak",
)
REPETITIONS = 3
JUDGES = ("claude-haiku", "claude-opus", "claude-sonnet")
# Dollars as Python and pages show them, ties included
AMOUNTS = [
    (None, "?"),
    (0.0, "$0.00"),
    (1e-9, "<$0.000001"),
    (1e-6, "$0.0000010"),
    (0.0000999, "$0.00010"),
    (0.00123, "$0.0012"),
    (0.00994, "$0.0099"),
    (0.00996, "$0.01"),
    (0.0149, "$0.01"),
    (0.125, "$0.13"),
    (0.375, "$0.38"),
    (0.285, "$0.28"),
    (1.005, "$1.00"),
    (12.345, "$12.35"),
    (999.999, "$1,000.00"),
    (1234567.5, "$1,234,567.50"),
    (-0.004, "-$0.0040"),
]
# Passes of three, by variant and scenario.
PASSES = ((0, 1, 2, 0, 0, 1, 3, 0), (1, 0, 3, 0, 1, 1, 2, 1), (3, 2, 3, 1, 2, 3, 3, 2))
KINDS = (
    "bug_fixes",
    "new_features",
    "refactoring",
    "new_features",
    "bug_fixes",
    "refactoring",
    "new_features",
    "bug_fixes",
)


def arm_of(variant: str, model: str = "m") -> str:
    return f"{variant.lower().replace('/', '-')}.cli.{model}"


def planned_arm(variant: str) -> Arm:
    return Arm(id=arm_of(variant), agent="cli", version="1", model="m",
               variant=Variant(id=variant, treatment=Treatment()))  # fmt: skip


def judged(score: float, noise: int, judge: int, scenario: int) -> float:
    """One judge's own score: somewhat more generous than the one before, and of its own mind."""
    return min(1.0, max(0.0, round(score + (judge - 1) * 0.04 + ((noise + judge * scenario) % 5 - 2) * 0.06, 3)))


def row_of(variant: int, scenario: int, repetition: int, **given: Any) -> Result:
    """Return a row: what differs from trial to trial follows from its place, by no rule that means anything."""
    passed = repetition <= PASSES[variant][scenario]
    noise = (7 * variant + 5 * scenario + 3 * repetition) % 11
    score = round((0.72 if passed else 0.25) + noise / 50, 3)
    of = make_cell(arm_of(VARIANTS[variant]), repetition, SCENARIOS[scenario])
    row = {
        "agent": "cli", "model": "m", "variant": VARIANTS[variant], "category": KINDS[scenario],
        "difficulty": ("easy", "hard")[scenario % 2], "passed": passed, "score": score,
        "grade": "A" if score >= 0.8 else "B" if score >= 0.6 else "D" if score >= 0.2 else "F", "progress": score,
        "threshold": 0.6, "points": 10 * score, "points_max": 10.0,
        "judge_scores": {judge: judged(score, noise, at, scenario) for at, judge in enumerate(JUDGES)},
        "guards": 3, "broken_guards": int(not passed and noise < 3), "seconds": 40.0 + 9 * noise + 30 * variant,
        "first_byte_seconds": 0.8 + noise / 20, "generation_seconds": 20.0 + 3 * noise, "tool_seconds": 10.0 + noise,
        "usd": 0.05 + 0.01 * noise + 0.04 * variant, "judge_usd": 0.01, "input_tokens": 900 + 100 * noise,
        "output_tokens": 700 + 50 * noise, "cache_read_tokens": 20_000 + 1000 * noise, "cache_write_tokens": 3000,
        "characters": {"system_prompt": 12_000, "tool_schemas": 30_000, "tool_input": 4000, "tool_output": 25_000,
                       "conversation": 3000}, "requests": 8 + noise, "repeated_requests": int(noise == 5),
        "human_usd": 20.0 if scenario == 0 else None, "turns": 8 + noise, "tool_calls": 6 + noise % 4,
        "tools": {"Bash": 3 + noise % 4, "Read": 2, "Edit": 1}, "failed_tool_calls": int(noise > 8),
        "delivered": True, **_uses(variant, noise), **given,
    }  # fmt: skip
    return make_result(of, **row)


def _uses(variant: int, noise: int) -> dict[str, Any]:
    """The last variant declares two skills and a server; one of the skills is never used."""
    counts = {"skill/tally": noise % 3, "skill/ledger": 0, "mcp/clock": int(noise > 8)} if variant == 2 else {}
    read = () if not counts or counts["skill/tally"] or noise % 2 else ("skill/tally",)
    return {"uses": counts, "first_use": 1 + noise % 4 if any(counts.values()) else None, "skills_read": read}


def rows() -> Iterator[Result]:
    """Of all cells but one; one trial timed out, one was a fault of the provider, one passed without a change."""
    for variant in range(len(VARIANTS)):
        for scenario in range(len(SCENARIOS)):
            for repetition in range(1, REPETITIONS + 1):
                place = (variant, scenario, repetition)
                if place == (0, 3, 3):
                    continue
                if place == (1, 4, 3):
                    cell = make_cell(arm_of(VARIANTS[1]), 3, SCENARIOS[4])
                    yield make_excluded_result(cell, Outcome.PROVIDER_ERROR, reason="529: overloaded", agent="cli",
                                               model="m", variant=VARIANTS[1], usd=0.01)  # fmt: skip
                elif place == (0, 0, 3):
                    yield row_of(*place, outcome=Outcome.TIMEOUT, reason="no end after 600 s", seconds=600.0)
                elif place == (2, 1, 1):
                    yield row_of(*place, files_changed=0)
                else:
                    yield row_of(*place)


def cells() -> tuple[Cell, ...]:
    return tuple(make_cell(arm_of(variant), repetition, scenario) for variant in VARIANTS for scenario in SCENARIOS
                 for repetition in range(1, REPETITIONS + 1))  # fmt: skip


def section(report: Report, title: str) -> list[str]:
    """The lines of a section of report.md, open or folded, that say something; none if it is left out."""
    whole = markdown(report)
    _, is_open, text = whole.partition(f"\n## {title}\n")
    if not is_open:
        _, _, text = whole.partition(f"\n<details><summary>{title}</summary>\n")
        text = text.partition("\n</details>\n")[0]
    return [line for line in re.split(r"\n(?:## |<details>)", text)[0].splitlines() if line]


@functools.cache
def full_report() -> Report:
    """Three arms of two tiers, eight scenarios, three repetitions, three judges."""
    experiment = make_experiment(question="Does the skill help, and what does it cost?", repetitions=REPETITIONS,
                                 baseline=arm_of(VARIANTS[0]))  # fmt: skip
    plan = make_plan(*cells(), experiment=experiment, arms=tuple(planned_arm(each) for each in VARIANTS))
    return aggregate(plan, rows(), question=question_of(plan))


EVIL = "fixes #1 @octocat | <b>bold</b> [here](https://evil.example)"


@functools.cache
def hostile_rows_report() -> Report:
    """Rows of another's making: every name and reason in them is an attack."""
    experiment = make_experiment(question=EVIL, baseline=EVIL)
    made = []
    for variant, scenario, repetition in itertools.product((0, 1), (0, 1, 2), (1, 2)):
        of = make_cell(f"{EVIL}{'b' * variant}", repetition, f"{EVIL}{scenario}")
        row = row_of(variant, scenario, repetition, category=f"{EVIL}{scenario % 2}", tools={EVIL: 3}, reason=EVIL,
                     judge_scores={EVIL: 0.5, f"{EVIL}2": 0.7}, files_changed=0)  # fmt: skip
        names = {
            "cell": of.id,
            "key": of.key,
            "arm": of.arm,
            "scenario": of.scenario,
            "variant": f"{EVIL[:9]}{variant}/x",
        }
        made.append(row.model_copy(update=names))
    plan = make_plan(*(make_cell(row.arm, row.repetition, row.scenario) for row in made), experiment=experiment)
    return aggregate(plan, made, question=question_of(plan))
