"""collect: which judgment and which controls count, and what all judging cost."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.collect import collect
from scylla_gha.config.keys import canary_key, judgment_key, panel_digest, repeat_key
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.materials import read_prompt_texts
from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import Judge, JudgeControl, Judgment
from scylla_gha.model.trial import NO_USAGE, DiffStat, Trial, Usage
from scylla_gha.store import read_lines, write_record
from scylla_gha.store.run_folder import RunFolder, traffic_of
from tests.support.library import write, write_scenario, write_yaml
from tests.support.records import (
    make_attempt,
    make_category,
    make_experiment,
    make_item,
    make_judgment,
    make_plan,
    make_rubric,
    make_score,
    make_trial,
)
from tests.support.rows import CELL, collected, row_of, store
from tests.support.traffic import write_traffic

DIFF = DiffStat(files=("a", "b"), added=3, deleted=4, sha256="0")
FOR_JUDGES = make_rubric(make_category(make_item(id="Q1", type="subjective", checks=())))


@pytest.fixture
def library(tmp_path: Path) -> Library:
    write_scenario(tmp_path / "here")
    return Library((tmp_path / "here",))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "runs")


JUDGES = ("claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5")
Wording = Callable[..., Path]


@pytest.fixture
def wording(library: Library) -> Wording:
    """Writes the judges' wording into the library."""

    def write_it(system: str = "Judge fairly.\n") -> Path:
        folder = library.roots[0] / "config" / "judge"
        write(folder / "user_template.md", (toolkit_root() / "config/judge/user_template.md").read_bytes())
        return write(folder / "system_prompt.md", system)

    return write_it


def judged_by(judges: Sequence[str], library: Library, **given: Any) -> tuple[Trial, Judgment]:
    """A trial and its judgment by the checks of today and these judges, in the wording of now."""
    trial = make_trial(CELL)
    of_today = library.scenario(CELL.scenario).judging_digest
    key = judgment_key(trial, of_today, panel_digest(judges, library.roots))
    return trial, make_judgment(CELL, key=key, **given)


@pytest.mark.parametrize(
    ("before", "today", "counts"),
    [
        pytest.param(JUDGES, JUDGES, True, id="the same panel"),
        pytest.param(JUDGES[:2], JUDGES, False, id="one judge more"),
        pytest.param(JUDGES, JUDGES[:2], False, id="one judge less"),
        pytest.param((), JUDGES, False, id="a panel instead of none"),
        pytest.param(JUDGES, (), False, id="no panel any more"),
        pytest.param(("claude-opus-4-5", *JUDGES[1:]), JUDGES, False, id="another model"),
        pytest.param((), (), True, id="none, then and now"),
    ],
)
def test_a_judgment_counts_only_under_the_court_of_today(
    folder: RunFolder, library: Library, wording: Wording, before: Sequence[str], today: Sequence[str], counts: bool
) -> None:
    wording()
    store(folder, *judged_by(before, library, usage=_usd(0.5)))
    (row,) = collected(folder, library, make_plan(CELL, experiment=make_experiment(judges=today)))
    assert (row.judged, row.score) == ((True, 1.0) if counts else (False, None))


def test_a_judgment_in_other_words_does_not_count(folder: RunFolder, library: Library, wording: Wording) -> None:
    wording()
    store(folder, *judged_by(JUDGES, library))
    plan = make_plan(CELL, experiment=make_experiment(judges=JUDGES))
    (before,) = collected(folder, library, plan)
    wording("Judge fairly!\n")
    (after,) = collected(folder, library, plan)
    assert (before.judged, after.judged, after.measures_agent) == (True, False, True)


def test_only_a_court_needs_its_wording(folder: RunFolder, library: Library) -> None:
    store(folder, *judged_by((), library))
    assert [row.judged for row in collected(folder, library)] == [True]
    with pytest.raises(ConfigError, match=r"config/judge: no such folder; create one with the judges' prompts"):
        collected(folder, library, make_plan(CELL, experiment=make_experiment(judges=JUDGES)))


@pytest.mark.parametrize(
    ("costs", "unanswered", "usd"),
    [([], 0, 0.0), ([0.25], 0, 0.25), ([0.25, 0.5], 0, 0.75), ([0.25, None], 0, None), ([0.25], 1, None)],
    ids=["never judged", "once", "again and again", "a price is unknown", "killed in the middle of it"],
)
def test_all_judging_that_was_ever_paid_for_stands_apart_by_its_traffic(
    folder: RunFolder, library: Library, costs: list[float | None], unanswered: int, usd: float | None
) -> None:
    trial = make_trial(CELL, make_attempt(number=1), make_attempt(number=2))
    if costs:
        journal = folder.cell(CELL.id).attempt(2).file("judge-traffic.jsonl")
        write_traffic(journal, *costs, unanswered=unanswered)
    older = make_judgment(CELL, key="by a panel that counts no longer", usage=_usd(99.0))
    store(folder, trial, older)
    (row,) = collected(folder, library)
    assert (row.judged, row.judge_usd, row.usd) == (False, usd, 0.0)


