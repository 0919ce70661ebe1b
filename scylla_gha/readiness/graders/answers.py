"""Grader of questions: compares ANSWER.json with the known answer and prints a reason and `k/n`.

Run as `python3 "$CHECKS/answers.py" PART` in the folder that the agent left. `key.json` beside this file has the known
answer of each part. The file of answers is not trusted: if it cannot be used, it counts as one without answers.
"""

import functools
import itertools
import json
import os
import posixpath
import re
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

ANSWER_FILE: Final = "ANSWER.json"
MOST_BYTES: Final = 262_144
_MOST_CHARACTERS: Final = 400  # of one answer
_SOURCE: Final = re.compile(
    r"(?P<path>[^\0]*?\.(?:py|pyi|js|mjs|cjs|jsx|ts|mts|cts|tsx|go))(?=[:#\s(>-]|$)(?P<name>.*)", re.DOTALL
)
_LINES: Final = re.compile(r"^(?:[:#\s]*L?\d+(?:-L?\d+)?(?=[:#\s]|$))+")
_KEYWORDS: Final = re.compile(r"^(?:(?:export|default|async|static|def|function|func|method|class)\s+)+")
_RECEIVER: Final = re.compile(r"\(\*?(\w+)\)(?=\.)")  # of a method in Go
_RANK_CREDIT: Final = (Fraction(1), Fraction(1, 2), Fraction(1, 2))
_FILE_CREDIT: Final = Fraction(1, 4)
_OUTPUTS: Final = "outputs"
Key = Mapping[str, Any]


class AnswerError(Exception):
    """File of answers that cannot be used."""


def grade(part: str, key: Key, answer: object) -> Fraction:
    """Return the score of one part, from 0 to 1.

    Args:
        part: the part ("locate", "explain", "outputs", "context", "completeness", "accuracy", "fails").
        key: its known answer.
        answer: content of ANSWER.json; anything that is not a list counts as an empty one.
    """
    if part == _OUTPUTS:
        return _outputs(key, _listed_under(part, answer))
    field, rule = _RULES[part]
    return rule(key, _texts(answer, field))


def sense(part: str, key: Key, text: str) -> object:
    """Return what an answer's text means for a part: lists of different names with equal senses have one score."""
    if len(text) > _MOST_CHARACTERS:
        return ...
    if part == _OUTPUTS:
        return text
    rule = _RULES[part][1]
    if rule is _choice:
        return _listed(text, key["listed"])
    if rule is not _locate:
        return _resolve(split_place(text), key["places"])
    name, functions = split_place(text), key["places"].values()
    return (any(_means(name, function) for function in functions),
            any(_same_path(name[0], function["path"]) for function in functions))  # fmt: skip


def _texts(answer: object, field: str) -> list[str]:
    values = answer.get(field) if isinstance(answer, dict) else None
    if isinstance(values, str):
        values = [values]
    if not isinstance(values, list):
        return []
    return [text for text in values[:1000] if isinstance(text, str) and len(text) <= _MOST_CHARACTERS]


def _locate(key: Key, answers: list[str]) -> Fraction:
    """Credit by the rank of the first target; less if only its file is right."""
    names = _distinct_names(answers, len(_RANK_CREDIT))
    for name, credit in zip(names, _RANK_CREDIT, strict=False):
        if any(_means(name, function) for function in key["places"].values()):
            return credit
    paths = {function["path"] for function in key["places"].values()}
    return _FILE_CREDIT if any(_same_path(name[0], path) for name in names for path in paths) else Fraction(0)


def _context(key: Key, answers: list[str]) -> Fraction:
    """F1 of the named functions; those that might be right (`open`) do not count."""
    claimed = [_resolve(name, key["places"]) for name in _distinct_names(answers, int(key["most"]))]
    hits = len({function for function in claimed if function in key["expected"]})
    wrong = sum(1 for function in claimed if function is None)
    total = 2 * hits + wrong + len(key["expected"]) - hits
    return Fraction(2 * hits, total)


def _choice(key: Key, answers: list[str]) -> Fraction:
    """Balanced accuracy over the listed tests; no answer says that none fails."""
    chosen = {test for text in answers for test in [_listed(text, key["listed"])] if test}
    failing = set(key["failing"])
    passing = set(key["listed"]) - failing
    return (Fraction(len(chosen & failing), len(failing)) + Fraction(len(passing - chosen), len(passing))) / 2


def _outputs(key: Key, values: list[object]) -> Fraction:
    """Share of the calls whose output stands in its place, as the same JSON; 2 is not 2.0."""
    expected = list(key["outputs"].values())
    written = [_json(value) for value in values[: len(expected)]]
    return Fraction(sum(map(str.__eq__, written, expected)), len(expected))


def _listed_under(field: str, answer: object) -> list[object]:
    values = answer.get(field) if isinstance(answer, dict) else None
    return values if isinstance(values, list) else []


