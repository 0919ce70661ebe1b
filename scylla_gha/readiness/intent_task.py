"""Intent Clarity: locate the code of an intent, predict what a fault or a call does, name the callers of a function."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.readiness import ChangedText, ReadinessItem
from scylla_gha.readiness.anchors import function_digest, hash_of, sample
from scylla_gha.readiness.answer_keys import PlaceNames, answer_text
from scylla_gha.readiness.documented_intents import documented_intents, without_docstring
from scylla_gha.readiness.history_intents import Intent, history_intents
from scylla_gha.readiness.intent_questions import (
    IntentQuestion,
    context_question,
    explain_question,
    locate_question,
    outputs_question,
)
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.named_functions import CallersByFunction, nearest
from scylla_gha.readiness.predicted_failures import PredictedFailures, functions_tried, predicted_failures
from scylla_gha.readiness.predicted_outputs import PredictedOutputs, predicted_outputs
from scylla_gha.readiness.question_prompts import item_id, prompt_of
from scylla_gha.readiness.source_code import Function

MOST_PER_FILE: Final = 3


@dataclass(frozen=True, slots=True)
class _Ground:
    """Common ground of the items.

    Attributes:
        explained: questions on what a fault breaks, or else on what calls return, by the id of the function.
        called: functions with certain callers, by id.
    """

    material: ReadinessMaterial
    names: PlaceNames
    callers: CallersByFunction
    explained: dict[str, PredictedFailures | PredictedOutputs]
    called: dict[str, Function]


def intent_items(material: ReadinessMaterial, counts: Counter[str] | None = None) -> list[ReadinessItem]:
    """Return an item for each anchor: a function whose intent the history or its docstring tells.

    Args:
        material: of the code base.
        counts: gets the yields, by name.

    Raises:
        FixtureError: git cannot read the history.
        ToolError: the tests cannot be run.
    """
    yields = Counter[str]() if counts is None else counts
    callers = CallersByFunction(material.index)
    ground = _Ground(
        material,
        PlaceNames(material.index, material.seed),
        callers,
        _explained(material, yields),
        {function.id: function for function in callers.called()},
    )
    yields["functions with one to eight certain callers"] = len(ground.called)
    return [_item(ground, anchor, intent) for anchor, intent in anchored_intents(material, yields)]


def _explained(material: ReadinessMaterial, yields: Counter[str]) -> dict[str, PredictedFailures | PredictedOutputs]:
    """Return a question for each function that has one; what calls return is asked where no fault can be."""
    faults = {question.function.id: question for question in predicted_failures(material, yields)}
    outputs = predicted_outputs(material, functions_tried(material), faults, yields)
    return {**faults, **{question.function.id: question for question in outputs}}


def anchored_intents(material: ReadinessMaterial, yields: Counter[str]) -> list[tuple[Function, Intent]]:
    """Return the sampled anchors with their intents; the history's come first, and docstrings fill up."""
    index, seed, wanted = material.index, material.seed, material.wanted
    by_anchor: dict[str, Intent] = {}
    for intent in history_intents(material.checkout, index):
        first = min(intent.targets, key=lambda name: hash_of(index.functions[name], seed))
        by_anchor.setdefault(first, intent)
    yields["functions with an intent from history"] = len(by_anchor)
    anchors = sample((index.functions[name] for name in by_anchor), seed, wanted, MOST_PER_FILE)
    used = {target for anchor in anchors for target in by_anchor[anchor.id].targets}
    documented = {intent.targets[0]: intent for intent in documented_intents(index)} if len(anchors) < wanted else {}
    yields["functions with an intent from documentation"] = len(documented)
    counts = Counter(anchor.path for anchor in anchors)
    for anchor in sample(
        (index.functions[name] for name in documented if name not in used), seed, wanted, MOST_PER_FILE
    ):
        is_wanted = len(anchors) < wanted and counts[anchor.path] < MOST_PER_FILE
        if is_wanted and without_docstring(index.files[anchor.path], anchor) is not None:
            anchors.append(anchor)
            counts[anchor.path] += 1
    return [(anchor, by_anchor.get(anchor.id) or documented[anchor.id]) for anchor in anchors]


def _item(ground: _Ground, anchor: Function, intent: Intent) -> ReadinessItem:
    index, seed = ground.material.index, ground.material.seed
    questions = list(_questions(ground, anchor, intent))
    removed = () if intent.commit else (without_docstring(index.files[anchor.path], anchor),)
    examples = {question.part.id: question.example for question in questions}
    forms = list(dict.fromkeys(question.form for question in questions))
    return ReadinessItem(
        id=item_id("intent", anchor, seed),
        dimension="intent-clarity",
        anchor=anchor.id,
        anchor_digest=function_digest(index, anchor),
        files=tuple(sorted({path for question in questions for path in question.files})),
        prompt=prompt_of([question.text for question in questions], examples, forms),
        has_shell=False,
        parts=tuple(question.part for question in questions),
        start=tuple(ChangedText(path=anchor.path, text=text) for text in removed if text is not None),
        solution=(answer_text({question.part.id: question.answer for question in questions}),),
        notes={name: text for question in questions for name, text in question.notes.items()},
    )


def _questions(ground: _Ground, anchor: Function, intent: Intent) -> Iterator[IntentQuestion]:
    yield locate_question(ground.names, intent)
    apart = {name: question for name, question in ground.explained.items()
             if ground.callers.apart(question.function, intent.targets)}  # fmt: skip
    explained = nearest(apart, anchor.id, ground.material.seed)
    if isinstance(explained, PredictedOutputs):
        yield outputs_question(ground.names, explained)
    elif explained is not None:
        yield explain_question(explained)
    called = {name: function for name, function in ground.called.items()
              if ground.callers.apart(function, intent.targets)}  # fmt: skip
    same = called.get(explained.function.id) if explained else None
    function = same or nearest(called, anchor.id, ground.material.seed)
    if function is not None:
        yield context_question(ground.names, function, ground.callers.of(function.id))
