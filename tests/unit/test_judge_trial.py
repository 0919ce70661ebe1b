import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.keys import judgment_key
from scylla_gha.judge import judge_trial
from scylla_gha.model.judgment import CheckResult, Judgment
from scylla_gha.model.scenario import Checkpoint, Rubric
from scylla_gha.model.trial import Outcome
from scylla_gha.prepare import PreparedScenario
from scylla_gha.store.run_folder import CellFolder
from scylla_gha.system.process import Cancel
from tests.support.processes import ends, number_in
from tests.support.records import make_checkpoint, make_trial
from tests.support.repository import CHECKPOINTS, FILES, make_repository, patch_of
from tests.support.trials import CELL, SOLVE, leave_trial, make_judging_context


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work root of the test's own."""
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))
    return tmp_path / "work"


@pytest.fixture
def cell(tmp_path: Path) -> CellFolder:
    return CellFolder(tmp_path / "cell")


def ground_with(tmp_path: Path, *checkpoints: Checkpoint, **checks: str) -> PreparedScenario:
    """The scenario with these checkpoints besides its own, and these files in `checks/` (NAME_sh becomes NAME.sh)."""
    files = {f"checks/{name.replace('_', '.')}": text for name, text in checks.items()}
    return make_repository(tmp_path / "repo", beside=files, checkpoints=(*CHECKPOINTS, *checkpoints)).prepared()


def run_check(tmp_path: Path, script: str, seconds: int = 60, **limits: Any) -> CheckResult:
    """The result of one check's command on a right solution."""
    prepared = ground_with(tmp_path, make_checkpoint(id="probe", run=script, timeout_seconds=seconds))
    folder = CellFolder(tmp_path / "cell")
    found = judge_trial(leave_trial(prepared, folder), prepared, folder, make_judging_context(**limits))
    assert found.error is None
    return found.checks[-1]


def judged(prepared: PreparedScenario, cell: CellFolder, do: str = SOLVE, **attempt: Any) -> Judgment:
    """The judgment of a trial in which the agent did this."""
    return judge_trial(leave_trial(prepared, cell, do, **attempt), prepared, cell, make_judging_context())


def verdicts(judgment: Judgment) -> dict[str, bool]:
    return {check.id: check.holds for check in judgment.checks}


def test_a_right_solution_passes_with_its_score_computed_from_the_items(tmp_path: Path, cell: CellFolder) -> None:
    prepared = ground_with(tmp_path)
    trial = leave_trial(prepared, cell)
    found = judge_trial(trial, prepared, cell, make_judging_context())
    assert verdicts(found) == {"greets": True, "kept": True, "scope": True}
    assert [(item.id, item.value, item.by) for item in found.items] == [("F1", 1.0, "check"), ("P1", 1.0, "check")]
    assert found.result is not None
    assert found.result.model_dump() == {"score": 1.0, "grade": "A", "passed": True, "progress": 1.0, "broken": (),
                                         "why": "score 1, threshold 0.6"}  # fmt: skip
    assert (found.cell, found.trial_key, found.error) == (CELL.id, CELL.key, None)
    assert found.key == judgment_key(trial, prepared.folder.judging_digest, "")


def test_a_judgment_explains_its_checks_and_items(tmp_path: Path, cell: CellFolder) -> None:
    optional = [make_checkpoint(id=name, what=f"There is {name}", file=name, required=False) for name in "abc"]
    items = [
        {"id": "F1", "text": "It greets", "type": "binary", "checks": ("greets", "a")},
        {"id": "F2", "text": "Tests pass", "type": "binary", "checks": ("kept",), "applies_if": "b"},
    ]
    rubric = Rubric.model_validate({"categories": ({"id": "all", "weight": 1.0, "items": tuple(items)},)})
    prepared = make_repository(tmp_path / "repo", rubric, checkpoints=(*CHECKPOINTS, *optional)).prepared()
    found = judged(prepared, cell)
    assert {check.id: check.role for check in found.checks} == {
        "greets": "required",
        "kept": "guard",
        "scope": "progress",
        "a": "scored",
        "b": "condition",
        "c": "progress",
    }
    assert [check.what for check in found.checks[-3:]] == ["There is a", "There is b", "There is c"]
    assert [item.text for item in found.items] == ["It greets", "Tests pass"]


