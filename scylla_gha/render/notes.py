"""Warnings as numbered notes: what is said of several arms in the same words is said once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.render.page import Page

_NAMED: Final = 3  # arms that a note names before it counts the others


@dataclass(frozen=True, slots=True)
class Note:
    """One warning, and the arms that it is of; none: it is of the whole."""

    number: int
    arms: tuple[str, ...]
    text: str


def notes(page: Page) -> list[Note]:
    """What is said of the whole first."""
    names = {arm.arm for arm in page.report.arms}
    found: dict[str, list[str]] = {}
    general: list[str] = []
    for warning in page.report.warnings:
        arm, colon, text = warning.partition(": ")
        if colon and arm in names:
            found.setdefault(text, []).append(arm)
        else:
            general.append(warning)
    texts: list[tuple[str, list[str]]] = [(text, []) for text in dict.fromkeys(general)]
    return [Note(at, tuple(arms), text) for at, (text, arms) in enumerate([*texts, *found.items()], 1)]


def told(page: Page, note: Note) -> str:
    """The note in one line."""
    if not note.arms:
        return note.text
    if len(note.arms) > 1 and len(note.arms) == len(page.report.arms):
        return f"all arms: {note.text}"
    named = ", ".join(page.name(arm) for arm in note.arms[:_NAMED])
    others = len(note.arms) - _NAMED
    return f"{named}{f' and {others:,} more' if others > 0 else ''}: {note.text}"


def marks(found: Sequence[Note]) -> dict[str, str]:
    """The numbers of the notes that are of an arm, but not of all arms alike."""
    numbers: dict[str, list[str]] = {}
    for note in found:
        for arm in note.arms:
            numbers.setdefault(arm, []).append(str(note.number))
    return {arm: ", ".join(each) for arm, each in numbers.items()}
