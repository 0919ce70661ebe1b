"""Results and plan of foreign rows: mapping of columns, repetitions, keys, verdicts."""

from collections.abc import Sequence
from typing import Any

import pytest

from scylla_gha.aggregate import aggregate
from scylla_gha.collect import collect
from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers import ImportedRows, ImportOptions, load_rows
from scylla_gha.interop.importers.tables import SourceRow, SourceTable, table_of
from scylla_gha.model.plan import ColumnMap
from scylla_gha.store.run_folder import RunFolder
from tests.support.foreign import Row, notes


def of(*rows: Row) -> SourceTable:
    return table_of(SourceRow(f"f.csv:{number}", dict(row)) for number, row in enumerate(rows, start=2))


def row(scenario: str = "s", arm: str = "a", passed: object = True, **given: Any) -> Row:
    return {"scenario": scenario, "arm": arm, "passed": passed, **given}


def loaded(rows: Sequence[Row], **given: Any) -> ImportedRows:
    return load_rows(of(*rows), "f.csv", "csv", "run", ImportOptions(ColumnMap(**given)))


def test_what_a_row_does_not_tell_is_unknown_and_not_zero() -> None:
    (made,) = loaded([row()]).rows
    unknown = ("usd", "judge_usd", "seconds", "score", "grade", "progress", "input_tokens", "output_tokens",
               "cache_read_tokens", "cache_write_tokens", "total_tokens", "turns", "tool_calls", "failed_tool_calls",
               "attempts", "files_changed", "delivered", "model", "variant")  # fmt: skip
    assert [getattr(made, name) for name in unknown] == [None] * len(unknown)
    assert (made.category, made.sandbox, made.agent) == ("unknown", "unknown", "imported")
    assert made.reason == "imported from f.csv:2"


def test_repetitions_are_counted_where_no_column_tells_them() -> None:
    made = loaded([row(), row(arm="b"), row(), row("t")])
    assert [one.cell for one in made.rows] == ["s--a--r01", "s--b--r01", "s--a--r02", "t--a--r01"]


def test_a_row_that_is_there_twice_is_refused_with_both_lines() -> None:
    rows = [row(repetition=1), row(arm="b", repetition=1), row(repetition=1, passed=False)]
    with pytest.raises(ConfigError) as error:
        loaded(rows)
    assert "f.csv:4: repetition 1 of 'a' on 's' exists already at f.csv:2" in str(error.value)


def test_rows_that_only_their_order_makes_repetitions_are_counted_in_a_note() -> None:
    cut = loaded([row(), row(), row("t"), row("t", passed=False)])
    assert [note[:87] for note in notes(cut)] == [
        "2 rows have the scenario and arm of an earlier row, and count as repetitions; 1 of them"
    ]
    for rows in ([row(), row("t")], [row(repetition=1), row(repetition=2)]):
        assert notes(loaded(rows)) == []


def test_a_trial_without_a_score_is_a_row_and_is_named() -> None:
    rows = [row(score="100%"), row("t", score="N/A"), row("u", score="25")]
    made = loaded(rows, passed_if="score>=0.5", units={"score": "percent"})
    assert [(one.score, one.passed, one.judged) for one in made.rows] == [
        (1.0, True, True),
        (None, None, False),
        (0.25, False, True),
    ]
    assert made.rows[1].unjudged == "imported without a verdict: column 'score' (as score): 'N/A'"
    assert "1 row has unusable values, which count as unknown: f.csv:3" in notes(made)[0]


def test_json_in_cells_can_be_mapped() -> None:
    rows = [
        row(passed=None, grading='{"pass": true, "scores": {"x": 0.5}}'),
        row("t", passed=None, grading='{"pass": false, "scores": {"x": NaN}}'),
        row("u", passed=None, grading='{"pass": tr'),
    ]
    made = loaded(rows, columns={"passed": "grading.pass", "score": "grading.scores.x"})
    assert [(one.passed, one.score) for one in made.rows] == [(True, 0.5), (False, None), (None, None)]
    with pytest.raises(ConfigError, match=r"'grading\.size': there is no such column"):
        loaded(rows, columns={"passed": "grading.size"})


def test_a_value_is_refused_with_its_line_and_column() -> None:
    with pytest.raises(ConfigError) as error:
        loaded([row(), row(cost="$3")], columns={"usd": "cost"})
    assert str(error.value).startswith("f.csv:3: column 'cost' (as usd): '$3' not a number")


def test_the_same_rows_have_the_same_keys_and_others_have_others() -> None:
    first, again, other = (loaded([row(junk=junk)]).plan.cells[0].key for junk in ("x", "x", "y"))
    assert first == again != other


def test_names_that_are_alike_but_for_their_signs_have_cells_of_their_own() -> None:
    made = loaded([row(arm="A b"), row(arm="a-b"), row(arm="日本")])
    assert len({one.cell for one in made.rows}) == 3
    assert [one.arm for one in made.rows] == ["A b", "a-b", "日本"]


def test_the_plan_is_of_the_rows_and_guesses_nothing() -> None:
    plan = loaded([row(model="m"), row(arm="b", model="m"), row(arm="b", model="n")]).plan
    assert [(arm.id, arm.agent, arm.model) for arm in plan.arms] == [("a", "imported", "m"), ("b", "imported", None)]
    assert (plan.experiment.baseline, plan.estimate.usd.likely, plan.estimate.minutes.high) == ("a", None, None)


