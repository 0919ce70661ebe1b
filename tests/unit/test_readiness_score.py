"""The readiness score: corrected for guessing, with intervals, and compared between commits."""

import json
from pathlib import Path

import numpy as np
import pytest

from scylla_gha.model.readiness import GuessLevel, ItemPart, MissingDimension, ObservedTrial
from scylla_gha.model.trial import Outcome
from scylla_gha.readiness.closed_book import ask_closed_book, closed_book_levels
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.compare_scores import compare_scores
from scylla_gha.readiness.evidence import with_evidence, with_features
from scylla_gha.readiness.intervals import interval
from scylla_gha.readiness.score import score
from scylla_gha.stats.resampling import Resampling
from tests.support.gateway import shared
from tests.support.provider import Body, Say
from tests.support.readiness_items import drawn_trials, item_set, readiness_item, trial
from tests.support.repository import write_tree

HALF = (GuessLevel(form="explain", parts=12, guessers={"uniform": 0.5}),)


def test_guessing_scores_0_and_all_points_score_100() -> None:
    items = item_set()
    guessed = [ObservedTrial(item=item.id, outcome=Outcome.COMPLETED, parts={"explain": 0.5}) for item in items.items]
    assert score(items, guessed, HALF).score == pytest.approx(0)
    solved = score(items, [trial(item) for item in items.items], HALF)
    assert (solved.score, solved.high, solved.applied) == (100, 100, 1)
    assert solved.low is not None
    assert 50 < solved.low < 100, "twelve of twelve in six files are no proof of 100"


def test_the_larger_of_guessers_and_control_corrects() -> None:
    levels = (HALF[0].model_copy(update={"closed_book": 0.75, "asked": 12}),)
    items = item_set()
    trials = [ObservedTrial(item=item.id, outcome=Outcome.COMPLETED, parts={"explain": 0.5}) for item in items.items]
    assert score(items, trials, levels).score == pytest.approx(-100), "it is not clamped"


def test_parts_that_are_guessed_nearly_always_are_left_out() -> None:
    items = item_set()
    levels = (GuessLevel(form="explain", parts=12, guessers={"uniform": 0.95}),)
    mixed = [ObservedTrial(item=item.id, outcome=Outcome.COMPLETED, parts={"explain": 0.0, "locate": 1.0})
             for item in items.items]  # fmt: skip
    assert score(items, mixed, levels).score == 100
    alone = [trial.model_copy(update={"parts": {"explain": 0.0}}) for trial in mixed]
    row = score(items, alone, levels)
    (own,) = (dimension for dimension in row.dimensions if dimension.planned)
    assert (row.score, own.excluded) == (None, {"guessable": 12})
    assert own.missing == "0 of 12 anchors have a score, 8 are needed: 12 guessable"


def test_parts_that_do_not_apply_spread_their_weight() -> None:
    items = item_set()
    trials = [ObservedTrial(item=item.id, outcome=Outcome.COMPLETED, parts={"locate": 1.0, "context": 0.0})
              for item in items.items]  # fmt: skip
    assert score(items, trials, ()).score == pytest.approx(100 * 40 / 60)


def test_ends_without_an_answer_score_0_and_faults_are_left_out_and_counted() -> None:
    items = item_set()
    faults = dict(zip(range(4), (Outcome.TIMEOUT, Outcome.REFUSED, Outcome.PROVIDER_ERROR, Outcome.SANDBOX_ERROR),
                      strict=True))  # fmt: skip
    trials = [trial(item, 1.0, faults.get(number, Outcome.COMPLETED)) for number, item in enumerate(items.items)]
    ungraded = ObservedTrial(item=items.items[4].id, outcome=Outcome.COMPLETED)
    result = score(items, [*trials[:4], ungraded, *trials[5:]], ())
    row = result.dimensions[0]
    assert row.score == pytest.approx(100 * 7 / 9)
    assert row.failed == {"timeout": 1, "refused": 1}
    assert row.excluded == {"provider_error": 1, "sandbox_error": 1, "unjudged": 1}
    assert (row.anchors, row.planned, row.solved) == (9, 12, 7)


def test_repetitions_are_averaged_before_anchors() -> None:
    items = item_set(8)
    first = [trial(items.items[0], 0.0, repetition=number) for number in range(1, 9)]
    result = score(items, [*first, *(trial(item) for item in items.items[1:])], ())
    assert result.score == pytest.approx(100 * 7 / 8)


def test_a_dimension_without_enough_anchors_has_no_score_and_says_why() -> None:
    few = score(item_set(5), [trial(item) for item in item_set(5).items], ())
    assert (few.score, few.applied) == (None, 0)
    assert few.dimensions[0].missing == "5 anchors could be made, 8 are needed"
    reason = MissingDimension(dimension="intent-clarity", reason="the tests do not run")
    assert score(item_set(0, "intent-clarity", reason), [], ()).dimensions[0].missing == "the tests do not run"
    items = item_set(8)
    lost = [trial(item, 1.0, Outcome.PROVIDER_ERROR if item.id < "004" else Outcome.COMPLETED) for item in items.items]
    assert score(items, lost, ()).dimensions[0].missing == (
        "4 of 8 anchors have a score, 8 are needed: 4 provider_error"
    )


