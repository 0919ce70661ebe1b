"""Fixed aliases in recordings for folders that differ between runs; secrets are redacted for good.

Replacement works on text, including JSON in JSON and event streams: a folder's spelling inside JSON strings of one and
two levels is replaced as well.
"""

import json
from collections.abc import Mapping

from scylla_gha.redaction.redactor import Redactor


class PathAliases:
    """The replacements of one session, longest folder first, so that a folder inside another keeps its own alias."""

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
        """Replace folders by aliases and redact secrets, so that a replay sends equal requests."""
        text, _ = self._redactor.redact_bytes(text)
        for path, name in self._hidden:
            text = text.replace(path, name)
        return text

    def show(self, text: bytes) -> bytes:
        """Replace aliases by this run's folders: the inverse of `hide` on JSON and event streams."""
        for name, path in self._shown:
            text = text.replace(name, path)
        return text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans (from, to) of folders and secrets in a text, in order."""
        spans = self._redactor.spans(text)
        for path, _ in self._hidden:
            folder, at = path.decode(), 0
            while (at := text.find(folder, at)) >= 0:
                if not any(start <= at < end for start, end in spans):
                    spans.append((at, at + len(folder)))
                at += len(folder)
        return sorted(spans)


def _spellings(path: str) -> list[str]:
    """Return a folder as it is and as JSON writes it in strings of one and two levels, without duplicates."""
    once = json.dumps(path, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([path, once, _quoted(path), _quoted(_quoted(path))]))


def _quoted(text: str) -> str:
    return json.dumps(text)[1:-1]
