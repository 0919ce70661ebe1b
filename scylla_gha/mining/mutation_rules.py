"""Rules that turn a line of code into a plausible wrong one, for any language.

They match text, not syntax: the caller must skip strings and comments, and discard results that do not parse.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class MutationRule:
    """Rule that makes one kind of plausible mistake.

    Attributes:
        name: kind of mistake, such as `equal-turned`.
        pattern: finds what is replaced, in a line without its line break.
        replace: gives the new text of a match.
    """

    name: str
    pattern: re.Pattern[bytes]
    replace: Callable[[re.Match[bytes]], bytes]


def _rule(name: str, pattern: bytes, replacement: bytes) -> MutationRule:
    return MutationRule(name, re.compile(pattern), lambda _: replacement)


def _truth(match: re.Match[bytes]) -> bytes:
    opposite = {b"true": b"false", b"True": b"False", b"false": b"true", b"False": b"True"}
    return opposite[match[0]]


def _next_number(match: re.Match[bytes]) -> bytes:
    return str(int(match[0]) + 1).encode()


RESULT_LOST: Final = "result-lost"
TEXT_CHANGED: Final = "text-changed"
# Callers try them in this order
MUTATION_RULES: Final = (
    _rule("equal-turned", rb" == ", b" != "),
    _rule("same-turned", rb" === ", b" !== "),
    _rule("unequal-turned", rb" !==? ", b" == "),
    _rule("less-turned", rb" < ", b" >= "),
    _rule("more-turned", rb" > ", b" <= "),
    _rule("up-to-turned", rb" <= ", b" < "),
    _rule("from-turned", rb" >= ", b" > "),
    _rule("and-turned", rb" and ", b" or "),
    _rule("or-turned", rb" or ", b" and "),
    _rule("both-turned", rb" && ", b" || "),
    _rule("either-turned", rb" \|\| ", b" && "),
    _rule("not-lost", rb"\bnot (?!in\b)", b""),
    _rule("denial-lost", rb"!(?=[A-Za-z_(])", b""),
    _rule("plus-turned", rb" \+ ", b" - "),
    _rule("minus-turned", rb" - ", b" + "),
    _rule("times-turned", rb" \* ", b" + "),
    _rule("quotient-turned", rb" //? ", b" * "),
    _rule("added-turned", rb" \+= ", b" -= "),
    _rule("taken-away-turned", rb" -= ", b" += "),
    MutationRule("true-turned", re.compile(rb"\b[Tt]rue\b"), _truth),
    MutationRule("false-turned", re.compile(rb"\b[Ff]alse\b"), _truth),
    MutationRule("number-changed", re.compile(rb"(?<![\w.\"'])[0-9]{1,9}(?![\w.\"'])"), _next_number),
    _rule(RESULT_LOST, rb"\breturn [^;{\s][^;{]*?(?=;?$)", b"return 0"),
    _rule(TEXT_CHANGED, rb"(?<=[\"'])(?=[A-Za-z ])", b"x"),
)
