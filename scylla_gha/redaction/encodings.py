"""A secret as it may stand in a text: itself, in a URL, in JSON, in hex, in base64 or base32 within a longer text.

Not covered, since no search can be: a secret that was compressed, encrypted, reversed, cut into pieces with other
text between them, or dumped with spaces between its bytes.
"""

import base64
import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

_ANCHOR: Final = 12  # bytes; found by chance about once in 10^18
_LINE_END: Final = rb"(?:(?:\\{1,8}[rn]|[\r\n]){1,4}[+ ]?)?"  # also as JSON writes it, and with a diff's sign
_SLACK: Final = 48  # bytes that line ends may take up before an anchor
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


_BASE32: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_LOWER32: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz234567")


@dataclass(frozen=True)
class SecretEncoding:
    """One way to write a secret.

    `wraps`: tools break it into lines. `open_left`, `open_right`: the neighbouring character has some of its bits, one
    of the `signs`. `offsets`: where its anchors begin, if not at its beginning and after it.
    """

    text: bytes
    wraps: bool = False
    open_left: bool = False
    open_right: bool = False
    signs: frozenset[int] = _BASE64
    offsets: tuple[int, ...] = ()

    @property
    def anchors(self) -> list[tuple[bytes, int]]:
        """What to look for, and where in the text it stands; of two, a single line end leaves one whole."""
        if self.offsets:
            return [(self.text[at : at + _ANCHOR], at) for at in self.offsets]
        if not self.wraps:
            return [(self.text[:_ANCHOR], 0)]
        size = min(_ANCHOR, len(self.text) // 2)
        return [(self.text[:size], 0), (self.text[size : 2 * size], size)]

    @property
    def reach(self) -> int:
        """How many bytes it may take up, line ends included."""
        return 2 * len(self.text) + _SLACK

    def find(self, data: bytes, at: int, offset: int) -> tuple[int, int] | None:
        """From and to of this spelling, of which the anchor that belongs at `offset` stands at `at`."""
        if not self.wraps:
            return (at, at + len(self.text)) if data.startswith(self.text, at) else None
        if offset == 0:
            found = self._wrapped.match(data, at, at + self.reach)
        else:
            places = self._wrapped.finditer(data, max(0, at - offset - _SLACK), at + self.reach)
            found = next((each for each in places if each.start() <= at < each.end()), None)
        return self._whole(data, *found.span()) if found else None

    @functools.cached_property
    def _wrapped(self) -> re.Pattern[bytes]:
        return re.compile(_LINE_END.join(re.escape(bytes([byte])) for byte in self.text))

    def _whole(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        if self.open_left and start and data[start - 1] in self.signs:
            start -= 1
        if self.open_right and end < len(data) and data[end] in self.signs:
            end += 1
        while self.open_right and data.startswith(b"=", end):
            end += 1
        return start, end


def secret_encodings(secret: str) -> list[SecretEncoding]:
    """All ways to write it, each once."""
    raw = secret.encode(errors="surrogateescape")  # an environment may hold bytes that are no text
    found = [*_plain(secret, raw), *_base64(raw), *_base32(raw), *_hex(raw)]
    return list({spelling.text: spelling for spelling in reversed(found)}.values())


def _plain(secret: str, raw: bytes) -> Iterator[SecretEncoding]:
    """As it is, in a URL, and in JSON strings of up to three levels."""
    texts = [secret, quote(raw, safe=""), quote(raw), quote_plus(raw)]
    texts += [_lower_hex(text) for text in texts[1:]]
    texts += ["".join(f"%{byte:{case}}" for byte in raw) for case in ("02X", "02x")]
    for is_ascii in (True, False):
        text = secret
        for _ in range(3):
            text = json.dumps(text, ensure_ascii=is_ascii)[1:-1]
            texts += [text, text.replace("/", "\\/")]
    yield from (SecretEncoding(text.encode(errors="surrogateescape")) for text in texts)


def _lower_hex(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text)


def _base64(secret: bytes) -> Iterator[SecretEncoding]:
    """The characters that the secret alone decides, for each of the three places where it may begin."""
    encoders: tuple[Callable[[bytes], bytes], ...] = (base64.b64encode, base64.urlsafe_b64encode)
    for before in range(3):
        start, end = (8 * before + 5) // 6, 8 * (before + len(secret)) // 6
        is_open = bool((before + len(secret)) % 3)
        for encode in encoders:
            text = encode(b"\0" * before + secret)[start:end]
            for written in (text, text.replace(b"/", b"\\/"), quote(text, safe="").encode()):
                yield SecretEncoding(written, wraps=True, open_left=before > 0, open_right=is_open)


def _base32(secret: bytes) -> Iterator[SecretEncoding]:
    """The same for base32, in five places. In lower case, which no tool writes, lines are found but by chance."""
    for before in range(5):
        start, end = (8 * before + 4) // 5, 8 * (before + len(secret)) // 5
        text = base64.b32encode(b"\0" * before + secret)[start:end]
        half = len(text) // 2
        halves = ((0, half), (half, len(text))) if half >= _ANCHOR else ((0, len(text)),)
        around = {"wraps": True, "open_left": before > 0, "open_right": bool((before + len(secret)) % 5)}
        yield SecretEncoding(text, signs=_BASE32, offsets=tuple(_rare(text, *each) for each in halves), **around)
        yield SecretEncoding(text.lower(), signs=_LOWER32, offsets=(_rare(text, 0, len(text)),), **around)


def _rare(text: bytes, start: int, end: int) -> int:
    """Where the anchor begins that is told from words the soonest: by the digits at its front."""
    return max(range(start, end - _ANCHOR + 1), key=lambda at: (_digits(text[at : at + 3]), _digits(text[at : at + 6])))


def _digits(text: bytes) -> int:
    return sum(sign in b"234567" for sign in text)


def _hex(secret: bytes) -> Iterator[SecretEncoding]:
    yield from (SecretEncoding(text.encode(), wraps=True) for text in (secret.hex(), secret.hex().upper()))
