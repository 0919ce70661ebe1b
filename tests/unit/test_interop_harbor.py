import json
import math
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers import ImportedRows, ImportOptions, load_rows
from scylla_gha.interop.importers.harbor import read_harbor
from tests.support.foreign import ODD, notes


def trial(folder: Path, name: str, **given: Any) -> None:
    place = folder / name
    place.mkdir(parents=True)
    config = {
        "trial_name": name,
        "agent": {"name": "claude-code", "model_name": "x/m"},
        "environment": {"type": "docker"},
    }
    (place / "config.json").write_text(json.dumps(config))
    result = {
        "task_name": "org/task", "trial_name": name, "task_checksum": "sum", "source": "bench", "config": config,
        "agent_info": {"name": "claude-code", "version": "2.0", "model_info": {"name": "m", "provider": "x"}},
        "agent_result": {"n_input_tokens": 100, "n_cache_tokens": 60, "n_output_tokens": 7, "cost_usd": 0.5},
        "verifier_result": {"rewards": {"reward": 1.0}}, "exception_info": None,
        "started_at": "2026-01-02T03:04:05Z",
        "agent_execution": {"started_at": "2026-01-02T03:04:06Z", "finished_at": "2026-01-02T03:05:06Z"},
    }  # fmt: skip
    (place / "result.json").write_text(json.dumps({**result, **given}))


def fault(kind: str, message: str = "") -> dict[str, str]:
    return {"exception_type": kind, "exception_message": message, "exception_traceback": "", "occurred_at": ""}


def loaded(folder: Path) -> ImportedRows:
    return load_rows(read_harbor(folder), "job", "harbor", "run", ImportOptions())


