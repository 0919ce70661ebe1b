"""A recorded experiment runs again without a key and without a provider, to equal results.

`UPDATE_RECORDINGS=1 pytest tests/e2e/test_replay.py` records `config/recordings/hello-claude` anew.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import scylla
from tests.support.hello import hello
from tests.support.provider import serve
from tests.support.rows import TIMES

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "config/recordings/hello-claude"
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
KEY = "sk-ant-canary-9876543210"
REPLAY = "hello-claude-replay"


def rows(folder: Path, run: str = "hello-claude") -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "runs" / run / "results.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name not in TIMES} for row in found]


def trajectories(folder: Path) -> dict[str, Any]:
    """What was said and done, by cell, without durations, and without the ids that the provider counted up."""
    found = {path.parts[-3]: json.loads(path.read_text()) for path in folder.glob("runs/*/*/attempt-1/trajectory.json")}
    for trajectory in found.values():
        for call in (call for step in trajectory["steps"] for call in step["tool_calls"]):
            call["seconds"] = call["id"] = None
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of hello-claude against the scripted provider, and its recording."""
    folder = tmp_path_factory.mktemp("recorded")
    with serve(hello) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
        said = scylla("evaluate", "hello-claude", "--yes", "--record", "tape", cwd=folder, env=env)
        assert said.code == 0, said.err
        assert set(provider.keys) == {KEY}
    if os.environ.get("UPDATE_RECORDINGS"):
        shutil.rmtree(SHIPPED, ignore_errors=True)
        shutil.copytree(folder / "tape", SHIPPED)
    return folder


def test_three_judges_judge_each_trial_and_costs_stand_by_role(recorded: Path) -> None:
    for path in recorded.glob("runs/*/*/judgment.json"):
        judgment = json.loads(path.read_text())
        judges = [answer["judge"] for answer in judgment["answers"]]
        assert judges == ["claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5-20251001"]
        assert [answer["error"] for answer in judgment["answers"]] == [None] * 3
        assert all(item["value"] is not None for item in judgment["items"] if item["id"] != "B3")
    for row in rows(recorded):
        # two requests of the agent at $2 and $10 a million; one of each judge, at $5/$25, $2/$10 and $1/$5
        assert row["usd"] == pytest.approx(2 * (100 * 2 + 25 * 10) / 1e6)
        assert row["judge_usd"] == pytest.approx((100 * 8 + 25 * 40) / 1e6)
        assert (row["score"], row["grade"], row["items_unjudged"]) == (1.0, "A", 0)


def test_the_key_is_in_no_file_and_the_agent_never_had_it(recorded: Path) -> None:
    for path in recorded.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def test_the_shipped_recording_replays_without_key_and_provider_to_equal_results(
    recorded: Path, tmp_path: Path
) -> None:
    said = scylla("evaluate", "hello-claude", "--replay", cwd=tmp_path, env=NO_KEY)
    assert said.code == 0, said.err
    assert "judges $" in said.out
    assert rows(tmp_path, REPLAY) == rows(recorded)
    assert trajectories(tmp_path) == trajectories(recorded)


def test_one_changed_byte_of_the_prompt_is_unmatched_and_never_goes_live(tmp_path: Path) -> None:
    scenario = ROOT / "scenarios/core/001-hello-world"
    shutil.copytree(scenario, tmp_path / "scenarios/core/001-hello-world")
    prompt = tmp_path / "scenarios/core/001-hello-world/prompt.md"
    prompt.write_text(prompt.read_text().replace("Create a", "Create A"))
    said = scylla("evaluate", "hello-claude", "--replay", "--only", "*r01", cwd=tmp_path, env=NO_KEY)
    assert said.code == 8
    assert {(row["outcome"], row["score"]) for row in rows(tmp_path, REPLAY)} == {("provider_error", None)}
    assert all("not in the recording" in row["reason"] for row in rows(tmp_path, REPLAY))
