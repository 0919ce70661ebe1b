"""Questions on what a function returns: four recorded calls, whose outputs are to be written or told apart.

Outputs are written as JSON where neither a usual constant nor an argument is right more than once; else it is asked
which of the calls return one of the outputs: two do, two do not.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Final

from scylla_gha.readiness.anchors import sample
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.probes import CoveringTests
from scylla_gha.readiness.recorded_calls import RecordedCall, recorded_calls
from scylla_gha.readiness.source_code import Function

_CALLS: Final = 4
_PER_SIDE: Final = 2
_MOST_TESTS: Final = 24  # of a function
_MOST_GUESSED: Final = 1  # calls whose output a guess without the code has right
_MOST_PER_FILE: Final = 3
_MOST_ARGUMENTS: Final = 3  # that a guess repeats
_CONSTANTS: Final = ("null", "true", "false", "0", "1", "-1", '""', "[]", "{}")
Guesses = Mapping[str, Sequence[str]]  # outputs as JSON by the rule of a guess


@dataclass(frozen=True, slots=True)
class PredictedOutputs:
    """Function and its calls, in an order that says nothing.

    Attributes:
        outputs: of each call, as JSON; empty if `returning` is asked.
        guesses: outputs that rules give which know the calls, and no code.
        returning: the output that two of the calls have, as Python writes it; None: all outputs are asked.
    """

    function: Function
    calls: tuple[RecordedCall, ...]
    outputs: tuple[str, ...] = ()
    guesses: Guesses = field(default_factory=dict)
    returning: str | None = None


def predicted_outputs(
    material: ReadinessMaterial, wanted: int, without: Collection[str], counts: Counter[str]
) -> list[PredictedOutputs]:
    """Return questions on functions whose calls the tests show.

    Args:
        material: of the code base.
        wanted: number of functions that are tried.
        without: ids of functions that other questions ask about.
        counts: gets the yields, by name.

    Raises:
        ToolError: the tests cannot be run.
    """
    covering = CoveringTests.of(material.tests)
    tests = {function.id: covering.of_function(function) for function in _callable(material)}
    eligible = [material.index.functions[name] for name, own in tests.items() if own and name not in without]
    functions = sample(eligible, material.seed, wanted, _MOST_PER_FILE)
    run = {test.id for function in functions for test in tests[function.id][:_MOST_TESTS]}
    calls = recorded_calls(material, functions, run)
    questions = [question for function in functions
                 if (question := outputs_question(function, calls.get(function.id, ()), material.seed))]  # fmt: skip
    counts["functions tried for questions on outputs"] = len(functions)
    counts["functions with outputs to predict"] = len(questions)
    return questions


def _callable(material: ReadinessMaterial) -> Iterable[Function]:
    """Yield the functions whose calls can be recorded: at the top of a module, with parameters."""
    for file in material.index.files.values():
        if not file.is_test and file.language == "python":
            for function in file.functions:
                if function.parameters and not function.decorators and not set(".#") & set(function.name):
                    yield function


def outputs_question(function: Function, calls: Sequence[RecordedCall], seed: int) -> PredictedOutputs | None:
    """Return the question whose answer is harder to guess; None if its calls or outputs are too few."""
    ordered = sorted(calls, key=lambda call: _hash(seed, function.id, call.shown))
    return _written(function, ordered) or _told_apart(function, ordered)


def _hash(*fields: object) -> str:
    return hashlib.sha256("\0".join(map(str, fields)).encode()).hexdigest()


def _written(function: Function, calls: Sequence[RecordedCall]) -> PredictedOutputs | None:
    numbers: dict[str, list[int]] = defaultdict(list)  # of calls, by their output
    for number in sorted(range(len(calls)), key=lambda number: _is_guessed(calls[number])):
        text = _json(calls[number].output)
        if text is not None:
            numbers[text].append(number)
    in_turn = (number for places in zip_longest(*numbers.values()) for number in places if number is not None)
    asked = [calls[number] for number in sorted(islice(in_turn, _CALLS))]
    outputs = [text for call in asked if (text := _json(call.output)) is not None]
    rules = list(dict.fromkeys(rule for call in asked for rule in guesses_of(call)))
    guesses = {rule: tuple(guesses_of(call).get(rule, "null") for call in asked) for rule in rules}
    best = max((sum(map(str.__eq__, guess, outputs)) for guess in guesses.values()), default=_CALLS)
    if len(asked) < _CALLS or len(set(outputs)) < _PER_SIDE or best > _MOST_GUESSED:
        return None
    return PredictedOutputs(function, tuple(asked), tuple(outputs), guesses)


def _is_guessed(call: RecordedCall) -> bool:
    return _json(call.output) in guesses_of(call).values()


def guesses_of(call: RecordedCall) -> dict[str, str]:
    """Return the outputs, as JSON, that rules guess for a call: usual constants, an argument, its text."""
    guesses = dict(zip(_CONSTANTS, _CONSTANTS, strict=True))
    for number, argument in enumerate(call.positional[:_MOST_ARGUMENTS], 1):
        text = _json(argument)
        if text is not None:
            guesses[f"argument {number}"] = text
            guesses[f"text of argument {number}"] = json.dumps(str(argument))
    return guesses


def _json(content: object) -> str | None:
    """Return a literal as the grader compares it; None: JSON has no such form."""
    if not _has_json(content):
        return None
    return json.dumps(content, sort_keys=True)


def _has_json(content: object) -> bool:
    if isinstance(content, list | tuple):
        return all(map(_has_json, content))
    if isinstance(content, dict):
        return all(isinstance(name, str) for name in content) and all(map(_has_json, content.values()))
    return True


def _told_apart(function: Function, calls: Sequence[RecordedCall]) -> PredictedOutputs | None:
    numbers: dict[str, list[int]] = defaultdict(list)  # of calls, by their output
    for number, call in enumerate(calls):
        numbers[repr(call.output)].append(number)
    for output, own in numbers.items():
        others = [number for number in range(len(calls)) if number not in own]
        if min(len(own), len(others)) >= _PER_SIDE:
            chosen = sorted([*own[:_PER_SIDE], *others[:_PER_SIDE]])
            return PredictedOutputs(function, tuple(calls[number] for number in chosen), returning=output)
    return None
