"""Items, grade and progress where a panel ran."""

from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.judge.score import NO_PANEL, AgreedItem, Consensus, progress, score_items, score_trial
from scylla_gha.model.judgment import CheckResult, ItemScore
from scylla_gha.model.scenario import ProgressStep

FOLDER = Library((Path(__file__).parents[2],)).scenario("001-hello-world")
CHECKS = {
    point.id: CheckResult(id=point.id, holds=True, value=1.0, evidence="") for point in FOLDER.scenario.checkpoints
}
ASKED = ("Q2", "O1", "O2")


def consensus(value: float | None = 1.0, excess: str | None = None, steps: frozenset[str] = frozenset()) -> Consensus:
    return Consensus({name: AgreedItem(value, "median of 3") for name in ASKED}, excess, steps)


def by_judges(panel: Consensus | None, *, changed: bool = True) -> list[ItemScore]:
    items = score_items(FOLDER.rubric, CHECKS, changed=changed, panel=panel)
    return [item for item in items if item.by == "judge"]


def test_the_panels_items_have_its_value_reason_and_flags() -> None:
    flagged = Consensus({**consensus().items, "O1": AgreedItem(0.25, "median of x", flags=("disagreement",))})
    scored = {item.id: (item.value, item.reason, item.flags) for item in by_judges(flagged)}
    assert scored["Q2"] == (1.0, "median of 3", ())
    assert scored["O1"] == (0.25, "median of x", ("disagreement",))


def test_without_a_panel_they_are_not_applicable() -> None:
    assert {(item.id, item.value, item.reason) for item in by_judges(None)} == {
        (name, None, NO_PANEL) for name in ASKED
    }


@pytest.mark.parametrize("panel", [Consensus({}), consensus(1.0)])
def test_who_changed_nothing_earns_nothing_from_the_panel_either(panel: Consensus) -> None:
    scored = by_judges(panel, changed=False)
    assert {(item.value, item.reason) for item in scored} == {(0.0, "nothing was changed")}
    assert {item.value for item in by_judges(None, changed=False)} == {None}


def test_code_is_never_overruled() -> None:
    panel = Consensus({**consensus().items, "F1": AgreedItem(0.0, "the judges say no")})
    items = {item.id: item for item in score_items(FOLDER.rubric, CHECKS, panel=panel)}
    assert (items["F1"].value, items["F1"].by) == (1.0, "check")


@pytest.mark.parametrize(
    ("panel", "grade"),
    [
        (consensus(1.0, excess="hello.py: --help"), "S"),
        (consensus(1.0), "A"),
        (consensus(0.9, excess="hello.py: --help"), "A"),
        (None, "A"),
    ],
)
def test_the_best_grade_needs_all_points_and_cited_excess(panel: Consensus | None, grade: str) -> None:
    items = score_items(FOLDER.rubric, CHECKS, panel=panel)
    assert score_trial(FOLDER.scenario, FOLDER.rubric, CHECKS, items, panel=panel).grade == grade


def test_a_step_of_the_panels_items_is_the_panels_and_others_are_codes() -> None:
    steps = [
        ProgressStep(step="idiomatic", item="Q2"),
        ProgressStep(step="approved", item="O1"),
        ProgressStep(step="greets", checkpoint="greets", weight=2),
        ProgressStep(step="exact", item="F4"),
    ]
    panel = consensus(0.6, steps=frozenset({"idiomatic"}))
    items = score_items(FOLDER.rubric, CHECKS, panel=panel)
    assert progress(steps, CHECKS, items, panel) == pytest.approx(4 / 5)
    assert progress(steps[:2], CHECKS, items, panel) == 0.5


def test_a_step_of_an_item_that_does_not_apply_does_not_count() -> None:
    steps = [ProgressStep(step="idiomatic", item="Q2"), ProgressStep(step="greets", checkpoint="greets")]
    items = score_items(FOLDER.rubric, CHECKS, panel=consensus(None))
    assert progress(steps, CHECKS, items, consensus(None)) == 1.0
    assert progress(steps[:1], CHECKS, items, consensus(None)) is None
