import json
import math
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.conversations import inspect_logs
from scylla_gha.interop.importers import ImportedRows, ImportOptions, load_rows
from scylla_gha.interop.importers.inspect_samples import read_inspect
from tests.support.foreign import ODD, asked, notes
from tests.support.records import WHEN, make_cell, make_plan, make_result

USAGE = {"input_tokens": 5, "output_tokens": 6, "total_tokens": 21, "input_tokens_cache_read": 10,
         "input_tokens_cache_write": None}  # fmt: skip


def sample(**given: Any) -> dict[str, Any]:
    return {"id": "one", "epoch": 2, "scores": {"match": {"value": "C"}}, "total_time": 3.5,
            "model_usage": {"x/m": USAGE}, **given}  # fmt: skip


def log(place: Path, *samples: Any, **spec: Any) -> Path:
    about = {"created": "", "task": "bench", "model": "x/m", "dataset": {}, "config": {}, **spec}
    place.write_text(json.dumps({"version": 2, "status": "success", "eval": about, "samples": list(samples)}))
    return place


def loaded(place: Path) -> ImportedRows:
    return load_rows(read_inspect(place), place.name, "inspect", "run", ImportOptions())


def test_a_sample_becomes_a_row(tmp_path: Path) -> None:
    (row,) = loaded(log(tmp_path / "a.json", sample())).rows
    assert (row.scenario, row.arm, row.model, row.repetition, row.category) == ("one", "x/m", "x/m", 2, "bench")
    assert (row.passed, row.score, row.seconds) == (True, 1.0, 3.5)
    assert (row.input_tokens, row.cache_read_tokens, row.cache_write_tokens, row.total_tokens) == (5, 10, None, 21)


@pytest.mark.parametrize(
    ("value", "expected"), [("C", (True, 1.0)), ("I", (False, 0.0)), ("P", (False, 0.5)), ("N", (False, 0.0)),
                            (1, (True, 1.0)), (0.75, (False, 0.75)), (True, (True, 1.0)),
                            (False, (False, 0.0)), ("true", (True, 1.0)), ("Yes", (True, 1.0)), ("no", (False, 0.0)),
                            ("1", (True, 1.0)), ("0.5", (False, 0.5)), ("nearly", (False, 0.0)), ("nan", (False, 0.0)),
                            (math.nan, (None, None)), (None, (None, None)), ([1], (None, None))],
)  # fmt: skip
def test_values_of_scorers(tmp_path: Path, value: Any, expected: Any) -> None:
    (row,) = loaded(log(tmp_path / "a.json", sample(scores={"match": {"value": value}}))).rows
    assert (row.passed, row.score) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"error": {"message": "RateLimitError('429')"}, "scores": None}, ("provider_error", None, False)),
        ({"error": {"message": "KeyError('a')"}, "scores": {}}, ("agent_error", False, True)),
        ({"limit": {"type": "time", "limit": 5}, "scores": {}}, ("timeout", False, True)),
        ({"limit": {"type": "token", "limit": 5}}, ("budget_exceeded", True, True)),
        ({"limit": {"type": "operator", "limit": 1}}, ("cancelled", None, False)),
        ({"scores": {}}, ("completed", None, False)),
    ],
)
def test_errors_and_limits_are_outcomes(tmp_path: Path, given: dict[str, Any], expected: Any) -> None:
    (row,) = loaded(log(tmp_path / "a.json", sample(**given))).rows
    assert (row.outcome.value, row.passed, row.judged) == expected


def test_logs_of_several_models_and_tasks_are_read_together(tmp_path: Path) -> None:
    log(tmp_path / "a.json", sample(), model="x/a")
    log(tmp_path / "b.json", sample(), model="x/b", task="other")
    assert [(row.arm, row.scenario) for row in loaded(tmp_path).rows] == [("x/a", "bench/one"), ("x/b", "other/one")]


def test_what_was_exported_comes_back_with_its_arm_and_verdict(tmp_path: Path) -> None:
    cells = [make_cell("nop"), make_cell("oracle")]
    rows = [make_result(cells[0], passed=False, score=1.0), make_result(cells[1], score=0.5)]
    for name, log in inspect_logs(make_plan(*cells), rows, WHEN, {}).items():
        (tmp_path / name).write_bytes(log)
    assert {(row.arm, row.passed, row.score) for row in loaded(tmp_path).rows} == {
        ("nop", False, 1.0), ("oracle", True, 0.5),
    }  # fmt: skip