def test_a_judgment_that_came_to_no_verdict_is_no_score(folder: RunFolder, library: Library) -> None:
    made = make_judgment(CELL, result=None, error="unjudged: Q1")
    row = row_of(folder, library, make_trial(CELL), made)
    assert (row.outcome, row.reason, row.score) == ("judge_error", "unjudged: Q1", None)


def test_a_failed_check_counts_without_judges_and_a_passed_one_is_unjudged(folder: RunFolder, library: Library) -> None:
    failed = make_score(score=None, grade=None, passed=False, why="greets does not hold; judges gave no score")
    row = row_of(folder, library, make_trial(CELL), make_judgment(CELL, result=failed, error="unjudged: Q1"))
    assert (row.outcome, row.judged, row.passed, row.score) == ("completed", True, False, None)
    assert (row.unjudged, row.judge_scores) == (None, {})
    row = row_of(folder, library, make_trial(CELL), make_judgment(CELL, result=None, unjudged="unjudged: Q1"))
    assert (row.outcome, row.judged, row.passed, row.unjudged) == ("completed", False, None, "unjudged: Q1")
    assert row.measures_agent


def test_the_judgment_of_today_counts_wherever_it_lies(folder: RunFolder, library: Library) -> None:
    trial = make_trial(CELL)
    key = judgment_key(trial, library.scenario(CELL.scenario).judging_digest, "")
    store(folder, trial, make_judgment(CELL, key="another"))
    write_record(folder.cell(CELL.id).other_judgment(key), make_judgment(CELL, key=key, result=make_score(score=0.25)))
    (row,) = collected(folder, library)
    assert row.score == 0.25


PROBE = JudgeControl(key="k", judge=JUDGES[0], scenario=CELL.scenario)


def keep_probe(folder: RunFolder, probe: JudgeControl, *costs: float | None) -> None:
    path = folder.probe(probe.subject, probe.judge, probe.key)
    write_record(path, probe)
    write_traffic(traffic_of(path), *costs)


def probes_of(folder: RunFolder, library: Library, *judges: str) -> list[JudgeControl]:
    collect(make_plan(CELL, experiment=make_experiment(judges=judges)), folder, library)
    return list(read_lines(folder.controls, JudgeControl))


def test_where_nobody_was_controlled_there_is_no_file_of_it(folder: RunFolder, library: Library) -> None:
    collect(make_plan(CELL), folder, library)
    assert not folder.controls.exists()


def test_controls_cost_what_their_traffic_says(folder: RunFolder, library: Library, wording: Wording) -> None:
    wording()
    keep_probe(folder, PROBE, 0.25, 0.5)
    (found,) = probes_of(folder, library)
    assert (found.usage.usd, found.stands, found.key) == (0.75, False, "k")


@pytest.mark.parametrize(
    ("change", "judges", "stands"),
    [
        pytest.param({}, JUDGES, True, id="of today"),
        pytest.param({}, JUDGES[1:], False, id="of a judge that is no more"),
        pytest.param({"key": "k"}, JUDGES, False, id="in other words"),
        pytest.param({"scenario": "009-gone"}, JUDGES, False, id="of a scenario that is not planned"),
    ],
)
def test_controls_stand_for_the_judges_words_and_scenarios_of_today(
    folder: RunFolder, library: Library, wording: Wording, change: dict[str, str], judges: Sequence[str], stands: bool
) -> None:
    wording()
    scenario = library.scenario(CELL.scenario)
    write(scenario.solution, "right")
    write(scenario.path / "wrong" / "a.patch", "wrong")
    write_yaml(scenario.path / "rubric.yaml", FOR_JUDGES)
    scenario = dataclasses.replace(scenario, rubric=FOR_JUDGES)
    key = canary_key(Judge(JUDGES[0]), read_prompt_texts(library.roots), scenario)
    fresh = Library((library.roots[0].rename(library.roots[0].with_name("moved")),))  # scenarios are read once
    keep_probe(folder, PROBE.model_copy(update={"key": key, **change}))
    (found,) = probes_of(folder, fresh, *judges)
    assert found.stands is stands


@pytest.mark.parametrize(
    ("times", "trial", "stands"), [(3, "the same", True), (2, "the same", False), (3, "new", False)]
)
def test_what_was_asked_again_stands_for_the_trial_it_was_asked_about(
    folder: RunFolder, library: Library, wording: Wording, times: int, trial: str, stands: bool
) -> None:
    wording()
    before = make_trial(CELL)
    key = repeat_key(Judge(JUDGES[0]), read_prompt_texts(library.roots), library.scenario(CELL.scenario), before, 3)
    store(folder, before if trial == "the same" else make_trial(CELL, make_attempt(diff=DIFF)))
    keep_probe(folder, PROBE.model_copy(update={"key": key, "cell": CELL.id, "times": times}))
    (found,) = probes_of(folder, library, *JUDGES)
    assert found.stands is stands


def _usd(value: float | None) -> Usage:
    return NO_USAGE.model_copy(update={"usd": value})