def test_the_baseline_is_an_arm() -> None:
    assert loaded([row(), row(arm="b")], baseline="b").plan.experiment.baseline == "b"
    with pytest.raises(ConfigError, match="--baseline 'c': not an arm; the arms are: a, b"):
        loaded([row(), row(arm="b")], baseline="c")


def test_an_outcome_that_is_not_the_agents_takes_no_verdict_and_is_told_of() -> None:
    made = loaded([row(outcome="provider_error", passed=False, score=0.5), row("t", outcome="timeout", passed=False)])
    assert [(one.passed, one.score, one.judged) for one in made.rows] == [(None, None, False), (False, None, True)]
    assert notes(made) == ["1 row has an outcome that does not measure the agent, so the verdict is ignored."]


def test_a_pass_by_rule_is_unknown_where_its_number_is() -> None:
    made = loaded([row(score="0.6"), row(score=""), row(score="0.5")], passed_if="score>=0.6")
    assert [(one.passed, one.judged) for one in made.rows] == [(True, True), (None, False), (False, True)]


FOREIGN = {"task": "a", "model": "m", "score": 0.5, "tokens": 9, "junk": 1}
MAPPED = {"scenario": "task", "arm": "model"}


def test_mapped_columns_come_first_then_those_with_a_fields_own_name() -> None:
    source = loaded([FOREIGN], columns=MAPPED, passed_if="score>=0.5").plan.imported
    assert source is not None
    assert source.columns == {
        "scenario": "task", "arm": "model", "model": "model", "score": "score", "total_tokens": "tokens",
    }  # fmt: skip
    assert source.ignored == ("junk",)


def test_a_column_with_a_fields_name_can_be_left_out() -> None:
    (result,) = loaded([{**FOREIGN, "passed": 1}], columns={**MAPPED, "score": ""}).rows
    assert (result.score, result.passed) == (None, True)


def test_a_rule_replaces_the_column() -> None:
    made = loaded([{**FOREIGN, "passed": True}], columns=MAPPED, passed_if="score>0.5")
    assert [result.passed for result in made.rows] == [False]
    assert made.plan.imported is not None
    assert made.plan.imported.ignored == ("junk", "passed")


@pytest.mark.parametrize(
    ("columns", "rule", "message"),
    [
        ({**MAPPED, "usd": "costs"}, None, "--map usd: 'costs': there is no such column"),
        ({**MAPPED, "usd": "tasks"}, None, "did you mean"),
        ({"arm": "model"}, None, "no column is the scenario; name it: --map scenario=COLUMN"),
        ({"scenario": "task"}, None, "no column is the arm"),
        (MAPPED, None, "no column tells whether a row passed"),
        (MAPPED, "usd<1", "no column is usd, which --passed-if needs"),
        ({"cost": "junk"}, None, "--map 'cost': not a field of a row"),
        *(
            ({}, text, "as score>=0.6")
            for text in ("x", "score", "score>=", "score>=high", "score=>0.6", "0.6<=score<=1")
        ),
    ],
)
def test_a_wrong_mapping_is_refused_with_what_there_is(columns: dict[str, str], rule: str | None, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        loaded([FOREIGN], columns=columns, passed_if=rule)
    assert message in str(error.value)


def test_without_rows_no_column_is_missing() -> None:
    assert loaded([]).rows == ()


@pytest.mark.parametrize(
    ("rule", "score", "expected"),
    [
        ("score>=0.6", 0.6, True),
        ("score > 0.6", 0.6, False),
        ("score<=0.6", 0.6, True),
        ("score<0.6", 0.6, False),
        ("score == 1", 1.0, True),
        ("score>=0.6", None, None),
    ],
)
def test_a_rule_decides_a_pass(rule: str, score: float | None, expected: bool | None) -> None:
    assert [result.passed for result in loaded([row(score=score)], passed_if=rule).rows] == [expected]


def test_modes_of_foreign_rows_are_compared_within_each_model_unless_a_baseline_is_named() -> None:
    arms = [
        ("a/gh", "gh", "a"),
        ("b/gh", "gh", "b"),
        ("a/mcp", "mcp", "a"),
        ("b/mcp", "mcp", "b"),
        ("c/mcp", "mcp", "c"),
    ]
    rows = [row(arm=arm, mode=mode, model=model) for arm, mode, model in arms]
    plan = loaded(rows).plan
    assert plan.pairs == {"a/mcp": "a/gh", "b/mcp": "b/gh"}
    unknown = "c/mcp: it is not compared, since mode gh has no single arm with its variant, agent and model."
    assert unknown in aggregate(plan, loaded(rows).rows).warnings
    assert set(loaded(rows, baseline="a/gh").plan.pairs.values()) == {"a/gh"}
    two_prompts = [*rows, row(arm="a/gh/long", mode="gh", model="a")]
    assert loaded(two_prompts).plan.pairs == {"b/mcp": "b/gh"}, "nothing tells which of two arms stands for the mode"


def test_the_report_says_that_nobody_verified_the_rows() -> None:
    made = loaded([row()])
    assert (
        aggregate(made.plan, made.rows)
        .warnings[0]
        .startswith("The rows are imported from f.csv (csv), and were not ver")
    )


def test_what_was_imported_is_not_collected(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match="there is nothing to collect"):
        collect(loaded([row()]).plan, RunFolder(tmp_path), Library(()))