@pytest.mark.parametrize(
    ("do", "failing", "score", "broken"),
    [
        pytest.param("true", {"greets", "scope"}, 0.0, (), id="no-op: the diff's conditions do not hold"),
        pytest.param("echo 'echo no' >greet.sh", {"greets"}, 0.5, (), id="wrong"),
        pytest.param(f"{SOLVE}; echo 1 >more", {"scope"}, 0.5, (), id="right, and too much"),
        pytest.param(f"{SOLVE}; rm notes/kept.txt", {"kept", "scope"}, 0.5, ("kept",), id="a guard is broken"),
        pytest.param("rm greet.sh; ln -s /bin/echo greet.sh", {"greets"}, 0.5, (), id="a link to elsewhere"),
    ],
)
def test_work_that_is_not_right_does_not_pass(
    tmp_path: Path, cell: CellFolder, do: str, failing: set[str], score: float, broken: tuple[str, ...]
) -> None:
    found = judged(ground_with(tmp_path), cell, do)
    assert {name for name, holds in verdicts(found).items() if not holds} == failing
    assert found.result is not None
    assert (found.result.passed, found.result.score, found.result.broken) == (False, score, broken)


SPOIL = 'rm -rf ./* ./.g* "$CHECKS" "$BASE" "$HOME"; rm -rf ../checks ../base'
REWRITE = 'for f in greet.sh "$CHECKS/verify.sh" "$BASE/greet.sh" "$HOME/x"; do echo spoilt >"$f"; done'
INTACT = 'ls -A; ls -A "$CHECKS"; ls -A "$BASE"; ls -A "$HOME"; cat greet.sh "$BASE/greet.sh" "$CHECKS/verify.sh"'
NAMES = "".join(f"{name}\n" for name in sorted({name.partition("/")[0] for name in FILES}))
AS_IT_WAS = f"{NAMES}verify.sh\n{NAMES}#!/bin/sh\necho hello\n#!/bin/sh\necho hi\nok\n"


@pytest.mark.parametrize("spoil", [SPOIL, REWRITE])
def test_what_one_check_does_no_other_sees(tmp_path: Path, cell: CellFolder, spoil: str) -> None:
    before = make_checkpoint(id="before", run=INTACT, stdout=AS_IT_WAS)
    after = make_checkpoint(id="after", run=f"{INTACT} ", stdout=AS_IT_WAS)
    late = make_checkpoint(id="late", file="greet.sh", matches="^echo hello$")
    prepared = ground_with(tmp_path, before, make_checkpoint(id="spoil", run=spoil), after, late, verify_sh="ok\n")
    found = verdicts(judged(prepared, cell))
    assert (found["before"], found["spoil"], found["after"], found["late"]) == (True, True, True, True)
    assert (prepared.folder.checks / "verify.sh").read_text() == "ok\n"
    assert (prepared.start.clone / "greet.sh").read_text() == FILES["greet.sh"]


def test_a_check_sees_the_change_the_base_the_checks_and_an_empty_home(tmp_path: Path) -> None:
    script = 'cat greet.sh "$BASE/greet.sh"; ls -A "$HOME" "$CHECKS" 2>&1; ls -A; pwd'
    evidence = run_check(tmp_path, script).evidence
    assert evidence.index("echo hello") < evidence.index("echo hi")
    assert ".git\n" not in evidence
    assert str(tmp_path / "work") in evidence


def test_caches_in_checks_are_not_taken_along(tmp_path: Path, cell: CellFolder) -> None:
    prepared = ground_with(
        tmp_path, make_checkpoint(id="probe", run='ls "$CHECKS"', stdout="verify.py\n"), verify_py=""
    )
    cached = prepared.folder.checks / "__pycache__" / "verify.pyc"
    cached.parent.mkdir()
    cached.touch()
    assert verdicts(judged(prepared, cell))["probe"]


