from pathlib import Path
from typing import Any

import pytest

from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError
from scylla_gha.judge.checks import CommandRun, SessionEvidence, verify_checkpoints
from scylla_gha.model.judgment import CheckResult
from scylla_gha.model.scenario import Checkpoint, DiffCondition, UseCondition
from scylla_gha.model.trial import DiffStat, Uses
from tests.support.library import write
from tests.support.records import make_checkpoint

OK = CommandRun(code=0, seconds=0.1234, timed_out=False, stdout="", stderr="")


def ran(**given: Any) -> CommandRun:
    return CommandRun(**{"code": 0, "seconds": 0.0, "timed_out": False, "stdout": "", "stderr": "", **given})


def changed(*files: str, added: int = 1, deleted: int = 0) -> DiffStat:
    return DiffStat(files=files, added=added, deleted=deleted, sha256="0")


def of_command(how: CommandRun, **given: Any) -> CheckResult:
    checkpoint = make_checkpoint(run="check", **given)
    return verify_checkpoints([checkpoint], tree=Path(), diff=changed(), run=lambda *_: how, seconds=1)[0]


def of_tree(tree: Path, **given: Any) -> CheckResult:
    return verify_checkpoints([make_checkpoint(**given)], tree=tree, diff=changed(), run=lambda *_: OK, seconds=1)[0]


def of_diff(diff: DiffStat, **changes: Any) -> CheckResult:
    checkpoint = make_checkpoint(changes=DiffCondition(**changes))
    return verify_checkpoints([checkpoint], tree=Path(), diff=diff, run=lambda *_: OK, seconds=1)[0]


def test_each_distinct_command_runs_once_with_the_limit_that_is_its_own() -> None:
    asked: list[tuple[str, int]] = []

    def run(command: str, seconds: int, _: object) -> CommandRun:
        asked.append((command, seconds))
        return OK

    checkpoints: list[Checkpoint] = [
        make_checkpoint(id="a", run="one"),
        make_checkpoint(id="b", run="two", timeout_seconds=5),
        make_checkpoint(id="c", run="one", exit=1),
    ]
    results = verify_checkpoints(checkpoints, tree=Path(), diff=changed(), run=run, seconds=30)
    assert asked == [("one", 30), ("two", 5)]
    assert [(result.id, result.holds) for result in results] == [("a", True), ("b", True), ("c", False)]


def of_uses(uses: Uses | None, **condition: Any) -> CheckResult:
    point, session = make_checkpoint(uses=UseCondition(**condition)), SessionEvidence(uses=uses)
    return verify_checkpoints([point], tree=Path(), diff=changed(), run=lambda *_: OK, seconds=1, session=session)[0]


def test_uses_of_resources_are_a_condition_and_unknown_ones_are_no_result() -> None:
    uses = Uses(counts={"skill/tally": 1, "mcp/clock": 0}, read=("skill/notes",), turns={"skill/tally": 1})
    assert of_uses(uses, all=("skill/tally",), none=("mcp/clock",)).holds
    refused = of_uses(uses, all=("mcp/clock",), none=("skill/tally",))
    assert (refused.holds, refused.evidence) == (False, "mcp/clock was not used; skill/tally was used")
    assert of_uses(uses, all=("skill/notes",)).holds
    assert not of_uses(uses, all=("skill/notes",), counts_reading=False).holds
    assert of_uses(Uses(counts={}), none=("skill/tally",)).evidence == "nothing was used"
    with pytest.raises(FixtureError, match="it is unknown what the agent used"):
        of_uses(None, none=("skill/tally",))


def test_a_result_tells_how_long_its_command_took() -> None:
    assert of_command(OK).seconds == 0.123


