"""Guessing levels: the share of the points that simulated guessers earn, who know the prompt and names, but no code.

Guessers choose uniformly, by size of file, or what is most often right in the other items; one repeats what the prompt
names. They choose the best size of a list, and put a chain between the ends that the prompt names. Edits cannot be
guessed.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from scylla_gha.model.readiness import ANSWER_FIELDS, Guesser, GuessLevel, ItemPart, ItemSet, ReadinessItem
from scylla_gha.readiness.graders.answers import sense, split_place
from scylla_gha.readiness.guessed_lists import DrawLists, Lists, row_numbers, weighted_lists

DRAWS: Final = 1_000
_FEW: Final = 12  # candidates of a question whose others are no hint
_TRIED: Final = 10  # draws by which the size of a list is chosen
_SIZES: Final[Mapping[str, tuple[int, ...]]] = {
    "locate": (3,), "explain": (2,), "fails": (4,), "context": (1, 3, 8), "completeness": (3, 6, 12),
    "accuracy": (2, 3, 6), "efficiency": (3, 6, 12), "outputs": (1,),
}  # fmt: skip
_RIGHT: Final = ("places", "expected", "required", "failing")  # names of what is right in a key
_GUESSES: Final = "guesses"  # outputs by rule, in the key of a part whose outputs are asked
_WORD: Final = re.compile(r"[^\W\d][\w.]*")
Grade = Callable[[ItemPart, object], float]  # part, content of ANSWER.json; a share of the points


@dataclass(frozen=True, slots=True)
class _Question:
    """A part that can be guessed, with its item.

    Attributes:
        mentioned: numbers of the candidates that the prompt names.
        senses: what each candidate means to the grader, as a number; lists of equal senses are graded once.
        graded: the part that grades a guess; efficiency, which a trace decides, is graded by its item's completeness.
    """

    item: ReadinessItem
    part: ItemPart
    graded: ItemPart
    candidates: tuple[str, ...]
    mentioned: tuple[int, ...]
    senses: tuple[int, ...]
    grade: Grade
    known: dict[tuple[int, ...], float] = field(default_factory=dict)

    @classmethod
    def of(cls, item: ReadinessItem, part: ItemPart, grade: Grade) -> "_Question | None":
        """Prepare a part; None if it cannot be guessed."""
        wholes = (other for other in item.parts if other.id == "completeness")
        graded = next(wholes, part) if part.from_trace else part
        candidates = part.candidates or graded.candidates
        if not candidates:
            return None
        numbers = {name: number for number, name in enumerate(candidates)}
        mentioned = tuple(numbers[name] for name in named_in(item.prompt, candidates))
        return cls(item, part, graded, candidates, mentioned, _senses(graded, candidates), grade)

    @property
    def is_chain(self) -> bool:
        """True if a guess is a chain, whose ends the prompt names."""
        return self.part.id in ANSWER_FIELDS

    def share(self, numbers: Sequence[int]) -> float:
        """Grade a list of candidates; efficiency is full if a part of the chain is named without reading."""
        distinct = dict.fromkeys(numbers)
        key = tuple([self.senses[number] for number in distinct])
        if key not in self.known:
            answer = answer_of(self.graded, [self.candidates[number] for number in distinct])
            share = self.grade(self.graded, answer)
            self.known[key] = float(share > 0) if self.part.from_trace else share
        return self.known[key]


def _senses(part: ItemPart, candidates: Sequence[str]) -> tuple[int, ...]:
    """Number what the candidates mean to the grader, which counts names that it cannot tell apart once."""
    if len({split_place(name) for name in candidates}) < len(candidates):
        return tuple(range(len(candidates)))
    numbers: dict[object, int] = {}
    return tuple(numbers.setdefault(sense(part.id, part.key, name), len(numbers)) for name in candidates)


def guess_levels(
    items: ItemSet, grade: Grade, *, sizes: Mapping[str, int] | None = None, draws: int = DRAWS
) -> tuple[GuessLevel, ...]:
    """Simulate the guessers for each form of question.

    Args:
        items: the suite.
        grade: returns the share of the points of a part for the content of ANSWER.json, by the grader of questions.
        sizes: size of each file by path, in any unit; None: by the number of its functions among the candidates.
        draws: simulations of each part.
    """
    questions: dict[str, list[_Question]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for item in items.items:
        for part in item.parts:
            counts[part.form] += 1
            question = _Question.of(item, part, grade)
            if question is not None:
                questions[part.form].append(question)
    return tuple(
        GuessLevel(form=form, parts=count, guessers=_simulate(questions[form], sizes, items.seed, draws))
        for form, count in sorted(counts.items())
    )


def named_in(prompt: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the candidates that the prompt names, by their ids or qualified names."""
    words = {word.strip(".") for word in _WORD.findall(prompt)}
    return tuple(name for name in candidates if name in prompt or name.rpartition("::")[2] in words)


