"""Tables of tiers: costs, tokens by component and by part of the treatment, and the warning about short skills."""

from typing import Any

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.report import markdown
from tests.support.reports import section
from tests.support.tier_reports import VANILLA, TierArm, tier_plan, tier_report, tier_rows

PARTS = {"system_prompt": 600, "tool_schemas": 300, "conversation": 100}
TREATED: dict[str, Any] = {"characters": PARTS, "treatment_tokens": {"skills": 1500, "tools": 9000}, "short_skills": 3}
NONE = TierArm(VANILLA, [1] * 6, usd=0.2, row={"characters": PARTS, "treatment_tokens": {"tools": 8000}})
SKILL = TierArm("T1/01-skill", [2] * 6, usd=0.1, row=TREATED)
OTHER = TierArm("T1/02-skill", [2] * 6, usd=0.3, row=TREATED)
TOKENS = "| tier | prompt ↓ | skills ↓ |"


def lines(*arms: TierArm) -> list[str]:
    return section(tier_report(arms), "Tiers")


def test_each_tier_has_its_cost_of_a_pass_and_its_cheapest_sub_test() -> None:
    rows = lines(NONE, SKILL, OTHER)
    assert any(line.startswith("| T0 | 1 | 50 % |") and "| $0.40" in line for line in rows)
    assert any(line.startswith("| T1 | 2 | 100 % |") and "| $0.20" in line for line in rows)
    assert any("| t1-01-skill: $0.10 |" in line for line in rows)


def test_a_tier_of_which_one_sub_test_has_no_trial_has_no_pass_rate_and_is_not_zero() -> None:
    plan = tier_plan([NONE, SKILL, OTHER], 2)
    rows = [row for row in tier_rows([NONE, SKILL, OTHER], 2) if row.arm != OTHER.id]
    report = aggregate(plan, rows, question=question_of(plan))
    lines = section(report, "Tiers")
    assert any(line.startswith("| T1 | 2 | - | - | $0.10 ") and "| 0 | 0 |" in line for line in lines), lines
    assert any(line.startswith("| T1 against T0 | - |") and "not enough data" in line for line in lines)
    assert "Each tier against the previous one" not in [line.strip("# ") for line in markdown(report).splitlines()]


def test_tokens_of_the_treatment_are_means_by_part_and_a_part_that_is_not_there_is_zero() -> None:
    rows = lines(NONE, SKILL)
    assert any(line.startswith("| T1 | 0 | 1,500 | 0 | 0 | 9,000 |") for line in rows), rows
    assert any(line.startswith("| T0 | 0 | 0 | 0 | 0 | 8,000 |") for line in rows), rows


def test_unknown_tokens_of_a_treatment_stay_unknown() -> None:
    unknown = TierArm(VANILLA, [1] * 6, row={"characters": PARTS})
    assert any(line.startswith("| T0 | ? | ? |") for line in lines(unknown, SKILL))
    without = markdown(tier_report([unknown, TierArm("T1/01-skill", [2] * 6)]))
    assert "Tokens of the treatment" not in without


def test_a_tier_of_which_one_arm_is_unknown_has_no_mean_over_the_others() -> None:
    unknown = TierArm("T0/02-core", [1] * 6, row={"characters": PARTS})
    assert any(line.startswith("| T0 | ? | ? |") for line in lines(NONE, unknown, SKILL))


def test_requests_of_a_tier_are_shown_by_component() -> None:
    assert any(line.startswith("| T0 | 1,100 | 60 % | 30 % |") for line in lines(NONE, SKILL))


def test_arms_have_tokens_of_their_treatment_too() -> None:
    rows = section(tier_report([NONE, SKILL]), "Tokens")
    assert any(line.startswith("| t1-01-skill | 0 | 1,500 | 0 | 0 | 9,000 |") for line in rows), rows


def test_skills_that_were_listed_by_name_only_are_a_warning() -> None:
    (warning,) = (text for text in tier_report([NONE, SKILL]).warnings if "by name only" in text)
    assert warning.startswith("t1-01-skill.cli.sonnet: up to 3 skills of its treatment")
    assert "in 12 of 12 trials" in warning


def test_a_single_tier_has_no_such_tables() -> None:
    report = tier_report([NONE, TierArm("T0/02-core", [2] * 6)])
    assert report.analysis is not None
    assert not {"tiers", "interactions"} & report.analysis.model_dump().keys()
    assert not [line for line in section(report, "Tiers") if "USD per pass" in line and line.startswith("| T0 |")]
