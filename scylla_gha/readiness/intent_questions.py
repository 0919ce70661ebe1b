"""The questions of Intent Clarity: where is it done, what would a change break or a call return, who calls it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.readiness import ItemPart
from scylla_gha.readiness.answer_keys import PlaceNames
from scylla_gha.readiness.history_intents import Intent
from scylla_gha.readiness.named_functions import Callers
from scylla_gha.readiness.predicted_failures import PredictedFailures
from scylla_gha.readiness.predicted_outputs import PredictedOutputs
from scylla_gha.readiness.question_prompts import PLACE_EXAMPLES, PLACE_FORM, TEST_FORM, fenced_diff, quoted
from scylla_gha.readiness.source_code import Function

_MOST_CALLERS_NAMED: Final = 12
_OUTPUT_EXAMPLES: Final = ("unpaid", 2.5, None, [1, True])
_WEIGHTS: Final = {"locate": 40.0, "explain": 40.0, "outputs": 40.0, "context": 20.0}
_CHANGED: Final = """\
Where is it done?

A change of this code base had the summary

{intent}

Names of code in it are replaced by `…`. The change has been made. Which function or method did it change? Name up to
three in the list `locate`, the most likely one first."""
_DOCUMENTED: Final = """\
Where is it done?

The documentation of a function or method said

{intent}

Names of code in it are replaced by `…`, and the documentation has been removed from the code. Which function or method
was it? Name up to three in the list `locate`, the most likely one first."""
_BROKEN: Final = """\
What would this change break?

Suppose that `{name}` in `{path}` were changed like this, and nothing else:

{diff}

All of these tests pass now:

{listed}

Which of them would fail after that change? Name them in the list `explain`."""
_RETURNED: Final = """\
What does it return?

Tests of this code base call `{name}` in `{path}` with these arguments:

{listed}

Each call returns the same when it is made by itself. Write what the calls return in the list `outputs`, in their order,
as JSON."""
_TOLD_APART: Final = """\
What does it return?

Tests of this code base call `{name}` in `{path}` with these arguments:

{listed}

Each call returns the same when it is made by itself. Some of them return this:

    {output}

Which ones? Name them in the list `explain`."""
_OUTPUT_FORM: Final = (
    "An output is written as JSON: None as `null`, True as `true`, a tuple as a list, a text in double quotes, and a "
    "float with its point, such as `2.0`."
)
_CALL_FORM: Final = "A call is written by its number, as it is listed above."
_CALLED: Final = """\
Who calls it?

Which functions or methods of the code base call `{name}` of `{path}` directly? Leave out tests, and calls outside of
functions. Name them in the list `context`, {most} at most."""


@dataclass(frozen=True, slots=True)
class IntentQuestion:
    """One question of an item.

    Attributes:
        text: title and text for the prompt.
        answer: the right answer.
        example: an answer of the right form.
        form: sentence on how answers are written.
        files: files that it depends on.
        notes: facts for the report.
    """

    text: str
    part: ItemPart
    answer: tuple[object, ...]
    example: tuple[object, ...]
    files: tuple[str, ...]
    notes: dict[str, str]
    form: str = PLACE_FORM


def locate_question(names: PlaceNames, intent: Intent) -> IntentQuestion:
    """Ask for the functions of an intent."""
    text = (_CHANGED if intent.commit else _DOCUMENTED).format(intent=quoted(intent.text))
    key: dict[str, object] = {"places": names.key(intent.targets)}
    part = _part("locate", key, names.candidates(intent.targets))
    notes = {"intent": intent.text, "source": f"commit {intent.commit}" if intent.commit else "docstring"}
    return IntentQuestion(text, part, intent.targets, PLACE_EXAMPLES[:2], _paths(intent.targets), notes)


def explain_question(question: PredictedFailures) -> IntentQuestion:
    """Ask which tests a fault fails."""
    function, fault = question.function, question.fault
    text = _BROKEN.format(
        name=function.name,
        path=function.path,
        diff=fenced_diff(fault.path, fault.span.first, fault.before, fault.after),
        listed="\n".join(f"- `{test}`" for test in question.listed),
    )
    key: dict[str, object] = {"listed": list(question.listed), "failing": list(question.failing)}
    example = ("tests/test_basket.py::test_empty", "tests/test_basket.py::test_total")
    notes = {"explained": function.id, "fault": fault.name}
    part = _part("explain", key, question.listed)
    files = _paths((function.id, *question.listed))
    return IntentQuestion(text, part, question.failing, example, files, notes, TEST_FORM)


def outputs_question(names: PlaceNames, question: PredictedOutputs) -> IntentQuestion:
    """Ask what calls of a function return: for their outputs, or which of them have one output."""
    function = question.function
    numbers = tuple(f"call {number}" for number in range(1, len(question.calls) + 1))
    listed = "\n".join(f"    {number}: {call.shown}" for number, call in zip(numbers, question.calls, strict=True))
    common = {"name": function.name, "path": function.path, "listed": listed}
    files, notes = _paths((function.id,)), {"explained": function.id}
    key: dict[str, object] = {"places": names.key((function.id,))}  # it must be there in a changed copy
    if question.returning is None:
        key["outputs"] = dict(zip(numbers, question.outputs, strict=True))
        key["guesses"] = {rule: list(guess) for rule, guess in question.guesses.items()}
        part = _part("outputs", key, tuple(question.guesses))
        answer = tuple(json.loads(output) for output in question.outputs)
        return IntentQuestion(_RETURNED.format(**common), part, answer, _OUTPUT_EXAMPLES, files, notes, _OUTPUT_FORM)
    right = tuple(number for number, call in zip(numbers, question.calls, strict=True)
                  if repr(call.output) == question.returning)  # fmt: skip
    key |= {"listed": list(numbers), "failing": list(right)}
    text = _TOLD_APART.format(**common, output=question.returning)
    return IntentQuestion(text, _part("explain", key, numbers), right, ("call 8", "call 9"), files, notes, _CALL_FORM)


def context_question(names: PlaceNames, function: Function, callers: Callers) -> IntentQuestion:
    """Ask for the direct callers of a function."""
    text = _CALLED.format(name=function.name, path=function.path, most=_MOST_CALLERS_NAMED)
    key: dict[str, object] = {
        "places": names.key((*callers.certain, *callers.undecided)),
        "expected": list(callers.certain),
        "most": _MOST_CALLERS_NAMED,
    }
    part = _part("context", key, names.candidates(callers.certain))
    files, notes = _paths((function.id, *callers.certain)), {"called": function.id}
    return IntentQuestion(text, part, callers.certain, PLACE_EXAMPLES[1:], files, notes)


def _part(name: str, key: dict[str, object], candidates: tuple[str, ...]) -> ItemPart:
    return ItemPart(id=name, form=name, weight=_WEIGHTS[name], key=key, candidates=candidates)


def _paths(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name.partition("::")[0] for name in ids}))
