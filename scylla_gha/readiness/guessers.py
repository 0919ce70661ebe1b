"""Guessing levels: the share of the points that simulated guessers earn, who know the prompt and names, but no code.

Guessers choose uniformly, by size of file, or what is most often right in the other items; one repeats what the prompt
names. They choose the best size of a list, and put a chain between the ends that the prompt names. Edits cannot be
guessed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from scylla_gha.model.readiness import ANSWER_FIELDS, ItemPart, ItemSet, ReadinessItem
from scylla_gha.model.readiness_score import Guesser, GuessLevel

DRAWS: Final = 1_000
_FEW: Final = 12  # candidates whose lists are graded once
_TRIED: Final = 10  # draws by which the size of a list is chosen
_SIZES: Final[Mapping[str, tuple[int, ...]]] = {
    "locate": (3,), "explain": (2,), "fails": (4,), "context": (1, 3, 8), "completeness": (3, 6, 12),
    "accuracy": (2, 3, 6), "efficiency": (3, 6, 12),
}  # fmt: skip
_RIGHT: Final = ("places", "expected", "required", "failing")  # names of what is right in a key
_WORD: Final = re.compile(r"[^\W\d][\w.]*")
Grade = Callable[[ItemPart, object], float]  # part, content of ANSWER.json; a share of the points
_Pick = Callable[[int], list[str]]  # a list of at most so many candidates


@dataclass(frozen=True, slots=True)
class _Question:
    """A part that can be guessed, with its item and the names of the prompt among its candidates."""

    item: ReadinessItem
    part: ItemPart
    candidates: tuple[str, ...]
    mentioned: tuple[str, ...]
    grade: Grade
    known: dict[tuple[str, ...], float] = field(default_factory=dict)

    def share(self, texts: Sequence[str]) -> float:
        """Grade a list of texts; efficiency, which a trace decides, is full if a part is named without reading."""
        key = tuple(texts)
        if len(self.candidates) > _FEW:
            return self._graded(key)
        if key not in self.known:
            self.known[key] = self._graded(key)
        return self.known[key]

    def _graded(self, texts: tuple[str, ...]) -> float:
        if not self.part.from_trace:
            return self.grade(self.part, answer_of(self.part, texts))
        whole = next((part for part in self.item.parts if part.id == "completeness"), None)
        return float(whole is not None and self.grade(whole, answer_of(whole, texts)) > 0)


def guess_levels(
    items: ItemSet, grade: Grade, *, sizes: Mapping[str, int] | None = None, draws: int = DRAWS
) -> tuple[GuessLevel, ...]:
    """Simulate the guessers for each form of question.

    Args:
        items: the suite.
        grade: returns the share of the points of a part for the content of ANSWER.json.
        sizes: size of each file by path, in any unit; None: by the number of its functions among the candidates.
        draws: simulations of each part.
    """
    questions: dict[str, list[_Question]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for item in items.items:
        for part in item.parts:
            counts[part.form] += 1
            candidates = part.candidates or _candidates_of_trace(item, part)
            if candidates:
                mentioned = named_in(item.prompt, candidates)
                questions[part.form].append(_Question(item, part, candidates, mentioned, grade))
    return tuple(
        GuessLevel(form=form, parts=count, guessers=_simulate(questions[form], sizes, items.seed, draws))
        for form, count in sorted(counts.items())
    )


def _candidates_of_trace(item: ReadinessItem, part: ItemPart) -> tuple[str, ...]:
    """Return what a guesser of a chain chooses from, for the part that its trace decides."""
    whole = next((other for other in item.parts if part.from_trace and other.id == "completeness"), None)
    return whole.candidates if whole else ()


def named_in(prompt: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return the candidates that the prompt names, by their ids or qualified names."""
    words = {word.strip(".") for word in _WORD.findall(prompt)}
    return tuple(name for name in candidates if name in prompt or name.rpartition("::")[2] in words)


