"""`/scylla evaluate|compare EXPERIMENT [--only GLOB]... [--repetitions N] [SHA]`, as somebody typed it in a comment.

`evaluate` takes the configuration as it is in the pull request; `compare` holds the variants that it changes against
what they were, all else as it is where the pull request branched off.

Only what is on the list gets through: words of safe characters, which later stand in environment variables and never
in a shell's or a workflow's own text.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.errors import RefusedError

USAGE: Final = "/scylla evaluate|compare EXPERIMENT [--only GLOB]... [--repetitions N] [SHA]"
_ADDRESS: Final = "/scylla"
COMPARE: Final = "compare"
_VERBS: Final = ("evaluate", COMPARE)
_EXPERIMENT: Final = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_GLOB: Final = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9._*?\[\]-]*")
_SHA: Final = re.compile(r"[0-9a-f]{7,40}")
_REPETITIONS: Final = re.compile(r"[1-9][0-9]{0,3}")
_MOST_LINE: Final = 1000
_MOST_WORD: Final = 200
_MOST_GLOBS: Final = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be evaluated. `sha` is what was typed, perhaps shortened; empty: the head as it is."""

    verb: str
    experiment: str
    only: tuple[str, ...] = ()
    repetitions: str = ""
    sha: str = ""


def addressed(body: str) -> bool:
    """Whether a comment speaks to us: its first line begins with `/scylla`, and a blank or nothing after it."""
    return body.split("\n", 1)[0].rstrip().split(" ", 1)[0].rstrip() == _ADDRESS


def parse(body: str) -> Order:
    """The order in a comment's first line; what follows is for people.

    Raises:
        RefusedError: it is none; the message can be posted as it is, for it quotes safe characters only.
    """
    line = body.split("\n", 1)[0].strip()
    if len(line) > _MOST_LINE or not line.isascii() or not line.isprintable():
        raise RefusedError("the first line is too long, or holds other characters than plain ASCII")
    try:
        words = shlex.split(line)[1:]
    except ValueError:
        raise RefusedError("a quotation mark is missing") from None
    if not words or words[0] not in _VERBS:
        raise RefusedError("the only commands are `evaluate` and `compare`")
    options, plain = _sorted(words[1:])
    return _order(words[0], options, plain)


def _sorted(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Options with their values, and the other words."""
    options, plain, rest = [], [], iter(words)
    for word in rest:
        if not word.startswith("-"):
            plain.append(word)
            continue
        name, sign, value = word.partition("=")
        if name not in {"--only", "--repetitions"}:
            raise RefusedError("the only options are `--only` and `--repetitions`")
        options.append((name, value if sign else _next(rest, name)))
    return options, plain


def _next(rest: Iterator[str], name: str) -> str:
    value = next(rest, None)
    if value is None:
        raise RefusedError(f"`{name}` has no value")
    return value


def _order(verb: str, options: Sequence[tuple[str, str]], plain: Sequence[str]) -> Order:
    if not 1 <= len(plain) <= 2:  # noqa: PLR2004 the experiment, and perhaps a commit
        raise RefusedError("name one experiment, and after it one commit at most")
    globs = tuple(value for name, value in options if name == "--only")
    counts = [value for name, value in options if name == "--repetitions"]
    if len(globs) > _MOST_GLOBS or len(counts) > 1:
        raise RefusedError(f"`--repetitions` may stand once, and `--only` {_MOST_GLOBS} times")
    _all_fit(_EXPERIMENT, plain[:1], "the experiment is named as its file, in small letters, digits, `.`, `_` and `-`")
    _all_fit(_GLOB, globs, "a glob of `--only` is of letters, digits and `. _ - * ? [ ]`")
    _all_fit(_REPETITIONS, counts, "`--repetitions` is a number from 1 to 9999")
    _all_fit(_SHA, plain[1:], "a commit is 7 to 40 of the digits 0-9 and a-f")
    return Order(verb, plain[0], globs, next(iter(counts), ""), next(iter(plain[1:]), ""))


def _all_fit(pattern: re.Pattern[str], values: Sequence[str], rule: str) -> None:
    for value in values:
        if len(value) > _MOST_WORD or not pattern.fullmatch(value):
            raise RefusedError(rule)
