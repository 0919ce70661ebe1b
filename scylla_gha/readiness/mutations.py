"""Mutants: functions with one plausible fault, for the tasks that show or repair one.

A mutant is a change of a few lines, so that several of them, in different functions, fit into one copy of the code.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.mining.mutation_rules import MUTATION_RULES, RESULT_LOST, TEXT_CHANGED, MutationRule
from scylla_gha.readiness.source_code import Function, Language, LineSpan, SourceFile
from scylla_gha.readiness.syntax import file_is_whole, lines_of, protected_spans, syntax_is_whole

GUARD_REMOVED: Final = "guard-removed"
_NEGATED: Final = "condition-negated"
_LOOP: Final = re.compile(rb"\s*(while|for)\b")
_STEPS: Final = {"added-turned", "taken-away-turned"}  # in a `while` loop they may never end
_IF: Final = re.compile(r"(\} else )?if\b")
_CONDITIONS: Final[dict[Language, re.Pattern[bytes]]] = {
    "python": re.compile(rb"(?<=\bif )(?P<condition>[^#]+)(?=:\s*$)"),
    "javascript": re.compile(rb"(?<=\bif \()(?P<condition>.+)(?=\) *(\{|return\b.*|throw\b.*)?$)"),
    "typescript": re.compile(rb"(?<=\bif \()(?P<condition>.+)(?=\) *(\{|return\b.*|throw\b.*)?$)"),
    "go": re.compile(rb"(?:(?<=\bif )|(?<=; ))(?P<condition>[^;]+)(?= \{$)"),
}
_NEGATION: Final[dict[Language, bytes]] = {
    "python": b"not (%s)",
    "javascript": b"!(%s)",
    "typescript": b"!(%s)",
    "go": b"!(%s)",
}
_ERROR_LOST: Final = "error-lost"
# The last result, if it is an error
_RETURNED_ERROR: Final = re.compile(
    rb"(?<=\breturn )(?P<before>.*, )?(?:err|(?:\w+\.)?Err[A-Z]\w*|(?:fmt\.Errorf|errors\.\w+)\(.*\))$"
)
# Go has no value that every result type accepts
_NO_RESULT: Final[dict[Language, bytes]] = {
    "python": b"return None", "javascript": b"return undefined", "typescript": b"return undefined",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """Function with one fault.

    Attributes:
        path: file of the function.
        function: id of the function.
        name: kind of fault ("equal-turned", "guard-removed").
        span: lines of the file that the fault replaces.
        before: text of those lines, with line breaks.
        after: new text of those lines; "" if they are removed.
    """

    path: str
    function: str
    name: str
    span: LineSpan
    before: str
    after: str


def mutants(file: SourceFile, function: Function, seed: int) -> Iterator[Mutant]:
    """Yield the function with one line changed, in an order that only the seed and the function's text decide.

    Every mutant parses, but it may behave as the original does.
    """
    if file_is_whole(file.text, file.language, file.path):
        order = sorted(_changed_lines(file, function), key=lambda mutant: _hash(mutant, function, seed))
        yield from (mutant for mutant in order if parses_with(file, function, mutant))


def guard_removals(file: SourceFile, function: Function, seed: int) -> Iterator[Mutant]:
    """Yield the function without each of its guards, in an order as of `mutants`."""
    if file_is_whole(file.text, file.language, file.path):
        lines = lines_of(file.text)
        removed = [
            Mutant(file.path, function.id, GUARD_REMOVED, guard.span, _text(lines, guard.span), "")
            for guard in function.guards
            if _stands_alone(_text(lines, guard.span), file.language)
        ]
        order = sorted(removed, key=lambda mutant: _hash(mutant, function, seed))
        yield from (mutant for mutant in order if parses_with(file, function, mutant))


def with_mutants(text: str, faults: Iterable[Mutant]) -> str:
    """Return a file's text with the faults of mutants that share no line."""
    lines = lines_of(text)
    for fault in sorted(faults, key=lambda mutant: -mutant.span.first):
        lines[fault.span.first - 1 : fault.span.last] = [fault.after]
    return "".join(lines)


def replaced(file: SourceFile, function: str, name: str, span: LineSpan, after: str) -> Mutant:
    """Return a mutant whose lines `span` are replaced by any text."""
    return Mutant(file.path, function, name, span, _text(lines_of(file.text), span), after)


def _text(lines: list[str], span: LineSpan) -> str:
    return "".join(lines[span.first - 1 : span.last])


def _stands_alone(text: str, language: Language) -> bool:
    """Return True if lines hold one `if` and nothing before or behind it."""
    if not text.lstrip().startswith("if") or not _IF.match(text.lstrip()):
        return False
    return language == "python" or text.rstrip().endswith(("}", ";", ")"))


def _hash(mutant: Mutant, function: Function, seed: int) -> str:
    line = mutant.span.first - function.span.first
    fields = (seed, function.id, mutant.name, line, mutant.before, mutant.after)
    return hashlib.sha256("\0".join(map(str, fields)).encode()).hexdigest()


def parses_with(file: SourceFile, function: Function, mutant: Mutant) -> bool:
    """Return True if a file parses with a mutant of one of its functions; Python parses the function alone again."""
    if file.language != "python":
        return syntax_is_whole(with_mutants(file.text, [mutant]), file.language, file.path)
    lines, span = lines_of(file.text), function.span
    above, below = lines[span.first - 1 : mutant.span.first - 1], lines[mutant.span.last : span.last]
    text = "".join((*above, mutant.after, *below))
    block = f"if True:\n{text}" if text[:1] in " \t" else text
    return file_is_whole(file.text, "python", file.path) and syntax_is_whole(block, "python", file.path)


def _changed_lines(file: SourceFile, function: Function) -> Iterator[Mutant]:
    """Yield a mutant per rule and match in the lines of the body; some may not parse."""
    protected = protected_spans(file.text, file.language, file.path, function.body)
    rules, at = _rules(file.language, _text(lines_of(file.text), function.body)), 0
    for number, line in enumerate(lines_of(file.text), 1):
        raw = line.encode()
        if number in function.body and not _LOOP.match(raw):
            for name, start, end, new in _replacements(raw.rstrip(b"\r\n"), rules):
                ahead = at + (start + 1 if name == _ERROR_LOST else end)  # its expression may hold a string
                if not any(first < ahead and at + start < last for first, last in protected):
                    after = raw[:start] + new + raw[end:]
                    yield Mutant(file.path, function.id, name, LineSpan(number, number), line, after.decode())
        at += len(raw)


def _rules(language: Language, body: str) -> list[MutationRule]:
    dropped = {RESULT_LOST, TEXT_CHANGED} | (_STEPS if re.search(r"\bwhile\b", body) else set())
    rules = [rule for rule in MUTATION_RULES if rule.name not in dropped]
    template = _NEGATION[language]
    rules.append(MutationRule(_NEGATED, _CONDITIONS[language], lambda match: template % match["condition"].strip()))
    if language == "go":
        rules.append(MutationRule(_ERROR_LOST, _RETURNED_ERROR, lambda match: (match["before"] or b"") + b"nil"))
    lost = _NO_RESULT.get(language)
    if lost:
        pattern = re.compile(rb"\breturn [^;{\s][^;]*?(?=;?$)")
        rules.append(MutationRule(RESULT_LOST, pattern, lambda _: lost))
    return rules


def _replacements(line: bytes, rules: Iterable[MutationRule]) -> Iterator[tuple[str, int, int, bytes]]:
    for rule in rules:
        for match in rule.pattern.finditer(line):
            yield rule.name, match.start(), match.end(), rule.replace(match)
