"""Combinations and their parts: which arms make up which, and whether the whole differs from the sum."""

import pytest

from scylla_gha.model.analysis import Interaction
from scylla_gha.model.variant import Orchestration, SystemPrompt, Treatment
from tests.support.tier_reports import VANILLA, TierArm, blocks, tier_report

NONE = TierArm(VANILLA, [0] * 12)
A, B, C = (TierArm(f"T0/0{at}-{name}", [0, 1] * 6, blocks(name)) for at, name in ((2, "a"), (3, "b"), (4, "c")))
BOTH = TierArm("T0/05-ab", [2] * 12, blocks("a", "b"))
ALL = TierArm("T0/06-abc", [2, 1] * 6, blocks("a", "b", "c"))


def wholes(*arms: TierArm) -> dict[tuple[str, tuple[str, ...]], Interaction]:
    analysis = tier_report(arms).analysis
    assert analysis is not None
    return {(each.whole, each.parts): each for each in analysis.interactions}


def test_two_blocks_together_are_compared_with_the_sum_of_both_alone() -> None:
    whole = wholes(NONE, A, B, BOTH)[BOTH.id, (A.id, B.id)]
    assert (whole.effect, whole.sum_of_parts, whole.contrast.value) == pytest.approx((1.0, 0.5, 0.5))
    assert whole.without == NONE.id
    assert whole.contrast.p_adjusted is not None
    assert whole.contrast.wins == (6, 6, 0)


def test_a_block_and_all_but_it_are_two_parts() -> None:
    without_c = BOTH
    found = wholes(NONE, A, B, C, without_c, ALL)
    assert set(found) == {
        (BOTH.id, (A.id, B.id)), (ALL.id, (A.id, B.id, C.id)), (ALL.id, (C.id, BOTH.id)),
    }  # fmt: skip
    sizes = {(len(whole.parts), whole.contrast.family_size) for whole in found.values()}
    assert sizes == {(2, 2), (3, 1)}, "two questions, each adjusted by itself"


def test_all_but_one_part_of_a_whole_are_no_whole_of_their_own() -> None:
    d = TierArm("T0/08-d", [1] * 12, blocks("d"))
    whole = TierArm("T0/09-abcd", [2] * 12, blocks("a", "b", "c", "d"))
    found = wholes(NONE, A, B, C, d, ALL, whole)
    assert set(found) == {(whole.id, (A.id, B.id, C.id, d.id)), (whole.id, (ALL.id, d.id))}


@pytest.mark.parametrize(
    "arms",
    [(A, B, BOTH), (NONE, A, BOTH), (NONE, A, TierArm("T0/07-bc", [1] * 12, blocks("b", "c")), BOTH)],
    ids=["without an arm that has none", "without a part", "parts that are not those of the whole"],
)  # fmt: skip
def test_without_the_needed_arms_there_is_nothing_to_compare(arms: tuple[TierArm, ...]) -> None:
    assert wholes(*arms) == {}


def test_parts_of_another_model_are_no_parts() -> None:
    other = TierArm(B.variant, B.passes, B.treatment, model="opus")
    assert wholes(NONE, A, other, BOTH) == {}


def test_scenarios_that_one_of_the_arms_lacks_are_left_out() -> None:
    short = TierArm(B.variant, [1] * 8, B.treatment)
    whole = wholes(NONE, A, short, BOTH)[BOTH.id, (A.id, B.id)]
    assert whole.contrast.scenarios == 8


def test_an_arm_with_other_parts_hides_no_whole() -> None:
    other = TierArm("T0/08-d", [1] * 12, blocks("d"))
    assert (ALL.id, (A.id, B.id, C.id)) in wholes(NONE, A, B, C, ALL, other)


def test_a_setting_that_is_no_arm_by_itself_hides_no_whole() -> None:
    alone = TierArm(
        "T5/06-alone", [1] * 12, Treatment(system_prompt=SystemPrompt(blocks=("a", "b", "c"), mode="replace"))
    )
    assert (ALL.id, (A.id, B.id, C.id)) in wholes(NONE, A, B, C, ALL, alone)


def test_of_arms_that_are_one_configuration_the_first_by_name_is_meant() -> None:
    alias = TierArm("T5/01-best", A.passes, A.treatment)
    assert set(wholes(NONE, alias, A, B, BOTH)) == {(BOTH.id, (A.id, B.id))}


@pytest.mark.parametrize(
    ("treatment", "parts"),
    [
        (Treatment(), set()),
        (blocks("a", "b"), {"blocks/a", "blocks/b"}),
        (Treatment(system_prompt=SystemPrompt(blocks=("a",), mode="replace")), {"blocks/a", "blocks=replace"}),
        (Treatment(skills=("s",), mcp_servers=("m",)), {"skills/s", "mcp_servers/m"}),
        (Treatment(tools=()), {"tools=[]"}),
        (Treatment(orchestration=Orchestration(lead="chief")), {'orchestration={"lead": "chief"}'}),
    ],
)
def test_parts_are_what_a_treatment_sets(treatment: Treatment, parts: set[str]) -> None:
    assert treatment.parts == parts
