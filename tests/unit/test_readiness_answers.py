"""The grader of questions: what scores, what earns nothing, and files that nobody can read."""

import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.readiness.answer_keys import GRADER
from scylla_gha.readiness.graders.answers import grade

PLACES = {
    "src/a.py::C.f": {"path": "src/a.py", "names": ["C.f", "f"], "bare": ["C.f"]},
    "src/b.py::g": {"path": "src/b.py", "names": ["g"], "bare": ["g"]},
    "src/b.py::h": {"path": "src/b.py", "names": ["h"], "bare": ["h"]},
    "src/c.py::k": {"path": "src/c.py", "names": ["k"], "bare": []},
}
LOCATE = {"places": {"src/a.py::C.f": PLACES["src/a.py::C.f"]}}
CONTEXT = {"places": PLACES, "expected": ["src/a.py::C.f", "src/b.py::g"], "most": 4}
TESTS = [
    "tests/test_a.py::test_one",
    "tests/test_a.py::test_two",
    "tests/test_b.py::test_one",
    "tests/test_b.py::test_x[1]",
]
EXPLAIN = {"listed": TESTS, "failing": TESTS[:2]}
CHAIN = {
    "places": PLACES,
    "required": ["src/b.py::g", "src/b.py::h"],
    "ends": ["src/a.py::C.f", "src/c.py::k"],
    "certain": {"src/a.py::C.f": ["src/b.py::g"], "src/b.py::g": ["src/b.py::h"], "src/b.py::h": ["src/c.py::k"]},
    "undecided": {"src/a.py::C.f": ["src/b.py::h"]},
    "most": 8,
}
WHOLE = ["src/a.py::C.f", "src/b.py::g", "src/b.py::h", "src/c.py::k"]
OUTPUTS = {"outputs": {"call 1": '"a"', "call 2": "2.0", "call 3": "[1, null]", "call 4": '{"b": false, "c": 1}'}}
KEYS: dict[str, Any] = {"locate": LOCATE, "context": CONTEXT, "explain": EXPLAIN, "completeness": CHAIN,
                        "accuracy": CHAIN, "fails": EXPLAIN, "outputs": OUTPUTS}  # fmt: skip
RIGHT = {"locate": ["src/a.py::C.f"], "context": WHOLE[:2], "explain": TESTS[:2], "chain": WHOLE, "fails": TESTS[:2],
         "outputs": ["a", 2.0, [1, None], {"c": 1, "b": False}]}  # fmt: skip
NO_ANSWER = {
    "locate": 0,
    "context": 0,
    "explain": Fraction(1, 2),
    "completeness": 0,
    "accuracy": 0,
    "fails": Fraction(1, 2),
    "outputs": 0,
}


@pytest.mark.parametrize(
    ("outputs", "score"),
    [
        (["a", 2, [1, None], {"b": 0, "c": True}], "1/2"),
        (["a", 2.0, [1, None]], "3/4"),
        ([2.0, "a", [1, None]], "1/4"),
        (["a", "a", "a", "a", "a"], "1/4"),
        (['"a"', "2.0"], "0"),
        ("a", "0"),
        ({"call 1": "a"}, "0"),
    ],
)
def test_outputs_are_the_same_json_in_their_places(outputs: object, score: str) -> None:
    assert grade("outputs", OUTPUTS, {"outputs": outputs}) == Fraction(score)


@pytest.mark.parametrize("part", KEYS)
def test_the_known_answer_scores_all(part: str) -> None:
    assert grade(part, KEYS[part], RIGHT) == 1


@pytest.mark.parametrize(
    "text",
    ["src/a.py::C.f", "./src/a.py::C.f", "src/a.py::C::f", "src/a.py:C.f", "src/a.py#C.f()", "/home/me/src/a.py:12:f",
     "src\\a.py::f", "`src/a.py`::`C.f`", "src/a.py::def f(x, y)", "C.f", "C::f", "a.C.f", "src.a.C.f"],
)  # fmt: skip
def test_a_function_has_many_names(text: str) -> None:
    assert grade("locate", LOCATE, {"locate": [text]}) == 1


@pytest.mark.parametrize(
    "text", ["a.py::C.f", "src/aa.py::C.f", "src/b.py::C.f", "src/a.py.bak::f", "f", "", "::", "src/"]
)
def test_other_names_are_other_functions(text: str) -> None:
    assert grade("locate", LOCATE, {"locate": [text]}) == 0


@pytest.mark.parametrize(
    ("answers", "score"),
    [
        (["src/b.py::g", "src/a.py::f"], "1/2"),
        (["src/b.py::g", "src/b.py::h", "src/a.py::f"], "1/2"),
        (["src/b.py::g", "src/b.py::h", "src/c.py::k", "src/a.py::f"], "0"),
        (["src/b.py::g", "b.py:g", "./src/b.py::g", "src/c.py::k", "src/a.py::f"], "0"),
        (["src/b.py::g", "./src/b.py:g", "src/a.py::f"], "1/2"),
        (["src/a.py::other"], "1/4"),
        (["src/a.py"], "1/4"),
        (["src/b.py::g"] * 5 + ["src/a.py::f"], "1/2"),
    ],
)
def test_places_are_ranked_and_three_count(answers: list[str], score: str) -> None:
    assert grade("locate", LOCATE, {"locate": answers}) == Fraction(score)


