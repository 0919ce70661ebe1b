"""Which events start a workflow."""

import re
from typing import Any


def pattern(text: str) -> re.Pattern[str]:
    """A filter pattern as a regular expression: * ** ? + [] as in workflows."""
    parts: list[str] = []
    place = 0
    while place < len(text):
        char = text[place]
        if text.startswith("**/", place):
            parts.append("(?:.*/)?")
            place += 3
        elif text.startswith("**", place):
            parts.append(".*")
            place += 2
        elif char == "[" and "]" in text[place:]:
            end = text.index("]", place)
            parts.append(text[place : end + 1])
            place = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "?", "+": "+"}.get(char) or re.escape(text[place + (char == "\\")]))
            place += 1 + (char == "\\")
    return re.compile("".join(parts))


def listed(patterns: Any, name: str) -> bool:
    """Whether the last pattern that matches takes the name."""
    taken = False
    for entry in patterns if isinstance(patterns, list) else [patterns]:
        negative = str(entry).startswith("!")
        if pattern(str(entry).removeprefix("!")).fullmatch(name):
            taken = not negative
    return taken


def triggers(workflow: dict[Any, Any]) -> dict[str, dict[str, Any]]:
    """The `on` part in its long form."""
    entry = workflow.get("on", workflow.get(True))
    if isinstance(entry, str):
        return {entry: {}}
    if isinstance(entry, list):
        return {str(name): {} for name in entry}
    return {str(name): value if isinstance(value, dict) else {} for name, value in (entry or {}).items()}


def starts(workflow: dict[Any, Any], event: str, ref: str, files: list[str]) -> bool:
    """Whether an event on refs/heads/... or refs/tags/... with these changed files starts the workflow."""
    found = triggers(workflow)
    if event not in found:
        return False
    rules = found[event]
    kind, name = ("tags", ref[10:]) if ref.startswith("refs/tags/") else ("branches", ref[11:])
    if event == "push":
        both = {key.split("-")[0] for key in rules} & {"branches", "tags"}
        if both and kind not in both:
            return False
    if kind in rules and not listed(rules[kind], name):
        return False
    if f"{kind}-ignore" in rules and listed(rules[f"{kind}-ignore"], name):
        return False
    if kind == "branches" and files:
        if "paths" in rules and not any(listed(rules["paths"], path) for path in files):
            return False
        if "paths-ignore" in rules and all(listed(rules["paths-ignore"], path) for path in files):
            return False
    return True
