"""Deterministic agent that answers questions by words alone: BM25 over functions, and calls by their names.

It stands in for a model where a score's validity is tested without a key: it reads the prompt and the start state, no
key and no candidates. Its score must fall as names and documentation are taken away.
"""

import ast
import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from scylla_gha.model.readiness import ChangedText, ReadinessItem
from scylla_gha.readiness.anchors import function_text
from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.source_code import CodeIndex, Function
from scylla_gha.readiness.syntax import lines_of, syntax_tree

_K1: Final = 1.2
_B: Final = 0.75
_NAME_WEIGHT: Final = 4  # times that the words of a name count
_LOCATED: Final = 3
_MOST_CALLERS: Final = 5
_MOST_CHAIN: Final = 8
_LEAST_STEM: Final = 4
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_QUOTED: Final = re.compile(r"^> ?(.*)$", re.MULTILINE)
_LISTED: Final = re.compile(r"^[-*] `([^`]+)`$", re.MULTILINE)
_CALLS: Final = re.compile(r"^    call \d+: (\(.*\))$", re.MULTILINE)
_RETURNED: Final = re.compile(r"^ *return (.+)$", re.MULTILINE)
_TICKED: Final = re.compile(r"`([^`\s]+)`")
_ENDINGS: Final = ("ations", "ation", "ingly", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e")
_STOP_WORDS: Final = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "has", "have", "if", "in",
    "into", "is", "it", "its", "no", "not", "of", "on", "or", "so", "that", "the", "their", "then", "this",
    "to", "was", "were", "when", "which", "with", "without",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Document:
    """Words of a function's name, path and text."""

    name: str
    path: str
    words: Counter[str]
    length: int


class LexicalAgent:
    """Answers from words of functions' texts, names and paths; tests are left out."""

    def __init__(self, index: CodeIndex) -> None:
        self._functions = [function for function in index.functions.values() if not index.files[function.path].is_test]
        self.index = index
        self._documents = [self._document(function, index.files[function.path].text) for function in self._functions]
        count = len(self._documents)
        self._length = sum(document.length for document in self._documents) / max(1, count)
        frequency = Counter(word for document in self._documents for word in document.words)
        self._weight = {word: math.log(1 + (count - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}

    def answer(self, item: ReadinessItem) -> dict[str, list[Any]]:
        """Return the content of ANSWER.json for an item's prompt."""
        mentioned = self._mentioned(item.prompt)
        answers: dict[str, list[Any]] = {}
        for part in item.parts:
            if part.id == "locate":
                query = " ".join(_QUOTED.findall(item.prompt)) or item.prompt
                answers["locate"] = self.locate(query, changes=item.start)
            elif part.id in {"explain", "fails"}:
                answers[part.id] = self._failing(_LISTED.findall(item.prompt), mentioned[:1])
            elif part.id == "outputs":
                answers["outputs"] = self._outputs(_CALLS.findall(item.prompt), mentioned[:1])
            elif part.id == "context" and mentioned:
                answers["context"] = self._callers(mentioned[-1])
            elif part.id in {"completeness", "accuracy"} and len(mentioned) > 1:
                answers["chain"] = self._chain(mentioned[0], mentioned[-1])
        return answers

    def locate(self, text: str, most: int = _LOCATED, changes: Iterable[ChangedText] = ()) -> list[str]:
        """Return the ids of the functions that match a text best, by BM25.

        Args:
            text: what is looked for.
            most: how many functions.
            changes: of the start state against the index: files that are read anew.
        """
        query = set(words_in(text))
        new = {change.path: change.text for change in changes}
        documents = [document for document in self._documents if document.path not in new]
        documents += [document for path, code in new.items() if code for document in self._read(path, code)]
        scores = [(-self._score(query, document), document.name) for document in documents]
        return [name for score, name in sorted(scores)[:most] if score < 0]

    def _read(self, path: str, code: str) -> list[_Document]:
        """Return the functions of a changed file; those of tests are left out."""
        parser = parser_of(path)
        if parser is None or path not in self.index.files or self.index.files[path].is_test:
            return []
        file = parser.parse(path, code, syntax_tree(code, parser.language, path).root_node, is_test=False)
        return [self._document(function, code) for function in file.functions]

    def _score(self, query: set[str], document: _Document) -> float:
        norm = _K1 * (1 - _B + _B * document.length / max(1.0, self._length))
        words = document.words
        shared = sorted(word for word in query if word in words)
        return sum(self._weight.get(word, 0.0) * words[word] * (_K1 + 1) / (words[word] + norm) for word in shared)

    def _document(self, function: Function, code: str) -> _Document:
        names = words_in(function.name) * _NAME_WEIGHT + words_in(function.path) * 2
        lines = lines_of(code)[function.span.first - 1 : function.span.last]
        words = Counter(names + words_in("".join(lines)))
        return _Document(function.id, function.path, words, words.total())

    def _mentioned(self, prompt: str) -> list[Function]:
        """Return the functions that the prompt names in backticks, in its order, with the path if it is beside them."""
        ticked = [(match.start(), match[1]) for match in _TICKED.finditer(prompt)]
        paths = [(at, text) for at, text in ticked if text in self.index.files]
        functions = []
        for at, text in ticked:
            near = sorted(paths, key=lambda pair: abs(pair[0] - at))
            choices = [self.index.functions.get(text)]
            choices += [self.index.functions.get(f"{path}::{text}") for _, path in near[:1]]
            functions += [function for function in choices if function is not None][:1]
        return list(dict.fromkeys(functions))

    @cached_property
    def _calling(self) -> Mapping[str, list[Function]]:
        """Functions by the last part of each name that they call."""
        calling: dict[str, dict[str, Function]] = defaultdict(dict)
        for function in self._functions:
            for call in function.calls:
                calling[call.name.rpartition(".")[2]][function.id] = function
        return {name: list(callers.values()) for name, callers in calling.items()}

    def _callers(self, function: Function) -> list[str]:
        callers = [caller for caller in self._calling.get(function.short_name, []) if caller.id != function.id]
        near = sorted(callers, key=lambda caller: (caller.path != function.path, caller.id))
        return [caller.id for caller in near[:_MOST_CALLERS]]

    def _chain(self, first: Function, last: Function) -> list[str]:
        """Return a shortest path of calls by name; the two ends alone if there is none."""
        pending, before = deque([first]), {first.id: ""}
        while pending and last.id not in before:
            function = pending.popleft()
            for callee in self._called(function):
                if callee.id not in before:
                    before[callee.id] = function.id
                    pending.append(callee)
        if last.id not in before:
            return [first.id, last.id]
        chain = [last.id]
        while before[chain[-1]]:
            chain.append(before[chain[-1]])
        return chain[::-1][:_MOST_CHAIN]

    def _called(self, function: Function) -> Iterator[Function]:
        for name in dict.fromkeys(call.name.rpartition(".")[2] for call in function.calls):
            yield from self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> Mapping[str, list[Function]]:
        by_name: dict[str, list[Function]] = defaultdict(list)
        for function in self._functions:
            by_name[function.short_name].append(function)
        return by_name

    def _outputs(self, calls: Sequence[str], mentioned: Iterable[Function]) -> list[object]:
        """Return for each call the literal that the function returns first in its text, or else the first argument."""
        for function in mentioned:
            for text in _RETURNED.findall(function_text(self.index, function)):
                with suppress(ValueError, SyntaxError, TypeError):
                    return [ast.literal_eval(text)] * len(calls)
        return [_first_argument(call) for call in calls]

    def _failing(self, listed: Sequence[str], mentioned: Iterable[Function]) -> list[str]:
        """Return the half of the listed tests that share most words with the function, or that call it by name."""
        functions = list(mentioned)
        words = {word for function in functions for word in words_in(function.name)}
        names = {function.short_name for function in functions}

        def overlap(test: str) -> tuple[int, str]:
            text = self._test_text(test)
            calls = sum(1 for name in names if re.search(rf"\b{re.escape(name)}\b", text))
            shared = words & {*words_in(test), *words_in(text)}
            return (-10 * calls - len(shared), test)

        return sorted(listed, key=overlap)[: len(listed) // 2]

    def _test_text(self, test: str) -> str:
        path, _, name = test.partition("::")
        bare = name.partition("[")[0].replace("::", ".")
        function = self.index.functions.get(f"{path}::{bare}")
        if function is not None:
            return function_text(self.index, function)
        file = self.index.files.get(path)
        return file.text if file else ""


def _first_argument(call: str) -> object:
    try:
        arguments = ast.literal_eval(call)
    except (ValueError, SyntaxError):
        return None
    return arguments[0] if isinstance(arguments, tuple) and arguments else arguments


def words_in(text: str) -> list[str]:
    """Return the words of a text or name in lower case, without endings; words that say nothing are left out."""
    return [_stem(word) for part in _PART.findall(text) if (word := part.lower()) not in _STOP_WORDS]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word[: -len(ending)]
    return word
