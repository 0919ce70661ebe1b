"""Known answers in the form that the grader of questions reads, and the file that answers them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from scylla_gha.model.readiness import ANSWER_FILE, ChangedText
from scylla_gha.readiness.anchors import hash_of
from scylla_gha.readiness.source_code import CodeIndex, Function

GRADER: Final = Path(__file__).with_name("graders") / "answers.py"
CONSTRUCTORS: Final = ("__init__", "constructor")  # an answer may name the class
_MOST_CANDIDATES: Final = 200
Key = dict[str, object]


class PlaceNames:
    """Names by which answers may call the functions of a code base."""

    def __init__(self, index: CodeIndex, seed: int = 0) -> None:
        self._functions = index.functions
        names = (function for file in index.files.values() if not file.is_test for function in file.functions)
        self._drawn = [function.id for function in sorted(names, key=lambda function: hash_of(function, seed))]
        self._in_files: Counter[tuple[str, str]] = Counter()
        self._everywhere: Counter[str] = Counter()
        for function in index.functions.values():
            for name in _usual_names(function):
                self._in_files[function.path, name] += 1
                self._everywhere[name] += 1

    def key(self, ids: Iterable[str]) -> dict[str, Key]:
        """Return path and names of each function: `names` are clear within its file, `bare` in the code base."""
        return {name: self._names(self._functions[name]) for name in sorted(set(ids))}

    def candidates(self, right: Iterable[str]) -> tuple[str, ...]:
        """Return functions that a guesser may choose from: the right ones and others, drawn by their hashes."""
        needed = set(right)
        others = (name for name in self._drawn if name not in needed and "#" not in name)
        return tuple(sorted({*needed, *islice(others, _MOST_CANDIDATES - len(needed))}))

    def _names(self, function: Function) -> Key:
        endings = _usual_names(function)
        names = [name for name in endings if self._in_files[function.path, name] == 1]
        bare = [name for name in endings if self._everywhere[name] == 1]
        return {"path": function.path, "names": names or endings[:1], "bare": bare}


def _usual_names(function: Function) -> list[str]:
    """Return a function's qualified name and its ends; a constructor has those of its class too."""
    owner, _, last = function.name.rpartition(".")
    return _endings(function.name) + (_endings(owner) if owner and last in CONSTRUCTORS else [])


def _endings(name: str) -> list[str]:
    """Return a qualified name and its ends, the longest first."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]


def answer_text(answers: Mapping[str, Iterable[object]]) -> ChangedText:
    """Return the file of answers with these lists."""
    content = {field: list(texts) for field, texts in answers.items()}
    return ChangedText(path=ANSWER_FILE, text=json.dumps(content, indent=2, ensure_ascii=False) + "\n")