def answer_of(part: ItemPart, texts: Sequence[str]) -> dict[str, list[Any]]:
    """Return the content of ANSWER.json that gives these texts for a part; for outputs, those of the first rule."""
    guesses = part.key.get(_GUESSES)
    if isinstance(guesses, dict):
        return {part.id: [json.loads(output) for text in texts[:1] for output in guesses.get(text, ())]}
    return {ANSWER_FIELDS.get(part.id, part.id): list(texts)}


def _simulate(
    questions: Sequence[_Question], sizes: Mapping[str, int] | None, seed: int, draws: int
) -> dict[Guesser, float]:
    if not questions:
        return {}
    weighings: dict[Guesser, Callable[[_Question], Mapping[str, int]]] = {
        "uniform": lambda _: {},
        "by_size": lambda question: _functions_in_files(question) if sizes is None else sizes,
    }
    means: dict[Guesser, float] = {}
    for name, weigh in weighings.items():
        picks = [
            weighted_lists(_weights(question, weigh(question)), np.random.default_rng([seed, at]))
            for at, question in enumerate(questions)
        ]
        options = _SIZES.get(questions[0].part.id, (1, 3))
        best = max(options, key=lambda size: _mean(questions, picks, size, _TRIED)) if len(options) > 1 else options[0]
        means[name] = _mean(questions, picks, best, draws)
    means["most_frequent"] = _mean_of([_grade_frequent(question, questions, draws) for question in questions])
    means["prompt"] = _mean_of([question.share(question.mentioned) for question in questions])
    return means


def _mean(questions: Sequence[_Question], picks: Sequence[DrawLists], size: int, draws: int) -> float:
    return _mean_of([
        _mean_of(_shares(question, pick(size, draws))) for question, pick in zip(questions, picks, strict=True)
    ])  # fmt: skip


def _shares(question: _Question, lists: Lists) -> list[float]:
    """Grade the lists; those with the same senses are graded once."""
    senses = np.array(question.senses)
    if question.is_chain:
        senses[list(question.mentioned)] = -1  # where an end stands in a list makes no difference
    _, first, inverse = np.unique(row_numbers(senses[lists]), return_index=True, return_inverse=True)
    shares = np.array([question.share(_within_ends(question, numbers)) for numbers in lists[first].tolist()])
    graded: list[float] = shares[inverse].tolist()
    return graded


def _mean_of(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares)


def _within_ends(question: _Question, numbers: list[int]) -> list[int]:
    """Put the first and the last function that the prompt names around a guessed chain."""
    ends = question.mentioned
    if not ends or not question.is_chain:
        return numbers
    return [ends[0], *(number for number in numbers if number not in ends), ends[-1]]


def _file(name: str) -> str:
    return name.partition("::")[0]


def _weights(question: _Question, sizes: Mapping[str, int]) -> list[float]:
    """Return the size of each candidate's file; 1 where it is not known."""
    return [float(max(1, sizes.get(_file(name), 1))) for name in question.candidates]


def _functions_in_files(question: _Question) -> Mapping[str, int]:
    """Return the number of candidates of each file."""
    return Counter(_file(name) for name in question.candidates)


def _is_alike(question: _Question, other: _Question) -> bool:
    """Return True for the same question, whose answer nobody knows from another session: half of few choices shared."""
    if question is other or question.part.key == other.part.key:
        return True
    few = _GUESSES not in question.part.key and max(len(question.candidates), len(other.candidates)) <= _FEW
    return few and 2 * len({*question.candidates} & {*other.candidates}) >= len(question.candidates)


def _grade_frequent(question: _Question, questions: Sequence[_Question], draws: int) -> float:
    """Grade what is most often right in the other items; those that are right equally often come in any order."""
    others = Counter(name for other in questions if not _is_alike(question, other) for name in right_names(other.part))
    size = _SIZES.get(question.part.id, (1, 3))[0]
    rng = np.random.default_rng([draws, len(questions)])
    rarity = np.array([-others[name] for name in question.candidates])
    shares = []
    for _ in range(max(1, draws // _TRIED)):
        ranked = np.argsort(rarity * len(rarity) + rng.permutation(len(rarity)))
        shares.append(question.share(_within_ends(question, ranked[:size].tolist())))
    return _mean_of(shares)


def right_names(part: ItemPart) -> list[str]:
    """Return the ids that are right by the part's key; of outputs the rules, once for each call that they guess."""
    guesses, outputs = part.key.get(_GUESSES), part.key.get("outputs")
    if isinstance(guesses, dict) and isinstance(outputs, dict):
        right = outputs.values()
        return [rule for rule, guess in guesses.items() for pair in zip(guess, right, strict=True) if len({*pair}) == 1]
    keys = [part.key[field] for field in _RIGHT if field in part.key]
    names = keys[-1] if keys else []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list | dict | tuple) else []
