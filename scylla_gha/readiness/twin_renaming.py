"""New names for a share of a Python code base's names, and their replacement in code."""

import ast
import hashlib
import io
import itertools
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scylla_gha.readiness.twin_names import WORD, exported_strings

_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
_LETTERS: Final = 6
_QUOTE: Final = re.compile(r"['\"]")
_BRACES: Final = re.compile(r"(\{\{|\}\}|\{|\})")


def chosen_names(names: Iterable[str], dose: float, seed: int, used_words: Iterable[str] = ()) -> dict[str, str]:
    """Choose a share of the names, and give each a new one; a larger dose has the names of a smaller one too.

    Args:
        names: the candidates.
        dose: share from 0 to 1.
        seed: seed of the order and of the new names.
        used_words: further words that are no new names.
    """
    ordered = sorted(names, key=lambda name: _hash(seed, "order", name))
    replaced: dict[str, str] = {}
    used = {*ordered, *used_words}
    for name in ordered[: round(dose * len(ordered))]:
        turn = 0
        while (new := _new_name(name, f"{seed}:{turn}")) in used:
            turn += 1
        used.add(new)
        replaced[name] = new
    return replaced


def _new_name(name: str, salt: str) -> str:
    """Return a word without meaning that keeps leading signs (`_`, `$`, `#`) and the case of the first letter."""
    bare = name.lstrip("_$#")
    number = int(_hash(salt, name), 16)
    letters = "".join(_CONSONANTS[number // len(_CONSONANTS) ** at % len(_CONSONANTS)] for at in range(_LETTERS))
    if bare[:1].isupper():
        letters = letters.upper() if bare.isupper() and len(bare) > 1 else letters.capitalize()
    return name[: len(name) - len(bare)] + letters


def _hash(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def rename(text: str, names: Mapping[str, str]) -> str:
    """Replace names in Python code: in identifiers, in the expressions of f-strings, and in `__all__`.

    Code that cannot be read is returned as it is.
    """
    if names.keys().isdisjoint(WORD.findall(text)):
        return text
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        tree = ast.parse(text)
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return text
    exports = exported_strings(ast.walk(tree)) if "__all__" in text else ()
    exported = {(node.lineno, node.col_offset) for node in exports}
    lines = io.StringIO(text).readlines()
    starts = [0, *itertools.accumulate(map(len, lines))]
    parts, position = [], 0
    for token in tokens:
        new = _renamed_token(token, names, exported)
        if new != token.string:
            start = starts[token.start[0] - 1] + token.start[1]
            parts += [text[position:start], new]
            position = start + len(token.string)
    return "".join([*parts, text[position:]])


def _renamed_token(token: tokenize.TokenInfo, names: Mapping[str, str], exported: set[tuple[int, int]]) -> str:
    if token.type == tokenize.NAME:
        return names.get(token.string, token.string)
    if token.type != tokenize.STRING:
        return token.string
    row, column = token.start
    if (row, len(token.line[:column].encode())) in exported:
        return _renamed_words(token.string, names)
    prefix = _QUOTE.split(token.string, maxsplit=1)[0]
    return "".join(_renamed_fields(token.string, names)) if "f" in prefix.lower() else token.string


def _renamed_words(text: str, names: Mapping[str, str]) -> str:
    return WORD.sub(lambda match: names.get(match[0], match[0]), text)


def _renamed_fields(text: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield an f-string in parts, with names between the braces replaced; `{{` and `}}` are no braces."""
    depth = 0
    for part in _BRACES.split(text):
        if part == "{" or (part == "{{" and depth):
            depth += len(part)
        elif part == "}" or (part == "}}" and depth):
            depth -= len(part)
        yield _renamed_words(part, names) if depth > 0 else part
