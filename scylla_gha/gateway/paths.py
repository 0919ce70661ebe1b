"""Folders that differ from run to run, as fixed names in recordings, and back; and secrets, which do not come back.

The names are put in on text, JSON in JSON and event streams included: a folder's spelling inside JSON strings of one
and two levels is looked for as well.
"""

import json
from collections.abc import Mapping

from scylla_gha.redaction.redactor import Redactor


class Names:
    """The replacements of one lane. The longest folder goes first, so that one inside another keeps its own name."""

    def __init__(self, paths: Mapping[str, str], redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        spelt = {path: name for path, name in paths.items() if path and name}
        self._hidden = sorted(
            ((spelling.encode(), name.encode()) for path, name in spelt.items() for spelling in _spellings(path)),
            key=lambda pair: -len(pair[0]),
        )
        self._shown = sorted(
            ((name.encode(), _quoted(path).encode()) for path, name in spelt.items()),  # they stand in JSON strings
            key=lambda pair: -len(pair[0]),
        )

    def hide(self, text: bytes) -> bytes:
        """Names instead of this run's folders, and no secrets: so a replay, which has none, asks the same."""
        text, _ = self._redactor.redact_bytes(text)
        for path, name in self._hidden:
            text = text.replace(path, name)
        return text

    def show(self, text: bytes) -> bytes:
        """This run's folders instead of names; the inverse of `hide` on JSON and event streams."""
        for name, path in self._shown:
            text = text.replace(name, path)
        return text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where folders and secrets stand in a text, as from and to, in order."""
        found = self._redactor.spans(text)
        for path, _ in self._hidden:
            folder, at = path.decode(), 0
            while (at := text.find(folder, at)) >= 0:
                if not any(start <= at < end for start, end in found):
                    found.append((at, at + len(folder)))
                at += len(folder)
        return sorted(found)


def _spellings(path: str) -> list[str]:
    """A folder as itself and as JSON writes it in strings of one and two levels; most are the same in all of them."""
    once = json.dumps(path, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([path, once, _quoted(path), _quoted(_quoted(path))]))


def _quoted(text: str) -> str:
    return json.dumps(text)[1:-1]
