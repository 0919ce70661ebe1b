"""Collects differences and prints the first few."""

from collections.abc import Iterable

from sandbox import Call

SHOWN = 8


def commands(calls: Iterable[Call]) -> list[str]:
    """Calls as text."""
    return [" ".join(call.args) for call in calls]


class Report:
    def __init__(self) -> None:
        self.done = 0
        self.problems: list[str] = []

    def equal(self, what: str, expected: object, found: object) -> None:
        """Note a difference."""
        self.done += 1
        if expected != found:
            self.problems.append(f"{what}: expected {shorten(expected)}, found {shorten(found)}")

    def fault(self) -> str:
        """What is wrong; empty if nothing is."""
        if not self.problems:
            return ""
        return f"{len(self.problems)} of {self.done} wrong: {'; '.join(self.problems[:SHOWN])}"


def shorten(value: object) -> str:
    """Representation of at most 200 characters."""
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