def test_a_log_that_did_not_end_well_is_told_of(tmp_path: Path) -> None:
    place = log(tmp_path / "a.json", sample())
    place.write_text(place.read_text().replace("success", "cancelled"))
    assert read_inspect(place).notes == ["a.json: the log's status is 'cancelled', so samples may be missing."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("{}", "no object `eval`"),
        ('{"eval": {"model": "m"}, "samples": [{}]}', "none of its samples has an id"),
        ('{"eval": {"model": "m"}, "samples": 5}', "`samples` is not a list"),
        ('{"eval": {"model": [1]}, "samples": []}', "eval.model is not a name"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_inspect(tmp_path / "a.json")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="inspect log convert"):
        read_inspect(tmp_path)


def test_a_score_that_a_scorer_left_out_is_a_row_without_one(tmp_path: Path) -> None:
    samples = [
        sample(id=number, scores={"match": {"value": value}}) for number, value in enumerate(["C", math.nan, "I"])
    ]
    table = loaded(log(tmp_path / "a.json", *samples))
    assert [(row.passed, row.judged) for row in table.rows] == [(True, True), (None, False), (False, True)]
    (note,) = notes(table)
    assert "1 row has unusable values" in note
    assert "samples[1]: column 'score' (as score): nan not a finite number" in note


def test_the_last_successful_log_of_a_task_counts(tmp_path: Path) -> None:
    tried = {"task_id": "T1", "dataset": {}}
    aborted = log(tmp_path / "a.json", sample(), sample(id="two", scores={}), created="2026-01-01T00:00:00Z", **tried)
    aborted.write_text(aborted.read_text().replace('"success"', '"error"'))
    ended = sample(id="two", scores={"match": {"value": "I"}})
    log(tmp_path / "b.json", sample(), ended, created="2026-01-01T01:00:00Z", **tried)
    later = log(tmp_path / "c.json", sample(), created="2026-01-01T02:00:00Z", **tried)
    later.write_text(later.read_text().replace('"success"', '"started"'))
    table = loaded(tmp_path)
    assert [(row.scenario, row.passed) for row in table.rows] == [("one", True), ("two", False)]
    assert notes(table) == [
        "a.json: left out, because another log of its task T1 is used.",
        "c.json: left out, because another log of its task T1 is used.",
    ]


def test_of_tries_without_success_the_last_one_counts(tmp_path: Path) -> None:
    for name in ("a", "b"):
        place = log(
            tmp_path / f"{name}.json", sample(id=name), task_id="T1", created=f"2026-01-01T00:00:0{name == 'b':d}Z"
        )
        place.write_text(place.read_text().replace('"success"', '"error"'))
    assert [row.scenario for row in loaded(tmp_path).rows] == ["b"]


def test_manifests_beside_logs_are_left_out(tmp_path: Path) -> None:
    log(tmp_path / "a.json", sample())
    for name in ("listing.json", "eval-set.json", "logs.json"):
        (tmp_path / name).write_text("[]")
    assert notes(loaded(tmp_path)) == [
        "Left out: eval-set.json, listing.json, logs.json, which Inspect writes beside its logs."
    ]


def test_a_key_of_a_score_with_several_values_can_be_mapped(tmp_path: Path) -> None:
    place = log(tmp_path / "a.json", sample(scores={"judge": {"value": {"style": "P", "facts": 1}}}))
    with pytest.raises(
        ConfigError, match=r"name it: --map passed=COLUMN; .* scores\.judge\.style, scores\.judge\.facts"
    ):
        loaded(place)
    done = asked("import", str(place), "--map", "score=scores.judge.style", "--passed-if", "score>=0.5", "--json")
    assert done.exit_code == 0, done.output


KEYS = ("epoch", "scores", "total_time", "model_usage", "error", "limit", "started_at", "id")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_any_type_of_any_key_of_a_sample_is_read_and_no_sample_is_lost(tmp_path: Path, key: str, value: Any) -> None:
    place = log(tmp_path / "a.json", sample(epoch=1), sample(epoch=2, **{key: value} if key != "epoch" else {}))
    if key == "epoch":
        place = log(tmp_path / "a.json", sample(epoch=1), sample(epoch=value))
    assert len(loaded(place).rows) == 2


def test_a_sample_that_is_no_object_is_a_row_without_a_score(tmp_path: Path) -> None:
    table = loaded(log(tmp_path / "a.json", sample(), 5))
    assert [(row.scenario, row.judged) for row in table.rows] == [("one", True), ("sample 1", False)]
