"""Find calls of a skill in a prompt, and remove them for an arm without the skill."""

import re
from collections.abc import Collection
from typing import Final

SLASH_CALL: Final = re.compile(r"/([a-z0-9][\w:-]*)(?=\s|$)", re.IGNORECASE)
_VERBS: Final = r"(?:us(?:e|ing)|with|via|through|by|run(?:ning)?|invok(?:e|ing)|appl(?:y|ying)|follow(?:ing)?|load)"
_QUOTE: Final = r"[`'\"*]*"


def calls(prompt: str, name: str) -> bool:
    """Return True if a prompt calls a skill, or writes "skill" beside its name."""
    word = re.escape(name)
    call = rf"(?<!\w)\${word}(?![\w-])|(?<!\w)/{word}(?![\w/.-])"
    words = rf"\b{word}[`'\"*]* skill\b|\bskill [`'\"*]*{word}\b"
    return bool(re.search(f"{call}|{words}", prompt, re.IGNORECASE)) or ("-" in name and name in prompt)


def slash_call(prompt: str) -> str:
    """Return the name that a prompt begins with, as `/name`; empty if it begins otherwise."""
    found = SLASH_CALL.match(prompt.strip())
    return found[1] if found else ""


def without_calls(prompt: str, names: Collection[str]) -> str | None:
    """Return a prompt without the calls of a skill; empty if nothing remains, None if they cannot be removed."""
    text = prompt
    for name in sorted(names, key=len, reverse=True):
        word = rf"{_QUOTE}[/$]?{re.escape(name)}{_QUOTE}"
        called = rf"(?:{word}\s+skill\b|\bskill\s+{word})"
        phrase = rf"(?:\bplease\s+)?\b{_VERBS}\s+(?:the\s+|my\s+|our\s+)?{called}(?:\s+(?:to|and)\b)?\s*[,:.]?\s*"
        text = re.sub(phrase, "", text, flags=re.IGNORECASE)
        text = re.sub(rf"(?:\bthe\s+)?{called}\s*", "", text, flags=re.IGNORECASE)
        text = re.sub(rf"(?<![\w/])[/$]{re.escape(name)}(?![\w/.-])[ \t]*[,:]?[ \t]*", "", text, flags=re.IGNORECASE)
    if any(calls(text, name) for name in names):
        return None
    return text.strip() if re.search(r"\w", text) else ""
