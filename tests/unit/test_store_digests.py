"""Digests of stored files: each reader of a file that was changed says so, and uses nothing of it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.model_access import spent_usd
from scylla_gha.model.judgment import JudgeControl
from scylla_gha.store import digest_mismatch, file_digest, write_record
from scylla_gha.store.run_folder import RunFolder, traffic_of
from tests.support.command import Said, scylla
from tests.support.provider import Say, serve
from tests.support.records import make_attempt, make_cell, make_judgment
from tests.support.repository import SCENARIO, environment, make_repository
from tests.support.scripted_claude import ARM, ask, claude_environment, tell, write_claude_experiment

CLAUDE, ORACLE = f"{SCENARIO}--{ARM}--r01", f"{SCENARIO}--oracle--r01"
LOST: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "zeroes": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "removed": Path.unlink,
    "a line is gone": lambda path: path.write_bytes(path.read_bytes().partition(b"\n")[2]),
    "a price is gone": lambda path: path.write_bytes(path.read_bytes().replace(b'"usd":0.', b'"usd":0.0')),
}


@pytest.fixture(scope="module")
def paid_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a run whose only cell asked a model once."""
    root = tmp_path_factory.mktemp("paid")
    repo = make_repository(root / "repo").root
    write_claude_experiment(repo)
    with serve(lambda _: Say("Hello.")) as provider:
        env = claude_environment(root, f"{tell('ok')}; {ask('Hello?')}") | {"ANTHROPIC_BASE_URL": provider.url}
        said = scylla("evaluate", "greet", "--yes", cwd=repo, env=env)
    assert said.code == 0, said.err
    return repo


@pytest.fixture
def paid(tmp_path: Path, paid_once: Path) -> RunFolder:
    """A copy of that run in a copy of its repository."""
    shutil.copytree(paid_once, tmp_path / "repo", symlinks=True)
    return RunFolder(tmp_path / "repo" / "runs" / "greet")


def again(run: RunFolder, *args: str) -> Said:
    repo = run.root.parents[1]
    env = claude_environment(repo.parent, "exit 1")
    said = scylla(*(args or ("evaluate", "greet", "--yes")), cwd=repo, env=env)
    assert "Traceback" not in said.err
    return said


def excluded(run: RunFolder) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run.report("json").read_text())["excluded"]
    return found


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
@pytest.mark.parametrize("archived", [False, True], ids=["current", "archived"])
def test_a_changed_request_log_leaves_the_amount_spent_unknown(
    paid: RunFolder, lose: Callable[[Path], object], archived: bool
) -> None:
    assert spent_usd(paid)["agent"] > 0
    cell = archive(paid) if archived else paid.cell(CLAUDE).root
    lose(cell / "attempt-1" / "traffic.jsonl")
    with pytest.raises(ConfigError, match=f"{cell}/attempt-1/traffic.jsonl: .*what was spent is not known"):
        spent_usd(paid)


def archive(run: RunFolder) -> Path:
    (run.root / "old").mkdir()
    return run.cell(CLAUDE).root.rename(run.root / "old" / CLAUDE)


@pytest.mark.parametrize("archived", [False, True], ids=["current", "archived"])
def test_nothing_is_started_if_the_amount_spent_is_unknown(paid: RunFolder, archived: bool) -> None:
    cell = archive(paid) if archived else paid.cell(CLAUDE).root
    LOST["emptied"](cell / "attempt-1" / "traffic.jsonl")
    said = again(paid)
    assert said.code == 3
    assert f"{cell}/attempt-1/traffic.jsonl: " in said.err
    assert "what was spent is not known; restore it, or begin anew elsewhere by --runs" in said.err


@pytest.mark.parametrize("lose", [LOST["emptied"], LOST["a price is gone"]])
def test_no_row_is_made_of_a_changed_journal(paid: RunFolder, lose: Callable[[Path], object]) -> None:
    lose(paid.cell(CLAUDE).root / "attempt-1" / "traffic.jsonl")
    said = again(paid, "collect", "greet")
    assert said.code == 0, said.err
    assert paid.results.read_text() == ""


def test_a_changed_patch_earns_nothing_and_is_told(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo").root
    run = RunFolder(repo / "runs" / "greet")
    assert scylla("evaluate", "greet", "--yes", cwd=repo, env=environment(tmp_path)).code == 0
    cell = run.cell(ORACLE)
    patch = cell.attempt(1).file("diff.patch")
    patch.write_text(patch.read_text().replace("hello", "HELLO"))
    words = f"{patch}: was changed or cut after it was stored; restore it, or remove the cell's folder to run it again"
    assert scylla("evaluate", "greet", "--yes", cwd=repo, env=environment(tmp_path)).code == 8
    assert [(one["cell"], one["outcome"], one["reason"]) for one in excluded(run)] == [(ORACLE, "missing", words)]
    cell.judgment.unlink()
    said = scylla("judge", "greet", "--yes", cwd=repo, env=environment(tmp_path))
    assert (said.code, words in said.err) == (8, True), said.err
    assert json.loads(cell.judgment.read_text())["result"] is None
    said = scylla("show", ORACLE, cwd=repo, env=environment(tmp_path))
    assert (said.code, "attempt-1/diff.patch: was changed or cut" in said.err) == (3, True), said.err


def test_records_of_an_older_version_are_taken_as_they_are_and_that_is_said(paid: RunFolder) -> None:
    cell = paid.cell(CLAUDE)
    for path in (cell.trial, cell.attempt(1).file("attempt.json")):
        record = json.loads(path.read_text())
        for one in record.get("attempts", [record]):
            del one["files"]
        path.write_text(json.dumps(record))
    said = again(paid)
    assert said.code == 0
    assert (
        "1 stored attempt written by an older version without digests: the cost is read from unverified files"
        in said.err
    )


def test_what_judges_were_asked_is_sealed_up_to_their_judgment(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    cell = make_cell()
    journal = run.cell(cell.id).attempt(1).file("judge-traffic.jsonl")
    journal.parent.mkdir(parents=True)
    journal.write_text("")
    write_record(run.cell(cell.id).attempt(1).file("attempt.json"), make_attempt())
    seals = {"attempt-1/judge-traffic.jsonl": file_digest(journal)}
    write_record(run.cell(cell.id).judgment, make_judgment(cell, files=seals))
    assert spent_usd(run)["judge"] == 0.0
    journal.unlink()
    with pytest.raises(ConfigError, match="has a digest, and cannot be read: No such file"):
        spent_usd(run)


def test_the_controls_of_a_judge_are_sealed(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    path = run.probe("001-x", "judge", "0" * 64)
    path.parent.mkdir(parents=True)
    traffic_of(path).write_text("")
    write_record(
        path, JudgeControl(key="0" * 64, judge="judge", scenario="001-x", traffic=file_digest(traffic_of(path)))
    )
    assert spent_usd(run)["judge"] == 0.0
    traffic_of(path).unlink()
    with pytest.raises(ConfigError, match="what was spent is not known"):
        spent_usd(run)


def test_what_is_appended_later_is_no_breach(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"one\n")
    seal = file_digest(path)
    path.write_bytes(b"one\ntwo\n")
    assert digest_mismatch(path, seal) is None
    path.write_bytes(b"two\ntwo\n")
    assert digest_mismatch(path, seal) == f"{path}: was changed or cut after it was stored"