def _json(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return ""


def _completeness(key: Key, answers: list[str]) -> Fraction:
    """Share of the functions on every path that are named."""
    chain = _chain(key, answers)
    return Fraction(len(set(key["required"]) & set(chain)), len(key["required"]))


def _accuracy(key: Key, answers: list[str]) -> Fraction:
    """Share of certain calls among the claimed ones, without those that nobody can decide."""
    chain = _chain(key, answers)
    if len(chain) < 2 or [chain[0], chain[-1]] != key["ends"]:  # noqa: PLR2004 a call has two ends
        return Fraction(0)
    claims = list(itertools.pairwise(chain))
    certain = sum(1 for caller, callee in claims if callee in key["certain"].get(caller, ()))
    undecided = sum(1 for caller, callee in claims if callee in key["undecided"].get(caller, ()))
    return Fraction(certain, len(claims) - undecided) if certain else Fraction(0)


def _chain(key: Key, answers: list[str]) -> list[str]:
    """Return the ids of the named functions; "" stands for what is none of them."""
    return [_resolve(name, key["places"]) or "" for name in _distinct_names(answers, int(key["most"]))]


_RULES: Final[dict[str, tuple[str, Callable[[Key, list[str]], Fraction]]]] = {
    "locate": ("locate", _locate),
    "explain": ("explain", _choice),
    "context": ("context", _context),
    "completeness": ("chain", _completeness),
    "accuracy": ("chain", _accuracy),
    "fails": ("fails", _choice),
}


def _distinct_names(answers: Iterable[str], most: int) -> list[tuple[str, str]]:
    """Return the first distinct functions that are named."""
    return list(dict.fromkeys(split_place(text) for text in answers))[:most]


@functools.lru_cache(maxsize=10_000)  # guessing levels grade the same names many times
def split_place(text: str) -> tuple[str, str]:
    """Return path and qualified name of a function in any usual form; the path is "" if there is none.

    `./a.py::C.f`, `a.py::C::f`, `a.py:12:f`, `a.py#C.f()` and `/repository/a.py:C.f` name the same function.
    """
    plain = re.sub(r"[`'\"]", "", text).strip().replace("\\", "/")
    match = _SOURCE.fullmatch(plain)
    path, name = (match["path"], match["name"]) if match else ("", plain)
    return _plain_path(path), _plain_name(_LINES.sub("", name))


def _plain_path(path: str) -> str:
    return posixpath.normpath(path.removeprefix("file://")) if path else ""


def _plain_name(name: str) -> str:
    name = _RECEIVER.sub(r"\1", name).strip(" \t\n:#.>-/")
    name = _KEYWORDS.sub("", name).partition("(")[0].replace("<locals>", "").replace(".prototype.", ".")
    return ".".join(part for part in re.split(r"::|->|[.#:/]", re.sub(r"[)*\s`]", "", name)) if part)


def _same_path(path: str, expected: str) -> bool:
    return path == expected or path.endswith(f"/{expected}")


def _means(name: tuple[str, str], function: Mapping[str, Any]) -> bool:
    """Return True if a split name denotes the function: its names within the file, and those in the code base."""
    path, qualified = name
    if path:
        return qualified in function["names"] and _same_path(path, function["path"])
    module = posixpath.splitext(function["path"])[0].replace("/", ".")
    dotted = f".{module}.{function['names'][0]}"
    is_longer = qualified.count(".") > function["names"][0].count(".")
    return qualified in function["bare"] or (is_longer and dotted.endswith(f".{qualified}"))


def _resolve(name: tuple[str, str], places: Mapping[str, Mapping[str, Any]]) -> str | None:
    return next((function for function, names in places.items() if _means(name, names)), None)


def _listed(text: str, tests: list[str]) -> str | None:
    """Return the only listed test that a text means: its id, or an end of it."""
    plain = text.strip().strip("`'\"").strip().removeprefix("./")
    if text in tests or plain in tests:
        return text if text in tests else plain
    ends = [
        test for test in tests if plain and (test.endswith((f"/{plain}", f"::{plain}")) or plain.endswith(f"/{test}"))
    ]
    return ends[0] if len(ends) == 1 else None


def read_answer(path: Path) -> object:
    """Return the content of the file of answers.

    Raises:
        AnswerError: it is missing, is no regular file, too large, or no JSON.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise AnswerError(f"{path.name} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise AnswerError(f"{path.name} is no regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise AnswerError(f"{path.name} is larger than {MOST_BYTES} bytes")
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"{path.name} is no JSON in UTF-8: {str(error)[:200]}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number of JSON")


def main(arguments: list[str]) -> int:
    """Print a reason and the score of a part."""
    (part,) = arguments
    key = json.loads(Path(__file__).with_name("key.json").read_text(encoding="utf-8"))[part]
    try:
        answer = read_answer(Path(ANSWER_FILE))
        listed = _listed_under(part, answer) if part == _OUTPUTS else _texts(answer, _RULES[part][0])
        reason = f"answered: {listed!a}"
    except AnswerError as error:
        answer, reason = None, ascii(str(error))
    score = grade(part, key, answer)
    sys.stdout.write(f"{reason[:500]}\n{score.numerator}/{score.denominator}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
