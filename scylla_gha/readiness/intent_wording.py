"""Wording of intents: a sentence that says what code is for, without names of the code."""

import re
from collections.abc import Iterable
from typing import Final

MASK: Final = "…"
_MOST_CHARACTERS: Final = 240
_MOST_READ: Final = 500  # of a sentence: the time of the expressions below grows by its square
_LEAST_CONTENT_WORDS: Final = 3
# "fix(scope)!: ", "scope: ", "[scope] ", "ABC-123: "
_PREFIX: Final = re.compile(r"^\s*(?:\[[^\]]{1,40}\]:?\s*|[\w./*-]{1,40}(?:\([^)]{0,40}\))?!?:\s+)+")
_GITMOJI: Final = re.compile(r"^\s*(?::\w+:\s*)+")
_ISSUE: Final = re.compile(
    r"\(?(?:\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|issue|gh|pr)[ :-]*)?#\d+(?:\s*(?:,|and)\s*#\d+)*\)?",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"``?[^`]+``?|:\w+:`[^`]*`"  # in backticks
    r"|[\w.]*\w\([^()\s]*\)"  # a call
    r"|\b\w*[^\W_]_\w*|\b_+\w+|\b\w+_\b"  # with an underscore
    r"|\b\w*[a-z0-9][A-Z]\w*\b"  # with inner capitals
    r"|@\w[\w.]*|\$\w+|(?<![\w-])--?[a-z][\w-]+"  # decorator, variable, option
    r"|\b(?!(?:e\.g|i\.e)\b)[A-Za-z]\w*(?:(?:\.|::|#|->)[A-Za-z]\w*)+\b"  # with dots
    r"|\b[\w.-]+(?:/[\w.-]+)*\.(?:py|pyi|[cm]?[jt]sx?|go|md|rst|toml|ya?ml|json|cfg|txt|html|css)\b"
)
_MASKS: Final = re.compile(rf"{MASK}(?:[\s,/'\"]*(?:and|or)?[\s,/'\"]*{MASK})+")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_EMPTY_WORDS: Final = """
    the and for with from into that this these those when then than not are was were has have had its our your all any
    can could may might must should will would does did but also only more most some such via per out off over under
    about after before again like just now new old use uses used using make makes made making get gets set sets
    add adds added adding remove removes removed removing change changes changed changing update updates updated
    fix fixes fixed fixing bug bugs issue issues improve improves improved better refactor refactors refactored
    refactoring cleanup clean tidy simplify rename renamed move moved merge merged bump release version revert wip
    test tests testing doc docs docstring docstrings documentation changelog readme lint linter typo typos format
    formatting style minor misc review feedback comment comments code function functions method methods class classes
    type types typing hint hints annotation annotations mypy ruff flake black prettier eslint work working stuff
    things little small initial commit first try please let instead
"""
_NO_INTENT: Final = re.compile(
    r"\s*(?:(?:revert|merge|bump|release|version|wip|tests?|docs?|format|lint)\b|(?:chore|style|ci|build)(?:\(.*?\))?!?:"
    r"|(?:fixup|squash|amend)!|v?\d+\.)",
    re.IGNORECASE,
)


def intent_of_subject(subject: str, names: Iterable[str]) -> str | None:
    """Return what a commit's subject says without prefix, issue and names of code; None: too little is left.

    Args:
        subject: first line of the message.
        names: further names to mask: those of the functions that the commit changed.
    """
    if len(subject) > _MOST_READ or _NO_INTENT.match(subject):
        return None
    plain = _PREFIX.sub("", _GITMOJI.sub("", subject), count=1)
    return _masked(_ISSUE.sub(" ", plain), names)


def intent_of_docstring(text: str, names: Iterable[str]) -> str | None:
    """Return a docstring's first sentence without names of code; None: too little is left."""
    paragraph = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0]
    sentence = re.split(r"(?<=[.!?])\s(?![a-z0-9])", " ".join(paragraph.split()), maxsplit=1)[0]
    if len(sentence) > _MOST_READ or sentence.startswith((":", "@", ">>>", "..")):
        return None
    return _masked(sentence, names)


def content_words(text: str) -> list[str]:
    """Return the words that say something about what code does."""
    empty = set(_EMPTY_WORDS.split())
    return [word for word in _WORD.findall(text) if word.casefold() not in empty]


def _masked(sentence: str, names: Iterable[str]) -> str | None:
    text = _CODE.sub(MASK, "".join(character for character in sentence if character.isprintable()))
    for name in sorted({name for name in names if name}, key=lambda name: (-len(name), name)):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", MASK, text)
    text = _MASKS.sub(MASK, " ".join(text.split()))
    text = text.strip(" \t-:;,.").strip()
    enough = len(set(map(str.casefold, content_words(text)))) >= _LEAST_CONTENT_WORDS
    return text if enough and len(text) <= _MOST_CHARACTERS else None
