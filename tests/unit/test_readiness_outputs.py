"""Calls that are recorded while tests run, and the questions that are made of them."""

import builtins
import inspect
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from scylla_gha.model.readiness import ItemPart
from scylla_gha.readiness.closed_book import closed_book_levels
from scylla_gha.readiness.graders.answers import grade
from scylla_gha.readiness.guessers import answer_of, right_names
from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.predicted_outputs import PredictedOutputs, outputs_question
from scylla_gha.readiness.recorded_calls import RecordedCall, read_records
from scylla_gha.readiness.source_code import Function
from scylla_gha.readiness.syntax import syntax_tree
from scylla_gha.readiness.test_runners.record_calls import CallRecorder, recorded_code, replayed
from tests.support.readiness_items import readiness_item

MODULE = '''
import sys

def area(width, height=2, *rest, unit="m", **more):
    """Doc."""
    if width < 0:
        raise ValueError(width)
    def inner():
        return 3
    if width > 100:
        return
    return f"{width * height}{unit}"

def caller(depth):
    return sys._getframe(1).f_code.co_name

def parts(text):
    yield text

def first(rows):
    rows.append(0)
    return rows[0]

seen = []

def count(text):
    seen.append(text)
    return len(seen)

@staticmethod
def decorated(text):
    return text
'''
NAMES = ["area", "caller", "parts", "first", "count", "decorated"]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module with recording functions, and its recorder."""
    recorder = CallRecorder()
    monkeypatch.setattr(builtins, "@recorded_enter", recorder.enter, raising=False)
    monkeypatch.setattr(builtins, "@recorded_leave", recorder.leave, raising=False)
    loaded: Any = type(sys)("area")
    exec(recorded_code(MODULE.encode(), "area.py", NAMES, "area.py"), loaded.__dict__)
    loaded.recorder = recorder
    return loaded


def test_literal_calls_are_recorded_and_made_again(module: Any) -> None:
    assert [module.area(2), module.area(3, 4, 5, unit="k", z=None), module.area(500)] == ["4m", "12k", None]
    with pytest.raises(ValueError, match="-1"):
        module.area(-1)
    module.area(2.5, unit=str)
    module.first(["x" * 300])
    assert [module.first([[1]]), module.count("a"), module.count("a"), module.count("b")] == [[1], 1, 2, 3]
    rows = replayed(module.recorder, {"area.py": module})
    assert rows == [
        ["area.py", "area", "((2, 2), {'unit': 'm'})", "'4m'"],
        ["area.py", "area", "((3, 4, 5), {'unit': 'k', 'z': None})", "'12k'"],
        ["area.py", "area", "((500, 2), {'unit': 'm'})", "None"],
        ["area.py", "first", "(([[1]],), {})", "[1]"],
    ]
    records = read_records(json.dumps(rows).encode(), {"area.py::area"})
    assert list(records["area.py::area"].values()) == ["'4m'", "'12k'", "None"]


def test_a_replay_that_takes_too_long_is_left_out_and_no_alarm_stays() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    module: Any = type(sys)("slow")
    exec("import time\ndef slow(seconds):\n    time.sleep(seconds)\n    return seconds\n", module.__dict__)
    recorder = CallRecorder()
    recorder.calls["slow.py::slow"] = {"((0,), {})": "0", "((30,), {})": "30"}
    assert replayed(recorder, {"slow.py": module}) == [["slow.py", "slow", "((0,), {})", "0"]]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is handler


def test_tests_see_the_functions_as_they_are(module: Any) -> None:
    assert str(inspect.signature(module.area)) == "(width, height=2, *rest, unit='m', **more)"
    assert module.area.__doc__ == "Doc."
    assert module.caller(1) == "test_tests_see_the_functions_as_they_are"
    assert list(module.parts("a")) == ["a"]
    with pytest.raises(ValueError, match="-1") as caught:
        module.area(-1)
    assert caught.traceback[-1].lineno + 1 == MODULE[: MODULE.index("raise")].count("\n") + 1
    rows = [1]
    assert module.first(rows) is rows[0]
    assert rows == [1, 0]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[" * 100_000, b"7", b'{"a": 1}', b"[1, [], null]", b" " * 5_000_000, *(
        json.dumps([["a.py", "f", *pair]]).encode() for pair in [
            ("((1,), {})", "__import__('os')"), ("((1,), {})", "{1, 2}"), ("((1,), {})", "1e999"),
            ("((1,), {})", "'\\ud800'"), ("(1,)", "2"), ("((1,), {'a b': 2})", "2"), ("[(1,), {}]", "2"),
            ("((1,), {})", "'" + "x" * 300 + "'"), ("((" + "(" * 90 + "1", "2"), ("((1,), {})", 5),
        ])],
)  # fmt: skip
def test_forged_records_are_left_out(content: bytes) -> None:
    assert read_records(content, {"a.py::f"}) == {}


def function() -> Function:
    parser = parser_of("a.py")
    assert parser is not None
    text = "def f(a):\n    return a\n"
    return parser.parse("a.py", text, syntax_tree(text, "python", "a.py").root_node, is_test=False).functions[0]


def question(outputs: Sequence[object]) -> PredictedOutputs | None:
    return outputs_question(function(), [RecordedCall((f"x{n}",), {}, output) for n, output in enumerate(outputs)], 0)


@pytest.mark.parametrize(
    ("outputs", "asked"),
    [
        (["a", "b", "c"], None),
        (["a", "a", "a", "a"], None),
        (["a", "a", "b", "b"], ['"a"', '"a"', '"b"', '"b"']),
        ([(1, 2.0), [1, 2.0], {"k": 1}, "d"], ['"d"', '[1, 2.0]', '[1, 2.0]', '{"k": 1}']),
        ([True, True, False, False, False], "choice"),
        ([True, True, True, False], None),
        ([None, None, {1: 2}, {3: 4}], "choice"),
        ([True, False, "a", "b", "c", "d"], ['"a"', '"b"', '"c"', '"d"']),
        (["x0", "x1", "x2", "x3"], None),  # each returns its argument
        (["x0", "x1", "x2", "x3", "a", "b", "c"], ['"a"', '"b"', '"c"', '"x']),
    ],
)  # fmt: skip
def test_outputs_are_asked_where_guesses_are_rarely_right(outputs: list[object], asked: object) -> None:
    made = question(outputs)
    if asked is None:
        assert made is None
    elif asked == "choice":
        assert made is not None
        assert sorted(repr(call.output) == made.returning for call in made.calls) == [False, False, True, True]
    else:
        assert made is not None
        assert [text.startswith(start) for text, start in zip(sorted(made.outputs), asked, strict=True)] == [True] * 4  # type: ignore[call-overload]


def share_of(part: ItemPart, answer: object) -> float:
    return float(grade(part.id, part.key, answer))


def test_the_closed_book_control_answers_outputs() -> None:
    asked = question(["a", "a", "b", "b"])
    assert asked is not None
    names = {function().id: {"path": "a.py", "names": ["f"], "bare": ["f"]}}
    key: dict[str, object] = {"places": names, "outputs": {str(n): text for n, text in enumerate(asked.outputs)},
                              "guesses": {rule: list(guess) for rule, guess in asked.guesses.items()}}  # fmt: skip
    part = ItemPart(id="outputs", form="outputs", weight=40, key=key, candidates=tuple(asked.guesses))
    item = readiness_item(1).model_copy(update={"parts": (part,)})
    right = json.dumps({"outputs": [json.loads(text) for text in asked.outputs]})
    for text, share in ((f"I recall:\n```json\n{right}\n```", 1.0), ('{"outputs": "a"}', 0.0), ("none", 0.0)):
        levels = closed_book_levels(
            [item], {item.id: text}, lambda part, answer: float(grade(part.id, part.key, answer))
        )
        assert levels == {"outputs": (share, 1)}
    assert right_names(part) == []
    assert answer_of(part, ["argument 1", "null"]) == {"outputs": [call.positional[0] for call in asked.calls]}


def test_other_calls_do_not_change_the_order_of_those_that_stay() -> None:
    calls = [RecordedCall((n,), {}, f"v{n}") for n in range(6)]
    first, second = (outputs_question(replace(function()), own, 0) for own in (calls, calls[::-1]))
    assert first == second