def test_a_check_gets_nothing_of_the_harnesss_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_CANARY", "seen")
    evidence = run_check(tmp_path, "env | cut -d= -f1").evidence
    names = set(evidence.removeprefix("as expected: ").splitlines())
    assert "SCYLLA_CANARY" not in names
    assert {"PATH", "HOME", "CHECKS", "BASE"} <= names


def test_one_command_of_several_checks_runs_once(tmp_path: Path, cell: CellFolder) -> None:
    command = f"echo 1 >>{tmp_path}/count; echo said"
    same = [make_checkpoint(id=f"c{number}", run=command, stdout="said\n") for number in range(3)]
    prepared = ground_with(tmp_path, *same)
    found = verdicts(judged(prepared, cell))
    assert [found[f"c{number}"] for number in range(3)] == [True, True, True]
    assert (tmp_path / "count").read_text() == "1\n"


@pytest.mark.parametrize(
    ("script", "evidence"),
    [
        pytest.param("kill -SEGV $$", "exit code -11, not 0", id="dies by a signal"),
        pytest.param("kill -KILL $$", "exit code -9, not 0", id="is killed"),
        pytest.param("exec head -c 300M /dev/zero >big", "exit code -25, not 0", id="writes a file without end"),
        pytest.param("exec head -c 300M /dev/zero", "exit code -15, not 0: ", id="prints without end"),
        pytest.param("no-such-program", "exit code 127, not 0", id="calls what is not there"),
        pytest.param("kill -TERM -$$; sleep 600", "exit code -15, not 0", id="ends its own group"),
        pytest.param("printf '\\377\\000ok'; exit 3", "exit code 3, not 0: \ufffd\0ok", id="prints no text"),
    ],
)
def test_a_check_that_ends_badly_does_not_hold(tmp_path: Path, script: str, evidence: str) -> None:
    result = run_check(tmp_path, script, file_mb=1)
    assert (result.holds, result.value) == (False, 0.0)
    assert result.evidence.startswith(evidence)
    assert len(result.evidence) < 1500


def test_a_check_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    result = run_check(tmp_path, f"echo $$ >{tmp_path}/pid; echo begun; sleep 600", seconds=1)
    assert not result.holds
    assert result.evidence == "did not end within its limit (1 s): begun"
    assert ends(number_in(tmp_path / "pid"))


def test_what_a_check_leaves_running_is_ended(tmp_path: Path) -> None:
    result = run_check(tmp_path, f"sleep 600 & echo $! >{tmp_path}/pid; echo done")
    assert result.evidence == "as expected: done"
    assert ends(number_in(tmp_path / "pid"))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo said; rm ../stdout ../stderr", id="removed"),
        pytest.param("echo said; rm ../stdout ../stderr; mkfifo ../stdout ../stderr", id="replaced by pipes"),
        pytest.param("echo said; rm ../stdout; echo faked >../stdout", id="replaced"),
        pytest.param("echo said; rm -rf ..", id="everything removed"),
    ],
)
def test_a_check_may_do_to_its_output_files_what_it_likes(tmp_path: Path, script: str) -> None:
    assert run_check(tmp_path, f"{script}; exit 0").evidence.splitlines()[0] == "as expected: said"


def test_a_diff_that_does_not_apply_is_an_error_and_no_score(tmp_path: Path, cell: CellFolder) -> None:
    prepared = ground_with(tmp_path)
    trial = leave_trial(prepared, cell)
    patch = patch_of("x").replace("-echo hi", "-echo ho")
    cell.attempt(1).file("diff.patch").write_text(patch)
    found = judge_trial(trial, prepared, cell, make_judging_context())
    assert "diff.patch: was changed or cut after it was stored" in str(found.error)
    assert found.result is None
    assert trial.last.diff is not None
    diff = trial.last.diff.model_copy(update={"sha256": hashlib.sha256(patch.encode()).hexdigest()})
    trial = trial.model_copy(update={"attempts": (trial.last.model_copy(update={"diff": diff}),)})
    found = judge_trial(trial, prepared, cell, make_judging_context())
    assert found.error is not None
    assert "patch failed: greet.sh:1" in found.error
    assert (found.result, found.checks, found.items) == (None, (), ())