@pytest.mark.parametrize(
    ("how", "given", "holds", "evidence"),
    [
        (ran(), {}, True, "as expected"),
        (ran(code=1, stdout="no\n", stderr="why\n"), {}, False, "exit code 1, not 0: no\nwhy"),
        (ran(code=3), {"exit": 3}, True, "as expected"),
        (ran(), {"exit": 3}, False, "exit code 0, not 3"),
        (ran(code=-9), {}, False, "exit code -9, not 0"),
        (ran(timed_out=True, seconds=30.4), {}, False, "did not end within its limit (30 s)"),
        (ran(stdout="Hello\n"), {"stdout": "Hello\n"}, True, "as expected: Hello"),
        (ran(stdout="Hello"), {"stdout": "Hello\n"}, False, "printed 'Hello', not 'Hello\\n': Hello"),
        (ran(stdout="x"), {"stdout": ""}, False, "printed 'x', not '': x"),
        (ran(code=1, stdout="Hello\n"), {"stdout": "Hello\n"}, False, "exit code 1, not 0: Hello"),
        (ran(stdout="a\n7 passed\n"), {"stdout_matches": "^7 passed$"}, True, "as expected: a\n7 passed"),
        (ran(stdout="17 passed"), {"stdout_matches": "^7 p"}, False, "the output does not match '^7 p': 17 passed"),
        (ran(stderr="7 passed"), {"stdout_matches": "7"}, False, "the output does not match '7': 7 passed"),
    ],
)
def test_a_command_is_held_against_what_is_expected(
    how: CommandRun, given: dict[str, Any], holds: bool, evidence: str
) -> None:
    result = of_command(how, **given)
    assert (result.holds, result.value, result.evidence) == (holds, float(holds), evidence)


@pytest.mark.parametrize(
    ("how", "holds", "value", "fault"),
    [
        (ran(stdout="checked\n3/3\n"), True, 1.0, "as expected"),
        (ran(stdout="  3/3  \n\n"), True, 1.0, "as expected"),
        (ran(stdout="1/4\n"), False, 0.25, "not all of it holds"),
        (ran(stdout="0/4"), False, 0.0, "not all of it holds"),
        (ran(code=1, stdout="2/4"), False, 0.5, "exit code 1, not 0"),
        (ran(code=1, stdout="Traceback"), False, 0.0, "exit code 1, not 0"),
        (ran(timed_out=True, stdout="4/4"), False, 0.0, "did not end within"),
        (ran(stdout="4/4\nbye"), False, 0.0, "printed no k/n"),
        (ran(stdout=""), False, 0.0, "printed no k/n"),
        (ran(stdout="0/0"), False, 0.0, "printed no k/n"),
        (ran(stdout="5/4"), False, 0.0, "printed no k/n"),
        (ran(stdout="-1/4"), False, 0.0, "printed no k/n"),
        (ran(stdout="4/4.0"), False, 0.0, "printed no k/n"),
        (ran(stdout=f"{'9' * 5000}/{'9' * 5000}"), False, 0.0, "printed no k/n"),
        (ran(stdout="4/4", cut=True), False, 0.0, "printed no k/n"),
    ],
    ids=lambda value: repr(value.stdout[:20]) if isinstance(value, CommandRun) else "",
)
def test_a_graduated_command_gives_its_fraction_and_holds_only_as_a_whole(
    how: CommandRun, holds: bool, value: float, fault: str
) -> None:
    result = of_command(how, graduated=True)
    assert (result.holds, result.value) == (holds, value)
    assert result.evidence.startswith(fault)


@pytest.mark.parametrize("given", [{"stdout": "ok\n"}, {"stdout_matches": "ok"}, {"stdout_never_matches": "bad"}])
def test_output_that_was_cut_is_never_as_expected(given: dict[str, str]) -> None:
    assert of_command(ran(stdout="ok\n"), **given).holds
    assert not of_command(ran(stdout="ok\n", cut=True), **given).holds


def test_evidence_is_the_end_of_what_was_said() -> None:
    evidence = of_command(ran(stdout="o" * 9000 + "\nout\n", stderr="e" * 9000 + "\nerr\n")).evidence
    assert len(evidence) < 1300
    assert evidence.endswith("err")
    assert "\nout\n" in evidence


def test_of_a_long_output_for_many_checkpoints_each_has_its_own_lines_as_evidence() -> None:
    others = "".join(f"ok other-{number}\n" for number in range(60))
    shared = ran(stdout=f"ok names\nFAIL tests: 3 of 4 wrong\n     and tests of tests/new.py\n{others}ok more-tests\n")
    assert of_command(shared, stdout_matches="^ok names$").evidence == "as expected: ok names"
    assert of_command(shared, stdout_matches="^ok tests$").evidence == (
        "the output does not match '^ok tests$': FAIL tests: 3 of 4 wrong\n     and tests of tests/new.py"
    )
    assert of_command(shared, stdout_matches="^ok absent$").evidence.endswith("ok other-59\nok more-tests")


