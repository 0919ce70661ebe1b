from typing import Any

import pytest

from scylla_gha.judge.score import (
    NO_PANEL,
    grade,
    progress,
    score_by_judge,
    score_categories,
    score_items,
    score_trial,
    total_score,
)
from scylla_gha.model.judgment import CategoryScore, CheckResult, ItemScore, JudgeAnswer, JudgeScore, Score
from scylla_gha.model.scenario import ProgressStep, Rubric
from tests.support.records import make_category, make_check, make_checkpoint, make_item, make_rubric, make_scenario


def checks(**given: bool | float) -> dict[str, CheckResult]:
    """Checkpoints by id: whether they hold, or the fraction of a graduated one."""
    return {name: make_check(id=name, holds=value == 1, value=float(value)) for name, value in given.items()}


def item_of(given: dict[str, Any], found: dict[str, CheckResult]) -> ItemScore:
    return score_items(make_rubric(make_category(make_item(**given))), found)[0]


def scored(item: str, category: str, value: float | None, points: float = 1.0) -> ItemScore:
    return ItemScore(id=item, category=category, points=points, value=value, by="check", reason="")


def split(**weights: float) -> Rubric:
    return make_rubric(*(make_category(make_item(id=f"{c.upper()}1"), id=c, weight=w) for c, w in weights.items()))


@pytest.mark.parametrize(
    ("given", "found", "value", "reason"),
    [
        ({"checks": ("a",)}, checks(a=True), 1.0, "holds: a"),
        ({"checks": ("a",)}, checks(a=False), 0.0, "fails: a"),
        ({"checks": ("a", "b")}, checks(a=True, b=True), 1.0, "holds: a, b"),
        ({"checks": ("a", "b", "c")}, checks(a=False, b=True, c=False), 0.0, "fails: a, c"),
        ({"checks": ("a",)}, checks(a=0.9), 0.0, "fails: a"),
        ({"checks": ("a",), "type": "graduated"}, checks(a=0.75), 0.75, "fails: a"),
        ({"checks": ("a", "b"), "type": "graduated"}, checks(a=0.5, b=True), 0.75, "fails: a"),
        ({"checks": ("a", "b"), "applies_if": "c"}, checks(a=True, b=True, c=True), 1.0, "holds: a, b"),
        ({"checks": ("a",), "applies_if": "c"}, checks(a=True, c=False), None, "does not apply: c does not hold"),
        ({"checks": ("a",), "applies_if": "c"}, checks(a=True, c=0.9), None, "does not apply: c does not hold"),
    ],
)
def test_an_item_with_checks_is_scored_by_code(
    given: dict[str, Any], found: dict[str, CheckResult], value: float | None, reason: str
) -> None:
    item = item_of(given, found)
    assert (item.value, item.reason, item.by, item.category) == (value, reason, "check", "all")


def test_items_of_a_category_without_weight_are_no_part_of_the_score() -> None:
    both = split(f=1.0, s=0.0)
    failed = scored("S1", "s", 0.0)
    assert total_score(score_categories(both, [scored("F1", "f", 1.0), failed])) == 1.0
    assert total_score(score_categories(both, [failed])) is None


def test_an_item_without_checks_is_not_scored_rather_than_made_up() -> None:
    item = item_of({"checks": (), "type": "subjective", "points": 3.0}, {})
    assert (item.value, item.reason, item.by, item.points) == (None, NO_PANEL, "judge", 3.0)


def test_who_changed_nothing_earns_nothing_though_checks_hold() -> None:
    parts = (make_item(), make_item(id="F2", checks=("a",), applies_if="a"), make_item(id="O1", checks=()))
    items = score_items(make_rubric(make_category(*parts)), checks(done=True, a=False), changed=False)
    assert [(item.value, item.reason) for item in items] == [
        (0.0, "nothing was changed"),
        (None, "does not apply: a does not hold"),
        (None, NO_PANEL),
    ]


