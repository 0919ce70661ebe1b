"""Statistics and report of a skill's help: two claims, groups of assertions, and sentences."""

import dataclasses
from collections.abc import Sequence

import pytest

from scylla_gha.analysis.skill_help import (
    HelpData,
    arm_totals,
    assertion_results,
    contrast_of,
    discoveries,
    uptake_notes,
)
from scylla_gha.model.skill_help import AssertionText, EvalTrial, SkillArm, SkillHelp
from scylla_gha.report.document import plain_lines
from scylla_gha.report.help_sections import help_markdown, help_sections, help_sentences
from scylla_gha.skills.eval_answer import discovery_sentence
from scylla_gha.skills.session import PartReport
from scylla_gha.stats.strata import stratified_difference
from tests.benchmarks.skill_help import false_verdicts
from tests.support.golden import golden


def data(*evals: tuple[Sequence[str], Sequence[str]], other: SkillArm = "without") -> HelpData:
    """Return trials from patterns: `101` is a trial in which the first and third assertion held."""
    trials, texts = [], []
    for number, sides in enumerate(evals, 1):
        name = f"{number:03d}-eval"
        texts += [
            AssertionText(eval=name, id=f"A{at}", text=f"assertion {at}", by_code=at == 1)
            for at in range(1, len(sides[0][0]) + 1)
        ]
        for arm, patterns in zip(("with", other), sides, strict=True):
            cost = 2.0 if arm == "with" else 1.0
            trials += [
                EvalTrial(
                    eval=name,
                    arm=arm,
                    items={f"A{at}": float(held) for at, held in enumerate(pattern, 1)},
                    usd=cost * (1 + number / 50),
                    seconds=10 * cost,
                    tokens=1000,
                )
                for pattern in patterns
            ]
    return HelpData(trials, texts)


def answer(found: HelpData) -> SkillHelp:
    others = [arm for arm in found.arms if arm != "with"]
    return SkillHelp(
        skill="tally",
        agent="claude-code 2.1.332",
        model="claude-sonnet-5",
        evals=len({t.eval for t in found.trials}),
        planned=len(found.trials),
        arms=tuple(arm_totals(found, arm) for arm in found.arms),
        contrasts=tuple(contrast_of(found, other) for other in others),
        assertions=tuple(result for other in others for result in assertion_results(found, other)),
    )


CLEAR = (("111", "111", "111"), ("001", "001", "101"))
SAME = (("101", "111", "101"), ("101", "101", "111"))


def test_few_evals_give_a_claim_on_these_alone_and_say_what_suffices() -> None:
    contrast = contrast_of(data(CLEAR, CLEAR, CLEAR), "without")
    assert contrast.here is not None
    assert (contrast.here.verdict, contrast.here.evals) == ("better", 3)
    assert contrast.alike is None
    assert contrast.too_few == "too few evals for more than these; add 3"
    first = next(help_sentences(answer(data(CLEAR, CLEAR, CLEAR))))
    assert first.startswith("With it 56 points more assertions hold on these 3 evals (+")
    assert first.endswith("; too few evals for more than these; add 3.")


def test_six_evals_give_a_claim_on_tasks_like_these() -> None:
    found = answer(data(*[CLEAR] * 5, (("111", "111", "101"), ("001", "001", "001"))))
    (contrast,) = found.contrasts
    assert contrast.alike is not None
    assert contrast.alike.verdict == "better"
    assert ", and on tasks like these +" in next(help_sentences(found))
    assert contrast.too_few == ""


def test_six_evals_of_which_one_does_not_differ_ask_for_one_more() -> None:
    contrast = contrast_of(data(*[CLEAR] * 5, (("111", "111", "111"), ("111", "111", "111"))), "without")
    assert contrast.alike is not None
    assert contrast.alike.verdict == "not_enough_data"
    assert contrast.too_few == "too few evals for more than these; add 1"


