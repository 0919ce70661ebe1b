"""The order in which a judge is shown files, so that a thousand new files hide none that matters.

An agent chooses the names of new files, but neither those that task, checks and rubric name nor those of the start
state.
"""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pathspec

from scylla_gha.model.rubric import Rubric
from scylla_gha.model.scenario import Scenario

_WORD: Final = re.compile(r"[\w.@+~-][\w.@+~/-]*")


@dataclass(frozen=True, slots=True)
class Named:
    """The files that a scenario names: by words that may be paths, and by patterns of what may be changed."""

    words: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()

    def rank(self, path: str, is_new: bool) -> int:
        """Return the rank of a file: named files come first, then those of the start state, then those like a name."""
        if path in self.words:
            return 0
        if not is_new:
            return 1
        return 2 if path.rpartition("/")[2] in self.words or self._allows(path) else 3

    def _allows(self, path: str) -> bool:
        return bool(self.patterns) and _spec(self.patterns).match_file(path)


NOTHING: Final = Named()


@functools.lru_cache(maxsize=64)
def _spec(patterns: tuple[str, ...]) -> pathspec.GitIgnoreSpec:
    return pathspec.GitIgnoreSpec.from_lines(patterns)


def named_by(task: str, scenario: Scenario, rubric: Rubric, checks: Iterable[str] = ()) -> Named:
    """The files that a scenario names.

    Args:
        task: the prompt.
        scenario: with its checkpoints.
        rubric: with its items.
        checks: the texts of the hidden checks.
    """
    points = scenario.checkpoints
    texts = [task, *(item.text for item in rubric.items), *checks]
    texts += [text for point in points for text in (point.what, point.run, point.file) if text]
    words = (word.rstrip(".,:;").removeprefix("./") for text in texts for word in _WORD.findall(text))
    only = tuple(dict.fromkeys(glob for point in points if point.changes for glob in point.changes.only))
    return Named(frozenset(words), only)