def test_who_changed_nothing_made_no_progress_though_steps_hold() -> None:
    verdict = score_trial(make_scenario(), make_rubric(), checks(done=True), (scored("F1", "all", 0.0),), changed=False)
    assert (verdict.score, verdict.progress, verdict.passed) == (0.0, 0.0, False)


def test_points_weigh_items_within_their_category() -> None:
    found = score_categories(make_rubric(), [scored("F1", "all", 1.0, 3.0), scored("F2", "all", 0.5, 1.0)])
    assert found == (CategoryScore(id="all", weight=1.0, achieved=3.5, maximum=4.0),)
    assert total_score(found) == 0.875


def test_an_item_that_does_not_apply_is_in_neither_side_of_the_fraction() -> None:
    found = score_categories(make_rubric(), [scored("F1", "all", 1.0), scored("F2", "all", None, 9.0)])
    assert found == (CategoryScore(id="all", weight=1.0, achieved=1.0, maximum=1.0),)


def test_weights_of_categories_that_apply_sum_to_one_again() -> None:
    items = [scored("A1", "a", 1.0), scored("B1", "b", 0.0), scored("C1", "c", None)]
    found = score_categories(split(a=0.3, b=0.2, c=0.5), items)
    assert {each.id: each.weight for each in found} == pytest.approx({"a": 0.6, "b": 0.4})
    assert total_score(found) == 0.6


def test_one_judge_alone_decides_what_is_left_to_judgment() -> None:
    rubric = split(a=0.5, b=0.5)
    checked, judged = scored("A1", "a", 1.0), scored("B1", "b", 0.5).model_copy(update={"by": "judge"})
    own = JudgeScore(id="B1", evidence="seen", state="scored", value=0.2)
    assert score_by_judge(rubric, (checked, judged), JudgeAnswer(judge="j", prompt_digest="", items=(own,))) == 0.6
    silent = JudgeAnswer(judge="j", prompt_digest="", error="it was cut")
    assert score_by_judge(rubric, (checked, judged), silent) is None
    assert score_by_judge(rubric, (checked,), silent) == 1.0, "where nothing is left to judgment, nobody has to answer"


def test_a_score_of_zero_is_zero_and_of_nothing_is_null() -> None:
    assert total_score(score_categories(make_rubric(), [scored("F1", "all", 0.0)])) == 0.0
    assert score_categories(make_rubric(), [scored("F1", "all", None)]) == ()
    assert total_score(()) is None


def test_a_perfect_score_is_one_whatever_floats_make_of_the_weights() -> None:
    shares = dict.fromkeys("abcdefghij", 0.1)
    items = [scored(f"{letter.upper()}1", letter, 1.0) for letter in shares]
    assert total_score(score_categories(split(**shares), items)) == 1.0


@pytest.mark.parametrize(
    ("score", "letter"),
    [
        (0.0, "F"), (0.1999, "F"), (0.2, "D"), (0.3999, "D"), (0.4, "C"), (0.5999, "C"), (0.6, "B"), (0.7999, "B"),
        (0.8, "A"), (1.0, "A"),
        (0.1 + 0.1 + 0.1 - 0.1, "D"), (1 - 0.6, "C"), (0.1 + 0.7, "A"), (0.7 - 0.1, "B"), (1.1 - 0.5, "B"),
        (0.59999999999, "B"), (0.599999, "C"),
    ],
)  # fmt: skip
def test_grades_begin_at_their_bounds_also_where_floats_just_miss_them(score: float, letter: str) -> None:
    assert grade(score) == letter


@pytest.mark.parametrize(
    ("score", "cited", "letter"),
    [(1.0, True, "S"), (1.0, False, "A"), (0.999, True, "A"), (0.1, True, "F"), (0.9999999999, True, "S")],
)
def test_s_needs_a_perfect_score_and_cited_excess(score: float, cited: bool, letter: str) -> None:
    assert grade(score, excess_cited=cited) == letter