def test_less_than_three_repetitions_give_no_claim_on_these_evals() -> None:
    contrast = contrast_of(data((("11", "11"), ("00", "01"))), "without")
    assert contrast.here is None
    assert contrast.no_claim == "2 repetitions of each eval; from 3 on these evals can be compared"


def test_no_difference_is_not_enough_data_with_what_would_suffice() -> None:
    found = answer(data(SAME, SAME))
    (contrast,) = found.contrasts
    assert contrast.here is not None
    assert contrast.here.verdict == "not_enough_data"
    text = next(help_sentences(found))
    assert text.startswith("Not enough data to tell it from trials without it on these 2 evals: 0 points (")
    assert "no difference of" in text


def test_one_eval_needs_more_repetitions_before_any_difference_can_show() -> None:
    contrast = contrast_of(data(CLEAR), "without")
    assert contrast.here is not None
    assert contrast.here.why == "3 repetitions of 1 eval cannot show a difference; take --repetitions 4"


def test_the_last_version_that_did_better_is_a_regression() -> None:
    found = data(*[(CLEAR[1], CLEAR[0])] * 3, other="base")
    contrast = contrast_of(found, "base")
    assert contrast.here is not None
    assert contrast.here.verdict == "worse"
    text = next(help_sentences(answer(found)))
    assert text.startswith("With it 56 points fewer assertions hold than with its last version on these 3 evals (")


def test_assertions_are_grouped_and_those_about_the_skill_are_apart() -> None:
    found = data((("1100", "1100", "1101"), ("1010", "1010", "1010")))
    groups = [each.group for each in assertion_results(found, "without")]
    assert groups == ["always holds", "tells apart", "holds less", "tells apart"]
    about = [text.model_copy(update={"about_skill": text.id == "A2"}) for text in found.assertions]
    both = HelpData(found.trials, about)
    whole, apart = (contrast_of(each, "without").here for each in (found, both))
    assert whole is not None
    assert apart is not None
    assert whole.value == pytest.approx(0.25 * (1 - 1 + 1 / 3))
    assert apart.value == pytest.approx((-1 + 1 / 3) / 3)
    assert arm_totals(both, "with").share == pytest.approx((1 + 0 + 1 / 3) / 3)
    base = [trial.model_copy(update={"arm": "base"}) if trial.arm == "without" else trial for trial in found.trials]
    assert contrast_of(HelpData(base, about), "base").here == whole


def test_with_two_comparisons_each_assertion_has_a_group_in_both() -> None:
    apart, same = data(CLEAR), data((("111", "111", "111"), ("111", "111", "111")), other="base")
    base = [trial for trial in same.trials if trial.arm == "base"]
    lines = list(plain_lines(help_sections(answer(HelpData([*apart.trials, *base], apart.assertions)))))
    assert "  - against no skill: holds more with the skill: 2" in lines
    assert "  - against its last version: always holds in both, so it shows no difference: 3" in lines
    (row,) = (line for line in lines if "assertion 2" in line)
    assert "+100 [+21, +100] tells apart  0 [-56, +56] always holds" in row


def test_judges_who_disagree_are_named() -> None:
    found = data((("11", "11", "01"), ("10", "10", "10")))
    trials = [
        trial.model_copy(update={"votes": {"A2": (1.0, 0.0, float(number % 2))}})
        for number, trial in enumerate(found.trials)
    ]
    first, second = assertion_results(HelpData(trials, found.assertions), "without")
    assert first.alpha is None
    assert second.is_unclear
    assert "judges disagree on 1 assertion (alpha below 0.4): reword them" in help_markdown(
        answer(HelpData(trials, found.assertions))
    )


def test_evals_that_should_not_trigger_it_show_if_it_harms_other_work() -> None:
    judged = data(CLEAR, SAME, (("001", "001", "001"), ("111", "111", "111")))
    judged = dataclasses.replace(judged, unrelated=frozenset({"003-eval"}))
    contrast = contrast_of(judged, "without")
    assert contrast.other_work is not None
    assert (contrast.other_work.evals, round(contrast.other_work.value, 2)) == (1, -0.67)
    lines = plain_lines(help_sections(answer(judged)))
    assert any("on evals that should not trigger it: " in line for line in lines)
    assert contrast_of(data(CLEAR, SAME), "without").other_work is None


