"""The README's experiment of the real Claude Code CLI, recorded as it runs, taken from its run folder, and replayed.

`UPDATE_RECORDINGS=1 pytest tests/e2e/test_hello_claude.py` records `config/recordings/hello-claude` anew.
"""

import json
import os
import shutil
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.act import look_at
from tests.support.command import NO_ENGINE, scylla
from tests.support.hello import hello
from tests.support.provider import Body, serve, tool_results, user_texts
from tests.support.readme import entry
from tests.support.rows import TIMES

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "config/recordings/hello-claude"
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
KEY = "sk-ant-canary-9876543210"
SANDBOX = {"DOCKER_HOST": NO_ENGINE}  # the sandbox is a part of the keys, so all runs must choose the same one
REPLAY = "hello-claude-replay"
COUNTS = "6 planned, 6 ran, 6 judged, 6 scored; delivery proved in 6 of 6; judges $0.01"


def run_all(folder: Path) -> None:
    """Run it with a key and record it, ask for it again, and replay the shipped recording without a key."""
    (live := folder / "live").mkdir()
    (replayed := folder / "replayed").mkdir()
    with serve(hello) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY, **SANDBOX}
        save(folder / "first.json", entry("evaluate", "hello-claude", "--yes", "--record", "tape", cwd=live, env=env))
        requests = list(provider.requests)
        shutil.copyfile(live / "runs/hello-claude/report.json", folder / "report.json")
        again = scylla("evaluate", "hello-claude", "--yes", "--json", cwd=live, env=env)
        later = len(provider.requests) - len(requests)
    asked = {"requests": requests, "later": later, "keys": list(dict.fromkeys(provider.keys))}
    (folder / "asked.json").write_text(json.dumps(asked))
    (folder / "again.json").write_text(json.dumps([again.code, again.out, again.err]))
    if os.environ.get("UPDATE_RECORDINGS"):
        shutil.rmtree(SHIPPED, ignore_errors=True)
        shutil.copytree(live / "tape", SHIPPED)
    save(folder / "replay.json", entry("evaluate", "hello-claude", "--replay", cwd=replayed, env={**NO_KEY, **SANDBOX}))


def save(path: Path, done: CompletedProcess[str]) -> None:
    path.write_text(json.dumps([done.returncode, done.stdout, done.stderr]))


def rows(folder: Path, run: str = "hello-claude") -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "runs" / run / "results.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name not in TIMES} for row in found]


def trajectories(folder: Path) -> dict[str, Any]:
    """Return what was said and done, by cell, without durations, and without the ids that the provider counted up."""
    found = {path.parts[-3]: json.loads(path.read_text()) for path in folder.glob("runs/*/*/attempt-1/trajectory.json")}
    for trajectory in found.values():
        for call in (call for step in trajectory["steps"] for call in step["tool_calls"]):
            call["seconds"] = call["id"] = None
    return found


def it_runs_with_a_key_and_prints_an_estimate_first(flow: Path) -> None:
    code, out, err = json.loads((flow / "first.json").read_text())
    assert code == 0, err
    assert COUNTS in out
    assert "estimate: $" in err


def the_second_run_takes_what_is_stored(flow: Path) -> None:
    code, out, err = json.loads((flow / "again.json").read_text())
    assert code == 0, err
    assert json.loads((flow / "asked.json").read_text())["later"] == 0, "the second run must ask no model"
    report = json.loads(out)
    assert report["arms"] == json.loads((flow / "report.json").read_text())["arms"]
    assert report["counts"] == {"planned": 6, "ran": 6, "judged": 6, "scored": 6}
    assert report["delivery"] == [6, 6]
    assert [arm["passed"] for arm in report["arms"]] == [3, 3]
    # 2 requests a trial, each 100 tokens in and 25 out, at $2 and $10 a million
    assert report["arms"][0]["usd"] == pytest.approx(3 * (200 * 2 + 50 * 10) / 1e6)
    assert {c["verdict"] for c in report["comparisons"]} == {"not_enough_data"}