def test_effort_is_of_solved_anchors_and_unknown_stays_unknown() -> None:
    items = item_set()
    trials = [
        trial(item, float(number % 2), tokens=1000 * number, calls=number) for number, item in enumerate(items.items)
    ]
    row = score(items, trials, ()).dimensions[0]
    assert (row.tokens_per_solved, row.usd_per_solved, row.calls_per_solved) == (6000, None, 6)


def test_the_same_trials_give_the_same_bytes_in_any_order() -> None:
    items = item_set(20)
    trials = drawn_trials(items, lambda _: 0.6, 3)
    assert score(items, trials, HALF).model_dump_json() == score(items, trials[::-1], HALF).model_dump_json()


@pytest.mark.parametrize("files", [6, 12, 40])
def test_intervals_hold_the_truth_about_95_times_of_100(files: int) -> None:
    rng = np.random.default_rng(files)
    held = 0
    for _ in range(200):
        shift = rng.normal(0, 0.15, files)
        rows = [(f"f{at}", 0.5 + shift[at] + rng.normal(0, 0.3)) for at in range(files) for _ in range(1 + at % 3)]
        limits = interval(rows, Resampling(draws=999, seed=1))
        assert limits.low is not None
        assert limits.high is not None
        held += limits.low <= 0.5 <= limits.high
    assert held / 200 > 0.90


def test_equal_commits_seldom_get_a_verdict_that_they_differ() -> None:
    items = item_set(24)
    chances = {item.id: np.random.default_rng([9, number]).random() for number, item in enumerate(items.items)}
    verdicts = []
    for seed in range(100):
        one, other = (score(items, drawn_trials(items, lambda item: chances[item.id], 2 * seed + side), (),
                       Resampling(draws=99)) for side in range(2))  # fmt: skip
        verdicts.append(compare_scores(one, other).ruling.verdict)
    assert sum(verdict in {"better", "worse"} for verdict in verdicts) <= 8, "5 % and 1.6 standard errors"


def test_a_gain_is_seen_and_flipped_anchors_are_listed_lost_ones_first() -> None:
    items = item_set(20)
    before = score(items, [trial(item, float(number == 0)) for number, item in enumerate(items.items)], ())
    after = score(items, [trial(item, float(number > 7)) for number, item in enumerate(items.items)], ())
    change = compare_scores(before, after)
    assert change.ruling.verdict == "better"
    assert "anchors" in change.ruling.why
    assert [flip.anchor for flip in change.flipped][:2] == ["src/m0.py::f0", "src/m4.py::f8"]
    assert len(change.flipped) == 13


def test_anchors_whose_code_changed_are_shown_apart_and_lost_ones_named() -> None:
    items = item_set(12)
    changed = items.model_copy(update={"items": tuple(
        readiness_item(number, digest="1" if number < 3 else "0") for number in range(1, 14))})  # fmt: skip
    one, other = (score(suite, [trial(item) for item in suite.items], ()) for suite in (items, changed))
    change = compare_scores(one, other)
    assert change.changed.contrast.scenarios == 2
    assert change.unchanged.contrast.scenarios == 9
    assert change.ruling.verdict == "not_enough_data"
    assert (change.only_before, change.only_after) == (("src/m0.py::f0",), ("src/m6.py::f12", "src/m6.py::f13"))


def test_the_closed_book_control_asks_each_question_once_and_never_pays_twice(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(body: Body) -> Say:
        asked.append(json.dumps(body["messages"]))
        assert "tools" not in body
        return Say('I recall: {"explain": ["t::a"]}')

    def grade(part: ItemPart, content: object) -> float:
        return float(content == {"explain": ["t::a"]} and part.id == "explain")

    items = item_set(8)
    with shared(tmp_path, answer) as (_, host):
        first, again = (ask_closed_book(items, host.gateway, "dear", tmp_path) for _ in range(2))
    assert len(asked) == 8
    assert first == again
    assert first.usd is not None
    assert first.usd > 0
    levels = closed_book_levels(items.items, first.answers, grade)
    assert levels == {"locate": (0.0, 8), "explain": (1.0, 8), "context": (0.0, 8)}


def test_worst_files_and_associations_come_from_traces_and_functions(tmp_path: Path) -> None:
    core = "def process(a):\n    return load(a)\n\ndef load(a):\n    return a\n\ndef save(a):\n    return a\n"
    code = {"src/core.py": core, "src/other.py": 'def process(a):\n    """Do it."""\n    return a\n'}
    index = build_index(write_tree(tmp_path, code))
    ids = ["src/core.py::process", "src/core.py::load", "src/core.py::save", "src/other.py::process"]
    items = item_set(4)
    named = [item.model_copy(update={"anchor": anchor}) for item, anchor in zip(items.items, ids, strict=True)]
    noted = with_features(items.model_copy(update={"items": tuple(named)}), index)
    trials = [trial(item, float(item.anchor == ids[3]), opened=("src/other.py", "src/core.py")) for item in noted.items]
    result = with_evidence(score(noted, trials, ()), noted, trials)
    (worst,) = result.worst_files
    assert (worst.file, worst.missed, worst.anchors) == ("src/core.py", 3, 3)
    assert worst.evidence == ("src/other.py was opened first in 3 of 3 trials; 1 other function is named `process` too")
    counts = {row.feature: (row.missed, row.of_missed, row.solved, row.of_solved)
              for row in result.associations if row.dimension is None}  # fmt: skip
    assert counts["no docstring"] == (3, 3, 0, 1)
    assert counts["same name elsewhere"] == (1, 3, 1, 1)
