"""`validate --execute --skip-proved`: a proof is repeated when anything changed that it depends on."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.validate.scenario import ScenarioProof, validate_scenario
from tests.support.command import Said, scylla
from tests.support.records import make_category, make_checkpoint, make_item, make_rubric
from tests.support.repository import CHECKPOINTS, FILES, SCENARIO, Files, environment, make_repository, patch_of

GREETS, KEPT, SCOPE = CHECKPOINTS


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("SCYLLA_CACHE", str(tmp_path / "cache"))


def prove_one(tmp_path: Path, beside: Files | None = None, **given: Any) -> ScenarioProof:
    """The proof of the scenario, made with these differences."""
    repository = make_repository(tmp_path / "repo", beside=beside, **given)
    return validate_scenario(repository.folder(), Library((repository.root,)))


def test_a_good_scenario_is_proved(tmp_path: Path) -> None:
    proof = prove_one(tmp_path)
    assert proof.scenario == SCENARIO
    assert proof.tried == (
        ("nop", False, None),
        ("solution", True, None),
        ("wrong/loud", False, None),
        ("wrong/silent", False, None),
    )
    assert proof.faults == []
    assert list((tmp_path / "work").iterdir()) == []


def test_other_right_solutions_have_to_pass(tmp_path: Path) -> None:
    other = {"right/other-words.patch": patch_of("printf 'hel%s\\n' lo"), "right/notes.txt": ""}
    proof = prove_one(tmp_path, other)
    assert proof.tried[2] == ("right/other-words", True, None)
    assert proof.faults == []


def test_a_right_solution_that_checks_refuse_is_named_with_the_checks_that_refuse_it(tmp_path: Path) -> None:
    by_its_words = make_checkpoint(id="words", file="greet.sh", matches="echo hello")
    other = {"right/other-words.patch": patch_of("printf 'hello\\n'")}
    proof = prove_one(tmp_path, other, checkpoints=(*CHECKPOINTS, by_its_words))
    (fault,) = proof.faults
    assert fault.startswith(f"{SCENARIO}: right/other-words: fails, so the checks refuse a right solution: words (")
    assert not proof.tried[2][1]


def test_a_right_solution_that_does_not_apply_is_found(tmp_path: Path) -> None:
    stale = {"right/stale.patch": patch_of("echo hello").replace("echo hi", "echo hey")}
    (fault,) = prove_one(tmp_path, stale).faults
    assert fault.startswith(f"{SCENARIO}: right/stale: fixture_error: exit code 1: error: patch failed: greet.sh:1")


def test_solutions_are_tried_at_the_same_time_where_there_are_lanes(tmp_path: Path) -> None:
    meets = f"touch {tmp_path}/$$; i=0; until [ $(ls {tmp_path} | grep -c '^[0-9]*$') -ge 2 ]; do sleep 0.05; done"
    repository = make_repository(tmp_path / "repo", checkpoints=(*CHECKPOINTS, make_checkpoint(id="met", run=meets)))
    with ThreadPoolExecutor(2) as pool:
        proof = validate_scenario(repository.folder(), Library((repository.root,)), None, pool)
    assert [name for name, _, _ in proof.tried] == ["nop", "solution", "wrong/loud", "wrong/silent"]
    assert proof.faults == [], "the first two did not meet"


DONE = make_checkpoint(id="done", run="true")


@pytest.mark.parametrize(
    "checkpoints",
    [
        pytest.param((DONE, KEPT, SCOPE), id="all commands"),
        pytest.param((make_checkpoint(id="done", file="greet.sh"), SCOPE), id="all files"),
        pytest.param((make_checkpoint(id="done", changes={"only": ("greet.sh",)}), SCOPE), id="any change would do"),
    ],
)
def test_a_task_that_is_solved_in_the_fixture_is_found(tmp_path: Path, checkpoints: Any) -> None:
    rubric = make_rubric(make_category(make_item(checks=("done",))))
    proof = prove_one(tmp_path, rubric=rubric, checkpoints=checkpoints, progress=({"step": "x", "checkpoint": "done"},))
    assert proof.faults[0] == (
        f"{SCENARIO}: nop: every required check already passes in the start state, before any change"
    )
    assert proof.tried[0][1], "it is said that the no-op passes"


@pytest.mark.parametrize(
    ("beside", "fault"),
    [
        pytest.param({"wrong/loud.patch": patch_of("echo hello # as well")},
                     "wrong/loud: passes, so the checks cannot tell it from a right solution", id="passes"),
        pytest.param({"wrong/loud.patch": patch_of("echo HELLO").replace("echo hi", "echo hey")},
                     "wrong/loud: fixture_error: exit code 1: error: patch failed: greet.sh:1", id="does not apply"),
        pytest.param({"solution/solution.patch": patch_of("echo Hello")},
                     "solution: does not pass: greets (printed 'Hello\\n', not 'hello\\n': Hello)", id="fails"),
        pytest.param({"solution/solution.patch": "no patch\n"},
                     "solution: fixture_error: exit code 128: error: No valid patches in input", id="no patch"),
    ],
)  # fmt: skip
def test_patches_that_prove_nothing_are_found(tmp_path: Path, beside: Files, fault: str) -> None:
    (found,) = prove_one(tmp_path, beside).faults
    assert found.startswith(f"{SCENARIO}: {fault}")


def test_a_solution_that_leaves_an_optional_check_unmet_is_found(tmp_path: Path) -> None:
    more = "diff --git a/more b/more\nnew file mode 100644\n--- /dev/null\n+++ b/more\n@@ -0,0 +1 @@\n+1\n"
    too_much = patch_of("echo hello") + more
    (found,) = prove_one(tmp_path, {"solution/solution.patch": too_much}).faults
    assert found.startswith(f"{SCENARIO}: solution: does not pass: scope (changed outside of greet.sh: more)")


def test_a_check_that_makes_an_item_apply_may_fail_on_the_solution(tmp_path: Path) -> None:
    optional = make_checkpoint(id="tested", file="test.sh", required=False)
    rubric = make_rubric(
        make_category(
            make_item(checks=("greets",)), make_item(id="F2", checks=("scope",)),
            make_item(id="F3", checks=("kept",), applies_if="tested"),
        ),
    )  # fmt: skip
    assert prove_one(tmp_path, rubric=rubric, checkpoints=(*CHECKPOINTS, optional)).faults == []


def test_a_rubric_that_no_code_can_score_is_found(tmp_path: Path) -> None:
    rubric = make_rubric(make_category(make_item(type="subjective", checks=())))
    assert prove_one(tmp_path, rubric=rubric).faults == [f"{SCENARIO}: solution: does not pass: its score is too low"]


def test_an_unstable_check_is_found(tmp_path: Path) -> None:
    flaky = f"n=$(cat {tmp_path}/n 2>/dev/null || echo 0); echo $((n + 1)) >{tmp_path}/n; exit $((n % 2))"
    checkpoints = (*CHECKPOINTS, make_checkpoint(id="flaky", run=flaky, required=False))
    faults = prove_one(tmp_path, checkpoints=checkpoints).faults
    assert f"{SCENARIO}: nop: two tries had different results: flaky" in faults
    assert f"{SCENARIO}: solution: two tries had different results: flaky" in faults


def test_an_unstable_fraction_is_found(tmp_path: Path) -> None:
    grows = f"echo 1 >>{tmp_path}/n; echo $(wc -l <{tmp_path}/n)/100"
    checkpoints = (*CHECKPOINTS, make_checkpoint(id="grows", run=grows, graduated=True, required=False))
    assert (
        f"{SCENARIO}: wrong/loud: two tries had different results: grows"
        in prove_one(tmp_path, checkpoints=checkpoints).faults
    )


def test_a_guard_that_is_broken_on_the_base_is_found_with_its_evidence(tmp_path: Path) -> None:
    guard = make_checkpoint(id="guard", run="echo expected 3, found 2; exit 1", guard=True)
    faults = prove_one(tmp_path, checkpoints=(*CHECKPOINTS, guard)).faults
    assert faults[0] == (
        f"{SCENARIO}: nop: these guards already fail in the start state: "
        "guard (exit code 1, not 0: expected 3, found 2)"
    )
    assert faults[1].startswith(f"{SCENARIO}: solution: does not pass: guard (exit code 1")


@pytest.mark.parametrize(
    ("left", "fault"),
    [(1, "wrong solutions: 1, and at least 2 are needed"), (0, "wrong solutions: 0, and at least 2 are needed")],
)
def test_too_few_wrong_solutions_are_found(tmp_path: Path, left: int, fault: str) -> None:
    repository = make_repository(tmp_path / "repo")
    for path in sorted((repository.scenario / "wrong").iterdir())[left:]:
        path.unlink()
    proof = validate_scenario(repository.folder(), Library((repository.root,)))
    assert [found.removeprefix(f"{SCENARIO}: wrong: ")[: len(fault)] for found in proof.faults] == [fault]


def test_one_wrong_solution_suffices_if_it_says_why_there_is_no_other(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    folder = repository.folder()
    folder.wrong[0].unlink()
    only = folder.wrong[0]
    only.write_text(f"# only: the change has one line\n{only.read_text()}")
    proof = validate_scenario(folder, Library((repository.root,)))
    assert proof.faults == []
    assert [name for name, _, _ in proof.tried] == ["nop", "solution", f"wrong/{only.stem}"]


def test_a_check_that_does_not_end_is_not_run_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs.txt"
    waits = make_checkpoint(id="waits", run=f"echo run >>{runs}; sleep 60", timeout_seconds=1)
    repository = make_repository(tmp_path / "repo", checkpoints=(*CHECKPOINTS, waits))
    shutil.rmtree(repository.folder().path / "wrong")
    proof = validate_scenario(repository.folder(), Library((repository.root,)))
    assert runs.read_text() == "run\n" * 2, "once for the no-op and once for the solution"
    assert any("waits (did not end within its limit" in fault for fault in proof.faults)


def test_a_missing_solution_is_found(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    (repository.scenario / "solution" / "solution.patch").unlink()
    (found,) = validate_scenario(repository.folder(), Library((repository.root,))).faults
    assert "solution: fixture_error: exit code 128: error: can't open patch" in found


def test_a_hash_that_is_not_the_fixtures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match="but the scenario pins 1111"):
        prove_one(tmp_path, source=FixtureSource(fixture="greeting", hash="1" * 40))


def test_a_tool_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="'no-such-tool'"):
        prove_one(tmp_path, tools={"system": ("no-such-tool",)})


def test_a_fixture_whose_own_rules_ignore_a_file_is_without_it(tmp_path: Path) -> None:
    files = {**FILES, "build/greet.o": "x"}
    needs_it = make_checkpoint(id="built", file="build/greet.o", guard=True)
    assert "guards already fail" in prove_one(tmp_path, files=files, checkpoints=(*CHECKPOINTS, needs_it)).faults[0]


PLACE = f"scenarios/core/{SCENARIO}"
TRIALS = f"{SCENARIO}: nop fails, solution passes, wrong/loud fails, wrong/silent fails"


def prove(root: Path, *options: str) -> Said:
    env = {**environment(root.parent), "SCYLLA_CACHE": str(root.parent / "cache")}  # of this test alone
    return scylla("validate", PLACE, "--execute", *options, cwd=root, env=env)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def test_a_scenario_that_was_proved_is_skipped_until_a_file_of_it_changes(root: Path) -> None:
    assert prove(root, "--skip-proved").out == f"1 scenario: valid\nok: {TRIALS}\n"
    assert prove(root, "--skip-proved").out == f"1 scenario: valid\nok, proved before: {TRIALS}\n"
    assert prove(root).out == f"1 scenario: valid\nok: {TRIALS}\n", "only when asked to"
    (root / PLACE / "prompt.md").write_text("Greet otherwise.\n")
    assert prove(root, "--skip-proved").out == f"1 scenario: valid\nok: {TRIALS}\n"


def test_the_sandbox_is_part_of_what_was_proved(root: Path) -> None:
    prove(root, "--skip-proved")
    changed = prove(root, "--skip-proved", "--sandbox", "bubblewrap")
    assert f"ok: {TRIALS}" in changed.out


def test_a_proof_that_failed_is_repeated(root: Path) -> None:
    patch = next((root / PLACE).glob("wrong/loud.patch"))
    patch.write_bytes((root / PLACE / "solution" / "solution.patch").read_bytes())
    assert prove(root, "--skip-proved").code == 7
    assert prove(root, "--skip-proved").code == 7


def test_proofs_as_json(root: Path) -> None:
    said = prove(root, "--json")
    (proof,) = json.loads(said.out)
    assert (proof["scenario"], proof["ok"], proof["wrong_rejected"]) == (SCENARIO, True, 2)
    assert TRIALS in said.err


def test_skipping_is_for_what_is_executed(root: Path) -> None:
    said = scylla("validate", PLACE, "--skip-proved", cwd=root, env=environment(root.parent))
    assert (said.code, "--skip-proved needs --execute" in said.err) == (2, True)