def test_costs_are_ratios() -> None:
    contrast = contrast_of(data(CLEAR, SAME, SAME), "without")
    assert contrast.ratios["usd"].value == pytest.approx(2.0)
    assert contrast.ratios["tokens"].value == pytest.approx(1.0)


def test_nothing_to_compare_with_is_said() -> None:
    found = data(CLEAR)
    alone = HelpData([trial for trial in found.trials if trial.arm == "with"], found.assertions)
    sentences = list(help_sentences(answer(alone)))
    assert sentences == ["No comparison was made, so it is not known whether the skill helps."]


def test_the_report_is_as_stored() -> None:
    found = answer(data(*[CLEAR] * 4, SAME, SAME, (("001", "101", "001"), ("101", "111", "111"))))
    text = "\n".join([*plain_lines(help_sections(found)), *help_sentences(found), ""])
    assert help_markdown(found) == golden("help.md", help_markdown(found))
    assert text == golden("help.txt", text)


def with_uses(found: HelpData, used: Sequence[int]) -> HelpData:
    """Return the data with uses of the skill, by the repetition of each eval in turn."""
    own = [number for number, trial in enumerate(found.trials) if trial.arm == "with"]
    uses = {number: bool(used[at % len(used)]) for at, number in enumerate(own)}
    trials = [trial.model_copy(update={"used": uses.get(number)}) for number, trial in enumerate(found.trials)]
    return HelpData(trials, found.assertions)


def test_the_effect_where_it_was_used_is_shown_from_six_evals_with_enough_uptake() -> None:
    six = data(*[CLEAR] * 5, (("111", "111", "101"), ("001", "001", "001")))
    found = with_uses(six, (1, 1, 1, 1, 0))
    contrast = contrast_of(found, "without")
    assert contrast.where_used is not None
    assert contrast.where_used.value > (contrast.here.value if contrast.here else 1)
    assert "It costs 2.0 x as much as trials without it and was used in 83 % of trials." in help_sentences(
        answer(found)
    )
    assert contrast_of(with_uses(six, (1, 0, 0, 0, 0)), "without").where_used is None
    assert contrast_of(with_uses(data(*[CLEAR] * 5), (1, 1, 1, 1, 0)), "without").where_used is None
    (note,) = uptake_notes(found)
    assert note.startswith("not used in 3 of 9 trials of 002-eval, 004-eval, 005-eval: if these should trigger it, ")


@pytest.mark.parametrize("evals", [3, 8])
def test_two_equal_versions_are_rarely_told_apart(evals: int) -> None:
    assert false_verdicts(evals, suites=120)[1] <= 0.05


def test_of_several_skills_those_are_named_that_stay_after_adjustment() -> None:
    assert discoveries({"a": 0.001, "b": 0.2, "c": 0.04}) == ["a", "c"]
    reports = [PartReport((), (), answer(data(*each)).model_dump(mode="json")) for each in ([CLEAR] * 3, [SAME] * 2)]
    named = [report.data | {"skill": name} for report, name in zip(reports, ("a", "b"), strict=True)]
    assert discovery_sentence(PartReport((), (), each) for each in named) == (
        "Of 2 skills, a differs with a false discovery rate of 10 % (Benjamini-Hochberg).\n"
    )
    assert discovery_sentence(reports[:1]) == ""


def test_repetitions_that_are_all_alike_leave_some_doubt() -> None:
    found = stratified_difference([([1.0] * 3, [0.0] * 3)])
    assert found is not None
    assert found.value == 1.0
    assert found.low < 0.7
    assert found.least_p == pytest.approx(0.1)
    assert found.p >= found.least_p
    assert stratified_difference([([], [1.0])]) is None