def prompt_and_treatment_arrive(flow: Path) -> None:
    prompt = (ROOT / "scenarios/core/001-hello-world/prompt.md").read_text()
    systems = set()
    asked: dict[str, list[Body]] = json.loads((flow / "asked.json").read_text())
    for body in (body for body in asked["requests"] if body.get("tools")):
        assert user_texts(body)[-1].strip() == prompt.strip()
        # what identifies the request, and the CLI's one line about itself, stay whatever the system prompt is
        systems.add("".join(block["text"] for block in body["system"][2:])[:20])
    assert systems == {"", "\nYou are an agent wo"}
    assert any(tool_results(body) for body in asked["requests"])


def all_is_stored_whole(flow: Path) -> None:
    run = flow / "live/runs/hello-claude"
    assert not [path for path in run.rglob("*") if path.name.endswith(".tmp")]
    stored = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert len({row["workspace_digest"] for row in stored}) == 1
    assert {(row["turns"], row["tool_calls"], row["attempts"]) for row in stored} == {(2, 1, 1)}
    trajectory = json.loads(next(run.glob("*/attempt-1/trajectory.json")).read_text())
    assert [step["source"] for step in trajectory["steps"]] == ["user", "agent", "agent"]
    (call,) = trajectory["steps"][1]["tool_calls"]
    assert (call["name"], call["result"], call["failed"]) == ("Bash", "Hello, World!", False)
    assert call["arguments"]["command"].startswith("printf")
    assert call["seconds"] is None, "the CLI's own times are the agent's"
    assert all(row["tool_seconds"] > 0 for row in stored), "what the gateway saw"


def three_judges_judge_each_trial_and_costs_stand_by_role(flow: Path) -> None:
    judgments = list((flow / "live").glob("runs/*/*/judgment.json"))
    assert len(judgments) == 6
    for judgment in map(json.loads, (path.read_text() for path in judgments)):
        judges = [answer["judge"] for answer in judgment["answers"]]
        assert judges == ["claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5-20251001"]
        assert [answer["error"] for answer in judgment["answers"]] == [None] * 3
        assert all(item["value"] is not None for item in judgment["items"] if item["id"] != "B3")
    for row in rows(flow / "live"):
        # two requests of the agent at $2 and $10 a million; one of each judge, at $5/$25, $2/$10 and $1/$5
        assert row["usd"] == pytest.approx(2 * (100 * 2 + 25 * 10) / 1e6)
        assert row["judge_usd"] == pytest.approx((100 * 8 + 25 * 40) / 1e6)
        assert (row["score"], row["grade"], row["items_unjudged"]) == (1.0, "A", 0)


def the_key_reaches_the_provider_alone(flow: Path) -> None:
    assert json.loads((flow / "asked.json").read_text())["keys"] == [KEY]
    for path in (flow / "live").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def the_shipped_recording_replays_without_key_and_provider_to_equal_results(flow: Path) -> None:
    code, out, err = json.loads((flow / "replay.json").read_text())
    assert code == 0, err
    said = " ".join(out.split())
    assert "REPLAY of recorded answers: nothing was measured; costs stand as recorded and were not spent" in said
    assert COUNTS in said
    assert rows(flow / "replayed", REPLAY) == rows(flow / "live")
    assert trajectories(flow / "replayed") == trajectories(flow / "live")


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    it_runs_with_a_key_and_prints_an_estimate_first,
    the_second_run_takes_what_is_stored,
    prompt_and_treatment_arrive,
    all_is_stored_whole,
    three_judges_judge_each_trial_and_costs_stand_by_role,
    the_key_reaches_the_provider_alone,
    the_shipped_recording_replays_without_key_and_provider_to_equal_results,
)


def test_what_the_runs_show(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)


def test_one_changed_byte_of_the_prompt_is_unmatched_and_never_goes_live(tmp_path: Path) -> None:
    scenario = ROOT / "scenarios/core/001-hello-world"
    shutil.copytree(scenario, tmp_path / "scenarios/core/001-hello-world")
    prompt = tmp_path / "scenarios/core/001-hello-world/prompt.md"
    prompt.write_text(prompt.read_text().replace("Create a", "Create A"))
    said = scylla("evaluate", "hello-claude", "--replay", "--only", "*r01", cwd=tmp_path, env=NO_KEY)
    assert said.code == 8
    assert {(row["outcome"], row["score"]) for row in rows(tmp_path, REPLAY)} == {("provider_error", None)}
    assert all("not in the recording" in row["reason"] for row in rows(tmp_path, REPLAY))