@pytest.mark.parametrize(
    ("given", "holds", "evidence"),
    [
        ({"file": "a.txt"}, True, "a.txt exists"),
        ({"file": "deep/b.txt"}, True, "deep/b.txt exists"),
        ({"file": "no.txt"}, False, "no.txt does not exist"),
        ({"file": "deep"}, False, "deep is not a regular file"),
        ({"file": "link.txt"}, False, "link.txt is not a regular file"),
        ({"file": "dead.txt"}, False, "dead.txt is not a regular file"),
        ({"file": "a.txt/x"}, False, "a.txt/x does not exist"),
        ({"file": "no.txt", "absent": True}, True, "no.txt does not exist"),
        ({"file": "a.txt", "absent": True}, False, "a.txt exists"),
        ({"file": "deep", "absent": True}, False, "deep is not a regular file"),
        ({"file": "dead.txt", "absent": True}, False, "dead.txt is not a regular file"),
        ({"file": "a.txt", "matches": "^two$"}, True, "a.txt matches '^two$'"),
        ({"file": "a.txt", "matches": "^wo"}, False, "a.txt does not match '^wo'"),
        ({"file": "no.txt", "matches": ""}, False, "no.txt does not exist"),
        ({"file": "bytes.bin", "matches": "end"}, True, "bytes.bin matches 'end'"),
    ],
)
def test_a_file_is_regular_and_says_what_it_must(
    tmp_path: Path, given: dict[str, Any], holds: bool, evidence: str
) -> None:
    write(tmp_path / "a.txt", "one\ntwo\n")
    write(tmp_path / "deep" / "b.txt", "")
    write(tmp_path / "bytes.bin", b"\xff\x00end")
    (tmp_path / "link.txt").symlink_to("a.txt")
    (tmp_path / "dead.txt").symlink_to("nowhere")
    result = of_tree(tmp_path, **given)
    assert (result.holds, result.value, result.evidence) == (holds, float(holds), evidence)


@pytest.mark.parametrize(
    ("diff", "changes", "evidence"),
    [
        (changed("a", "b"), {"max_files": 2}, None),
        (changed("a", "b", "c"), {"max_files": 2}, "3 files changed, more than 2: a, b, c"),
        (changed("a", added=3, deleted=2), {"max_lines": 5}, None),
        (changed("a", added=3, deleted=3), {"max_lines": 5}, "6 lines changed, more than 5"),
        (changed("src/a.py", "src/deep/b.py"), {"only": ("src/**",)}, None),
        (changed("src/a.py", "setup.py"), {"only": ("src/**",)}, "changed outside of src/**: setup.py"),
        (changed("src/a.py", "docs/b"), {"only": ("src/**", "docs/")}, None),
        (changed("src/a", "src/b.c"), {"only": ("src/**", "!*.c")}, "changed outside of src/**, !*.c: src/b.c"),
        (changed("a.py"), {"never": ("*.pyc", "build/")}, None),
        (changed("x/a.pyc"), {"never": ("*.pyc",)}, "changed, but must not change: x/a.pyc"),
        (changed("build/a"), {"never": ("build/",)}, "changed, but must not change: build/a"),
        (changed("a"), {}, None),
    ],
)  # fmt: skip
def test_a_diff_stays_within_its_bounds(diff: DiffStat, changes: dict[str, Any], evidence: str | None) -> None:
    result = of_diff(diff, **changes)
    assert result.holds is (evidence is None)
    assert result.evidence == (
        evidence or f"{counted(len(diff.files), 'file')}, {counted(diff.added + diff.deleted, 'line')}"
    )


@pytest.mark.parametrize("changes", [{}, {"only": ("src/**",)}, {"never": ("*.pyc",)}, {"max_files": 3}])
def test_a_condition_on_the_diff_never_holds_where_nothing_was_changed(changes: dict[str, Any]) -> None:
    result = of_diff(changed(added=0), **changes)
    assert (result.holds, result.evidence) == (False, "nothing was changed")


def test_many_paths_are_shortened_in_evidence() -> None:
    files = [f"f{number}" for number in range(8)]
    assert of_diff(changed(*files), max_files=1).evidence.endswith("more than 1: f0, f1, f2, f3, f4 and 3 more")
