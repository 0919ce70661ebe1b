"""Patterns of a code base: rules that nearly all functions beside one another keep, mined from their code."""

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from scylla_gha.readiness.graders.pattern_rules import CodeFacts, facts_in, facts_of, holds
from scylla_gha.readiness.source_code import CodeIndex, Function
from scylla_gha.readiness.syntax import lines_of

LEAST_SIBLINGS: Final = 5
_SHARE: Final = 0.9
_MOST_NAMES: Final = 3  # error types of a rule
# Rules about the line of a signature and above, which an agent that writes a body does not touch
OF_SIGNATURE: Final = frozenset({"decorator", "annotations", "docstring"})

Rule = dict[str, Any]  # as `pattern_rules.holds` reads it


def mined_rules(index: CodeIndex, function: Function, left_out: Collection[str] = ()) -> list[Rule]:
    """Return the rules that the siblings of a function keep, and the function too.

    Siblings are the methods of its class, or else the functions of its folder that are no tests.

    Args:
        index: the code base.
        function: one of its functions.
        left_out: kinds of rules that do not count.
    """
    file = index.files[function.path]
    own = facts_in(file.text, function.language, function.name)
    siblings = [facts for sibling in _siblings(index, function) if (facts := _facts(index, sibling))]
    if own is None or len(siblings) < LEAST_SIBLINGS:
        return []
    return [rule for rule in _rules(siblings, own) if rule["kind"] not in left_out and holds(rule, own)]


def _siblings(index: CodeIndex, function: Function) -> list[Function]:
    others = [
        other for other in _by_folder(index, _folder(function.path))
        if other.language == function.language and other.id != function.id
    ]  # fmt: skip
    owner = function.name.rpartition(".")[0]
    methods = [other for other in others if owner and other.path == function.path
               and other.name.rpartition(".")[0] == owner]  # fmt: skip
    return methods if len(methods) >= LEAST_SIBLINGS else others


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _by_folder(index: CodeIndex, folder: str) -> Iterator[Function]:
    for file in index.files.values():
        if not file.is_test and _folder(file.path) == folder:
            yield from file.functions


def _facts(index: CodeIndex, function: Function) -> CodeFacts | None:
    lines = lines_of(index.files[function.path].text)
    return _facts_of("".join(lines[function.span.first - 1 : function.span.last]), function.language)


@functools.lru_cache(maxsize=20_000)
def _facts_of(text: str, language: str) -> CodeFacts | None:
    return facts_of(re.sub(r"\r\n?", "\n", text), language)


def _rules(siblings: Sequence[CodeFacts], own: CodeFacts) -> Iterator[Rule]:
    yield from _raises(siblings, own)
    if len(own.loggers) == 1:
        yield from _mostly(
            [facts for facts in siblings if facts.loggers], {"kind": "logger", "name": next(iter(own.loggers))}
        )
    for name in sorted(own.decorators):
        yield from _mostly(siblings, {"kind": "decorator", "name": name})
    for case in ("snake", "camel"):
        rule = {"kind": "naming", "case": case}
        telling = [
            facts for facts in siblings if any("_" in name.strip("_") or name.lower() != name for name in facts.names)
        ]
        if own.names:
            yield from _mostly(telling, rule)
    for kind in ("annotations", "docstring", "imports"):
        yield from _mostly(siblings, {"kind": kind})


def _mostly(siblings: Sequence[CodeFacts], rule: Rule) -> Iterator[Rule]:
    keeping = sum(holds(rule, facts) for facts in siblings)
    if len(siblings) >= LEAST_SIBLINGS and keeping >= _SHARE * len(siblings):
        yield rule


def _raises(siblings: Sequence[CodeFacts], own: CodeFacts) -> Iterator[Rule]:
    """Yield the rule with the fewest error types, the most frequent first, that nearly all keep, and the function."""
    raising = [facts for facts in siblings if facts.raised]
    counts = Counter(name for facts in raising for name in facts.raised)
    order = sorted(counts, key=lambda name: (-counts[name], name))
    for most in range(1, _MOST_NAMES + 1):
        rule = {"kind": "raises", "names": sorted(order[:most])}
        if holds(rule, own) and any(_mostly(raising, rule)):
            yield rule
            return