def test_a_trial_becomes_a_row_with_its_cost_tokens_and_time(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")  # of the job
    (tmp_path / "result.json").write_text("{}")
    trial(tmp_path, "task__a")
    (row,) = loaded(tmp_path).rows
    assert (row.scenario, row.arm, row.repetition, row.passed, row.score) == (
        "org/task",
        "claude-code.x/m",
        1,
        True,
        1.0,
    )
    assert (row.usd, row.input_tokens, row.cache_read_tokens, row.output_tokens) == (0.5, 40, 60, 7)
    assert (row.cache_write_tokens, row.total_tokens, row.seconds) == (None, 107, 60.0)
    assert (row.category, row.agent_version, row.model, row.sandbox) == ("bench", "2.0", "x/m", "docker")


def test_repetitions_go_by_the_time_of_the_start(tmp_path: Path) -> None:
    trial(tmp_path, "task__a", started_at="2026-01-02T09:00:00Z", verifier_result={"rewards": {"reward": 0.25}})
    trial(tmp_path, "task__b", started_at="2026-01-02T08:00:00Z")
    assert [(row.repetition, row.score, row.passed) for row in loaded(tmp_path).rows] == [
        (1, 1.0, True),
        (2, 0.25, False),
    ]


@pytest.mark.parametrize(
    ("kind", "rewards", "expected"),
    [
        ("AgentTimeoutError", None, ("timeout", False, True)),
        ("AgentTimeoutError", {"reward": 1}, ("timeout", True, True)),
        ("NonZeroAgentExitCodeError", None, ("agent_error", False, True)),
        ("RateLimitError", {"reward": 0}, ("provider_error", None, False)),
        ("EnvironmentBuildError", None, ("sandbox_error", None, False)),
        ("VerifierTimeoutError", None, ("judge_error", None, False)),
    ],
)
def test_a_fault_counts_for_whom_it_is_of(tmp_path: Path, kind: str, rewards: Any, expected: Any) -> None:
    verified = {"rewards": rewards} if rewards else None
    trial(tmp_path, "task__a", exception_info=fault(kind, "why"), verifier_result=verified)
    (row,) = loaded(tmp_path).rows
    assert (row.outcome.value, row.passed, row.judged) == expected
    assert row.reason == f"{kind}: why"


def test_a_trial_without_a_reward_or_a_fault_is_not_judged(tmp_path: Path) -> None:
    trial(tmp_path, "task__a", verifier_result=None)
    (row,) = loaded(tmp_path).rows
    assert (row.judged, row.passed, row.outcome.value) == (False, None, "completed")


def test_of_several_rewards_one_is_to_be_named(tmp_path: Path) -> None:
    trial(tmp_path, "task__a", verifier_result={"rewards": {"tests": 1, "style": 0.5}})
    with pytest.raises(ConfigError, match=r"no column tells whether a row passed.*rewards\.tests, rewards\.style"):
        loaded(tmp_path)


def test_a_trial_that_never_ended_is_counted_as_cancelled(tmp_path: Path) -> None:
    trial(tmp_path, "task__a")
    trial(tmp_path, "task__b")
    (tmp_path / "task__b" / "result.json").unlink()
    table = loaded(tmp_path)
    assert [(row.scenario, row.arm, row.outcome.value, row.passed) for row in table.rows] == [
        ("org/task", "claude-code.x/m", "cancelled", None),
        ("org/task", "claude-code.x/m", "completed", True),
    ]
    assert notes(table) == ["1 trial folder has no result.json: counted as cancelled."]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "task_name or trial_name is missing"),
        ('{"task_name": "org/task", "trial_na', "not JSON"),
    ],
)
def test_a_result_that_cannot_be_read_is_a_row_without_a_score(tmp_path: Path, text: str, reason: str) -> None:
    trial(tmp_path, "task__a")
    trial(tmp_path, "task__b")
    (tmp_path / "task__b" / "result.json").write_text(text)
    table = loaded(tmp_path)
    odd = next(row for row in table.rows if not row.judged)
    assert (odd.scenario, odd.arm, odd.outcome.value, odd.passed) == ("org/task", "claude-code.x/m", "completed", None)
    assert reason in odd.reason
    assert (odd.unjudged, len(table.rows)) == ("imported without a verdict", 2)
    (note,) = notes(table)
    assert note.startswith("1 trial has no readable result.json, and so no score: task__b: ")


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"verifier_result": {"rewards": {"reward": math.nan}}}, "column 'score' (as score): nan not a finite number"),
        ({"verifier_result": {"rewards": {"reward": math.inf}}}, "column 'score' (as score): inf not a finite number"),
        ({"agent_result": {"n_input_tokens": 100, "n_cache_tokens": 160}}, "(as input_tokens): -60 not from 0"),
        ({"agent_result": {"cost_usd": -0.5}}, "column 'usd' (as usd): -0.5 not from 0 to"),
    ],
)
def test_an_odd_value_is_unknown_and_named_and_its_trial_counts(tmp_path: Path, given: Any, note: str) -> None:
    trial(tmp_path, "task__a")
    trial(tmp_path, "task__b", **given)
    table = loaded(tmp_path)
    assert len(table.rows) == 2
    (line,) = notes(table)
    assert line.startswith("1 row has unusable values, which count as unknown: ")
    assert note in line
    assert "task__b/result.json" in line


def test_an_infinite_reward_that_was_written_as_a_number_is_unknown(tmp_path: Path) -> None:
    trial(tmp_path, "task__a", verifier_result={"rewards": {"reward": 1}})
    place = tmp_path / "task__a" / "result.json"
    place.write_text(place.read_text().replace('"reward": 1}', '"reward": 1e400}'))
    (row,) = loaded(tmp_path).rows
    assert (row.score, row.passed, row.judged) == (None, None, False)


KEYS = (
    "task_name", "trial_name", "task_checksum", "source", "config", "agent_info", "agent_result", "verifier_result",
    "exception_info", "started_at", "agent_execution",
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_any_type_of_any_key_is_read_and_no_trial_is_lost(tmp_path: Path, key: str, value: Any) -> None:
    trial(tmp_path, "task__a")
    trial(tmp_path, "task__b", **{key: value})
    assert len(loaded(tmp_path).rows) == 2


def test_what_is_no_trial_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("{}")
    (tmp_path / "other" / "result.json").write_text("{}")
    with pytest.raises(ConfigError, match="contains no Harbor trial"):
        read_harbor(tmp_path)