def answer_of(part: ItemPart, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the content of ANSWER.json that gives these texts for a part."""
    return {ANSWER_FIELDS.get(part.id, part.id): list(texts)}


def _simulate(
    questions: Sequence[_Question], sizes: Mapping[str, int] | None, seed: int, draws: int
) -> dict[Guesser, float]:
    if not questions:
        return {}
    pickers: dict[Guesser, Callable[[_Question, np.random.Generator], _Pick]] = {
        "uniform": lambda question, rng: _weighted(question, {}, rng),
        "by_size": lambda question, rng: _weighted(
            question, _functions_in_files(question) if sizes is None else sizes, rng
        ),
    }
    means: dict[Guesser, float] = {}
    for name, picker in pickers.items():
        rngs = [np.random.default_rng([seed, at]) for at in range(len(questions))]
        picks = [picker(question, rng) for question, rng in zip(questions, rngs, strict=True)]
        options = _SIZES.get(questions[0].part.id, (1, 3))
        best = max(options, key=lambda size: _mean(questions, picks, size, _TRIED)) if len(options) > 1 else options[0]
        means[name] = _mean(questions, picks, best, draws)
    means["most_frequent"] = _mean_of([_grade_frequent(question, questions, draws) for question in questions])
    means["prompt"] = _mean_of([question.share(question.mentioned) for question in questions])
    return means


def _mean(questions: Sequence[_Question], picks: Sequence[_Pick], size: int, draws: int) -> float:
    return _mean_of([
        _mean_of([question.share(_within_ends(question, pick(size))) for _ in range(draws)])
        for question, pick in zip(questions, picks, strict=True)
    ])  # fmt: skip


def _mean_of(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares)


def _within_ends(question: _Question, texts: list[str]) -> list[str]:
    """Put the first and the last function that the prompt names around a guessed chain."""
    if question.part.id not in ANSWER_FIELDS or not question.mentioned:
        return texts
    middle = [text for text in texts if text not in question.mentioned]
    return [question.mentioned[0], *middle, question.mentioned[-1]]


def _weighted(question: _Question, sizes: Mapping[str, int], rng: np.random.Generator) -> _Pick:
    """Return a draw of distinct candidates, each by the size of its file, or all alike."""
    candidates = question.candidates
    weights = np.array([float(max(1, sizes.get(_file(name), 1))) for name in candidates])
    limits = weights.cumsum()

    def pick(size: int) -> list[str]:
        texts: dict[str, None] = {}
        while len(texts) < min(size, len(candidates)):
            drawn = np.searchsorted(limits, rng.random(2 * size) * limits[-1], side="right")
            texts.update(dict.fromkeys(candidates[min(int(at), len(candidates) - 1)] for at in drawn))
        return list(texts)[:size]

    return pick


def _file(name: str) -> str:
    return name.partition("::")[0]


def _functions_in_files(question: _Question) -> Mapping[str, int]:
    """Return the number of candidates of each file."""
    return Counter(_file(name) for name in question.candidates)


def _is_alike(question: _Question, other: _Question) -> bool:
    """Return True for the same question, whose answer nobody knows from another session: half of few choices shared."""
    if question is other or question.part.key == other.part.key:
        return True
    few = max(len(question.candidates), len(other.candidates)) <= _FEW
    return few and 2 * len({*question.candidates} & {*other.candidates}) >= len(question.candidates)


def _grade_frequent(question: _Question, questions: Sequence[_Question], draws: int) -> float:
    """Grade what is most often right in the other items; those that are right equally often come in any order."""
    others = Counter(name for other in questions if not _is_alike(question, other) for name in right_names(other.part))
    size = _SIZES.get(question.part.id, (1, 3))[0]
    rng = np.random.default_rng([draws, len(questions)])
    shares = []
    for _ in range(max(1, draws // _TRIED)):
        order = rng.permutation(len(question.candidates)).tolist()
        ranked = sorted(zip(question.candidates, order, strict=True), key=lambda pair: (-others[pair[0]], pair[1]))
        shares.append(question.share(_within_ends(question, [name for name, _ in ranked[:size]])))
    return _mean_of(shares)


def right_names(part: ItemPart) -> list[str]:
    """Return the ids that are right by the part's key."""
    keys = [part.key[field] for field in _RIGHT if field in part.key]
    names = keys[-1] if keys else []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list | dict | tuple) else []