def test_a_diff_that_is_gone_is_an_error_and_no_score(tmp_path: Path, cell: CellFolder) -> None:
    prepared = ground_with(tmp_path)
    trial = leave_trial(prepared, cell)
    cell.attempt(1).file("diff.patch").unlink()
    found = judge_trial(trial, prepared, cell, make_judging_context())
    assert "No such file or directory" in (found.error or "")
    assert "diff.patch" in (found.error or "")
    assert found.result is None


def test_the_attempt_that_stands_is_judged(tmp_path: Path, cell: CellFolder) -> None:
    prepared = ground_with(tmp_path)
    first = leave_trial(prepared, cell, "true", outcome=Outcome.PROVIDER_ERROR)
    second = leave_trial(prepared, cell, SOLVE, number=2)
    found = judge_trial(make_trial(CELL, first.last, second.last), prepared, cell, make_judging_context())
    assert found.result is not None
    assert found.result.passed


@pytest.mark.parametrize("outcome", ["timeout", "refused", "agent_error", "budget_exceeded"])
def test_a_trial_that_the_agent_did_not_complete_never_passes(tmp_path: Path, cell: CellFolder, outcome: str) -> None:
    found = judged(ground_with(tmp_path), cell, SOLVE, outcome=Outcome(outcome), reason="ended at the limit of 5 s")
    assert found.result is not None
    assert (found.result.score, found.result.passed) == (1.0, False)
    assert found.result.why == f"{outcome}: ended at the limit of 5 s"


def test_a_trial_whose_diff_was_too_large_is_a_failure_without_score(tmp_path: Path, cell: CellFolder) -> None:
    found = judged(ground_with(tmp_path), cell, "true", diff=None, outcome=Outcome.AGENT_ERROR, reason="left too much")
    assert (found.checks, found.error) == ((), None)
    assert found.result is not None
    assert (found.result.score, found.result.passed, found.result.why) == (None, False, "agent_error: left too much")


def test_a_cancelled_judgment_is_no_judgment(tmp_path: Path, cell: CellFolder) -> None:
    prepared = ground_with(tmp_path)
    trial = leave_trial(prepared, cell)
    cancel = Cancel()
    cancel.set()
    with pytest.raises(KeyboardInterrupt):
        judge_trial(trial, prepared, cell, make_judging_context(cancel))


def test_nothing_is_left_behind(tmp_path: Path, cell: CellFolder, work: Path) -> None:
    prepared = ground_with(tmp_path, make_checkpoint(id="close", run="mkdir d; touch d/x; chmod 0 d"))
    judged(prepared, cell)
    assert list(work.iterdir()) == []


def test_the_key_covers_the_trial_its_diff_and_the_contents_of_the_checks(tmp_path: Path, cell: CellFolder) -> None:
    grounds = [ground_with(tmp_path / name, verify_sh=name) for name in "ab"]
    trials = [leave_trial(grounds[0], CellFolder(cell.root / str(n)), do) for n, do in enumerate((SOLVE, "true"))]
    trials.append(make_trial(CELL, trials[0].last, key="another"))
    keys = {
        judge_trial(trial, prepared, CellFolder(cell.root / "0"), make_judging_context()).key
        for trial in trials
        for prepared in grounds
    }
    assert len(keys) == 6


def test_a_judgment_survives_its_file(tmp_path: Path, cell: CellFolder) -> None:
    prepared = ground_with(tmp_path, make_checkpoint(id="odd", run="printf '\\377\\0\\033[2J'"))
    found = judged(prepared, cell)
    assert Judgment.model_validate_json(json.dumps(json.loads(found.model_dump_json()))) == found
