"""Intents from docstrings: the first sentence says what a function is for, and is removed from the copy."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from scylla_gha.readiness.history_intents import Intent
from scylla_gha.readiness.intent_wording import intent_of_docstring
from scylla_gha.readiness.source_code import CodeIndex, Function, SourceFile
from scylla_gha.readiness.syntax import lines_of, syntax_is_whole

_QUOTES: Final = ('"""', "'''", '"', "'", 'r"""', 'R"""', "r'''", 'u"""')
_COMMENTS: Final = ("/*", "*", "//")


def documented_intents(index: CodeIndex) -> Iterator[Intent]:
    """Yield the intents of documented functions, tests left out; a sentence of several functions is none.

    A docstring may still share a line with code, so that it cannot be removed.
    """
    functions = [
        function
        for file in index.files.values()
        if not file.is_test
        for function in file.functions
        if function.docstring and function.statements and "#" not in function.id
    ]
    sentences = {
        function.id: intent_of_docstring(function.docstring or "", function.name.split(".")) for function in functions
    }
    counts = Counter(sentence.casefold() for sentence in sentences.values() if sentence)
    for function in functions:
        sentence = sentences[function.id]
        is_unique = sentence and counts[sentence.casefold()] == 1 and f"{function.id}#2" not in index.functions
        if sentence and is_unique:
            yield Intent(sentence, (function.id,), None)


def without_docstring(file: SourceFile, function: Function) -> str | None:
    """Return the file's text without the function's documentation; None if it shares a line with code."""
    span = function.documented
    if span is None:
        return None
    lines = lines_of(file.text)
    own = [line.strip() for line in lines[span.first - 1 : span.last]]
    starts = _QUOTES if file.language == "python" else _COMMENTS
    ends = ('"', "'") if file.language == "python" else ("*/", "")
    if not own or not own[0].startswith(starts) or not own[-1].endswith(ends):
        return None
    text = "".join((*lines[: span.first - 1], *lines[span.last :]))
    return text if syntax_is_whole(text, file.language, file.path) else None