def test_progress_is_the_weight_of_what_was_achieved() -> None:
    steps = [
        ProgressStep(step="a", checkpoint="a", weight=2.0),
        ProgressStep(step="b", checkpoint="b"),
        ProgressStep(step="c", item="F1"),
    ]
    assert progress(steps, checks(a=True, b=0.5), [scored("F1", "all", 0.5)]) == 0.75


@pytest.mark.parametrize(("value", "expected"), [(None, 1.0), (0.0, 0.5), (1.0, 1.0)])
def test_a_step_that_could_not_be_decided_is_no_failed_step(value: float | None, expected: float) -> None:
    steps = [ProgressStep(step="a", checkpoint="a"), ProgressStep(step="b", item="O1")]
    assert progress(steps, checks(a=True), [scored("O1", "all", value)]) == expected


def test_progress_is_unknown_where_no_step_could_be_decided() -> None:
    assert progress([ProgressStep(step="b", item="O1")], {}, [scored("O1", "all", None)]) is None


def trial(
    found: dict[str, CheckResult], value: float | None, threshold: float = 0.6, **optional: dict[str, Any]
) -> Score:
    """The verdict where the rubric gives `value`, with a required checkpoint `done` and perhaps others."""
    others = [make_checkpoint(id=name, **given) for name, given in optional.items()]
    scenario = make_scenario(checkpoints=(make_checkpoint(), *others))
    return score_trial(scenario, make_rubric(pass_threshold=threshold), found, (scored("F1", "all", value),))


@pytest.mark.parametrize(
    ("value", "threshold", "passed", "why"),
    [
        (1.0, 0.6, True, "score 1, threshold 0.6"),
        (0.6, 0.6, True, "score 0.6, threshold 0.6"),
        (0.59, 0.6, False, "score 0.59, threshold 0.6"),
        (0.7 - 0.1, 0.6, True, "score 0.6, threshold 0.6"),
        (0.1 + 0.7, 0.8, True, "score 0.8, threshold 0.8"),
        (0.99, 1.0, False, "score 0.99, threshold 1"),
        (0.5999, 0.6, False, "score 0.5999, threshold 0.6"),  # what is shown must not look like the threshold
        (None, 0.6, False, "not scored, threshold 0.6"),
    ],
)
def test_a_trial_passes_from_the_threshold_on(value: float | None, threshold: float, passed: bool, why: str) -> None:
    verdict = trial(checks(done=True), value, threshold)
    assert (verdict.passed, verdict.why) == (passed, why)
    assert verdict.score == (None if value is None else pytest.approx(value))


def test_a_score_of_nothing_has_no_grade() -> None:
    assert trial(checks(done=True), None).grade is None


def test_a_perfect_score_does_not_make_up_for_a_required_checkpoint() -> None:
    verdict = trial(checks(done=True, safe=False, sound=False), 1.0, safe={}, sound={})
    assert (verdict.score, verdict.grade, verdict.passed) == (1.0, "A", False)
    assert verdict.why == "safe does not hold"


def test_a_graduated_required_checkpoint_must_hold_as_a_whole() -> None:
    verdict = trial(checks(done=0.9), 1.0)
    assert (verdict.passed, verdict.why) == (False, "done does not hold")


def test_a_checkpoint_that_is_not_required_may_fail() -> None:
    assert trial(checks(done=True, neat=False), 1.0, neat={"required": False}).passed


def test_a_broken_guard_fails_the_trial_and_is_named() -> None:
    verdict = trial(checks(done=True, tests=False, other=False), 1.0, tests={"guard": True}, other={"required": False})
    assert (verdict.passed, verdict.broken) == (False, ("tests",))


def test_a_perfect_trial_gets_no_s_without_cited_excess() -> None:
    verdict = trial(checks(done=True), 1.0)
    assert (verdict.grade, verdict.progress, verdict.broken) == ("A", 1.0, ())