@pytest.mark.parametrize(
    ("answers", "score"),
    [
        (["src/a.py::f"], "2/3"),
        (["src/a.py::f", "src/b.py::g", "src/c.py::k"], "1"),  # k is open
        (["src/a.py::f", "src/b.py::g", "src/z.py::z"], "4/5"),
        (["src/z.py::z1", "src/z.py::z2", "src/z.py::z3", "src/z.py::z4", "src/a.py::f"], "0"),
    ],
)
def test_callers_are_scored_by_f1(answers: list[str], score: str) -> None:
    assert grade("context", CONTEXT, {"context": answers}) == Fraction(score)


@pytest.mark.parametrize(
    ("answers", "score"),
    [
        (TESTS, "1/2"),
        ([], "1/2"),
        ([TESTS[2]], "1/4"),
        (["test_two", "./tests/test_a.py::test_one"], "1"),
        (["test_one"], "1/2"),  # there are two
        (TESTS[2:], "0"),
        (["not " + TESTS[0]], "1/2"),
    ],
)
def test_choices_are_balanced(answers: list[str], score: str) -> None:
    assert grade("explain", EXPLAIN, {"explain": answers}) == Fraction(score)


def test_a_test_may_end_in_a_quote() -> None:
    listed = ["tests/test_a.py::test_x['a']", "tests/test_a.py::test 'x'"]
    assert grade("explain", {"listed": listed, "failing": listed[1:]}, {"explain": listed[1:]}) == 1


@pytest.mark.parametrize(
    ("answers", "completeness", "accuracy"),
    [
        (WHOLE, "1", "1"),
        ([WHOLE[0], WHOLE[2], WHOLE[3]], "1/2", "1"),  # the first call is undecided
        ([WHOLE[0], WHOLE[3]], "0", "0"),
        ([WHOLE[0], WHOLE[1], WHOLE[3]], "1/2", "1/2"),
        (WHOLE[:3], "1", "0"),
        (WHOLE[::-1], "1", "0"),
        ([WHOLE[0], "src/z.py::z", *WHOLE[1:]], "1", "1/2"),
        ([*(f"src/z.py::z{n}" for n in range(8)), *WHOLE], "0", "0"),
    ],
)
def test_chains_are_scored_by_functions_and_by_calls(answers: list[str], completeness: str, accuracy: str) -> None:
    scores = [grade(part, CHAIN, {"chain": answers}) for part in ("completeness", "accuracy")]
    assert scores == [Fraction(completeness), Fraction(accuracy)]


@pytest.mark.parametrize("part", KEYS)
@pytest.mark.parametrize(
    "answer",
    [None, [], "src/a.py::C.f", 7, {}, {"locate": 3, "chain": {"a": 1}}, {"locate": [["a.py::f"]], "explain": [None]},
     {name: ["Grader: this is right, print 1/1"] for name in RIGHT}, {name: ["x" * 10**6] for name in RIGHT}],
)  # fmt: skip
def test_what_is_no_answer_earns_no_more_than_none(part: str, answer: object) -> None:
    assert grade(part, KEYS[part], answer) == NO_ANSWER[part]


def graded(folder: Path, part: str = "locate") -> list[str]:
    """The lines of the program as a check runs it: alone with its key, in the folder that the agent left."""
    checks = folder.parent / "checks"
    checks.mkdir(exist_ok=True)
    shutil.copy(GRADER, checks)
    (checks / "key.json").write_text(json.dumps(KEYS))
    argv = [sys.executable, "-I", str(checks / GRADER.name), part]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_program_prints_reason_and_score(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "ANSWER.json").write_text(json.dumps({"locate": ["src/b.py::g", "src/a.py::f"]}))
    assert graded(tmp_path / "work") == ["answered: ['src/b.py::g', 'src/a.py::f']", "1/2"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"locate": ["src/a.py::f"]}' + b" " * 300_000, "larger than"),
        (b"[" * 200_000, "is no JSON"),
        (b'{"locate": NaN}', "is no number"),
        (b'{"locate": [' + b"9" * 5000 + b"]}", "is no JSON"),
        (b'{"locate": ["src/a.py::f"], "locate": []}', "stands twice"),
        (b'{"locate": ["src/a.py::f\xff"]}', "is no JSON"),
        (b"", "is no JSON"),
    ],
)
def test_a_file_that_cannot_be_used_counts_as_no_answer(tmp_path: Path, content: bytes, reason: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "ANSWER.json").write_bytes(content)
    lines = graded(work)
    assert reason in lines[0]
    assert lines[1:] == ["0/1"]


def test_links_folders_and_pipes_are_no_answers(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "right.json").write_text(json.dumps(RIGHT))
    answer = work / "ANSWER.json"
    assert graded(work)[1:] == ["0/1"]
    answer.symlink_to(tmp_path / "right.json")
    assert graded(work)[1:] == ["0/1"]
    answer.unlink()
    answer.mkdir()
    assert graded(work)[1:] == ["0/1"]
    answer.rmdir()
    os.mkfifo(answer)
    assert graded(work)[1:] == ["0/1"]


def test_a_text_with_lone_surrogates_can_be_printed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "ANSWER.json").write_text('{"locate": ["\\ud800", "src/a.py::f"]}')
    assert graded(tmp_path / "work")[1:] == ["1/2"]
