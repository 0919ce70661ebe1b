"""The ways in which a text may contain a secret: as it is, in a URL, JSON, hex, base64 or base32, also as a part.

Not covered, since no search can cover it: a secret that was compressed, encrypted, reversed, cut into pieces with other
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

_ANCHOR: Final = 12  # bytes; a match by chance has a probability of about 10^-18
_LINE_END: Final = rb"(?:(?:\\{1,8}[rn]|[\r\n]){1,4}[+ ]?)?"  # also as JSON writes it, and with a diff's sign
_SLACK: Final = 48  # bytes that line ends may take up before an anchor
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_BASE32: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_BASE32_LOWER: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz234567")
_DIGITS: Final = b"234567"  # of base32
_HEX: Final = re.compile(rb"[0-9A-Fa-f]{1,4}")
_UNICODE_ESCAPE: Final = 6  # bytes of `\u00e9`
_MAX_BACKSLASHES: Final = 128  # of a run that are counted


@dataclass(frozen=True)
class SecretEncoding:
    """One way to write a secret.

    Attributes:
        text: the written secret.
        wraps: tools break it into lines.
        open_left: the character before it has some bits of the secret.
        open_right: the character behind it has some bits of the secret.
        alphabet: of such characters.
        offsets: of its anchors, if not at its beginning and after the first.
    """

    text: bytes
    wraps: bool = False
    open_left: bool = False
    open_right: bool = False
    alphabet: frozenset[int] = _BASE64
    offsets: tuple[int, ...] = ()

    @property
    def anchors(self) -> list[tuple[bytes, int]]:
        """Literals to search for, with their offsets; a single line end leaves one of two whole."""
        if self.offsets:
            return [(self.text[at : at + _ANCHOR], at) for at in self.offsets]
        if not self.wraps:
            return [(self.text[:_ANCHOR], 0)]
        size = min(_ANCHOR, len(self.text) // 2)
        return [(self.text[:size], 0), (self.text[size : 2 * size], size)]

    @property
    def reach(self) -> int:
        """Bytes that it may take up, line ends included."""
        return 2 * len(self.text) + _SLACK

    def find(self, data: bytes, at: int, offset: int) -> tuple[int, int] | None:
        """Return start and end of the secret if its anchor with this offset stands at `at`; else None."""
        if not self.wraps:
            return (at, at + len(self.text)) if data.startswith(self.text, at) else None
        if offset == 0:
            match = self._wrapped.match(data, at, at + self.reach)
        else:
            matches = self._wrapped.finditer(data, max(0, at - offset - _SLACK), at + self.reach)
            match = next((match for match in matches if match.start() <= at < match.end()), None)
        return self._with_neighbours(data, *match.span()) if match else None

    @functools.cached_property
    def _wrapped(self) -> re.Pattern[bytes]:
        return re.compile(_LINE_END.join(re.escape(bytes([byte])) for byte in self.text))

    def _with_neighbours(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        if self.open_left and start and data[start - 1] in self.alphabet:
            start -= 1
        if self.open_right and end < len(data) and data[end] in self.alphabet:
            end += 1
        while self.open_right and data.startswith(b"=", end):
            end += 1
        return start, end


def secret_encodings(secret: str) -> list[SecretEncoding]:
    """Return all ways to write a secret, each once."""
    raw = secret.encode(errors="surrogateescape")  # an environment may hold bytes that are not text
    encodings = [*_plain(secret, raw), *_base64(raw), *_base32(raw)]
    encodings += [SecretEncoding(text.encode(), wraps=True) for text in (raw.hex(), raw.hex().upper())]
    return list({encoding.text: encoding for encoding in reversed(encodings)}.values())


def _plain(secret: str, raw: bytes) -> Iterator[SecretEncoding]:
    """Yield the secret as it is, in a URL, and in JSON strings of up to three levels."""
    texts = [secret, quote(raw, safe=""), quote(raw), quote_plus(raw)]
    texts += [re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in texts[1:]]
    texts += ["".join(f"%{byte:{case}}" for byte in raw) for case in ("02X", "02x")]
    for is_ascii in (True, False):
        text = secret
        for _ in range(3):
            text = json.dumps(text, ensure_ascii=is_ascii)[1:-1]
            texts += [text, text.replace("/", "\\/")]
    yield from (SecretEncoding(text.encode(errors="surrogateescape")) for text in texts)


def _base64(secret: bytes) -> Iterator[SecretEncoding]:
    """Yield the characters that depend on the secret alone, for each of three positions at which it may begin."""
    encoders: tuple[Callable[[bytes], bytes], ...] = (base64.b64encode, base64.urlsafe_b64encode)
    for before in range(3):
        start, end = (8 * before + 5) // 6, 8 * (before + len(secret)) // 6
        is_open = bool((before + len(secret)) % 3)
        for encode in encoders:
            text = encode(b"\0" * before + secret)[start:end]
            for written in (text, text.replace(b"/", b"\\/"), quote(text, safe="").encode()):
                yield SecretEncoding(written, wraps=True, open_left=before > 0, open_right=is_open)


def _base32(secret: bytes) -> Iterator[SecretEncoding]:
    """Yield the same for base32, at five positions; lower case, which no tool writes, has one anchor only."""
    for before in range(5):
        start, end = (8 * before + 4) // 5, 8 * (before + len(secret)) // 5
        text = base64.b32encode(b"\0" * before + secret)[start:end]
        half = len(text) // 2
        halves = ((0, half), (half, len(text))) if half >= _ANCHOR else ((0, len(text)),)
        around = {"wraps": True, "open_left": before > 0, "open_right": bool((before + len(secret)) % 5)}
        offsets = tuple(_rarest_anchor(text, *part) for part in halves)
        yield SecretEncoding(text, alphabet=_BASE32, offsets=offsets, **around)
        lower_offsets = (_rarest_anchor(text, 0, len(text)),)
        yield SecretEncoding(text.lower(), alphabet=_BASE32_LOWER, offsets=lower_offsets, **around)


def _rarest_anchor(text: bytes, start: int, end: int) -> int:
    """Return the offset of the anchor that differs from words the soonest: by digits at its front."""

    def digits(at: int) -> tuple[int, int]:
        return sum(byte in _DIGITS for byte in text[at : at + 3]), sum(byte in _DIGITS for byte in text[at : at + 6])

    return max(range(start, end - _ANCHOR + 1), key=digits)


def end_of_escape(data: bytes, at: int) -> int:
    """Return `at`, or the end of the escape of a JSON string that `at` is inside of."""
    if _is_escaped(data, at):
        return at + _escape_length(data, at)
    begin = data.rfind(b"\\u", max(0, at - _UNICODE_ESCAPE + 1), at)
    if begin >= 0 and _is_escaped(data, begin + 1) and _escape_length(data, begin + 1) == _UNICODE_ESCAPE - 1:
        return max(at, begin + _UNICODE_ESCAPE)
    return at


def _escape_length(data: bytes, at: int) -> int:
    """Return the length of an escape without its backslash."""
    digits = _HEX.match(data, at + 1, at + _UNICODE_ESCAPE - 1) if data[at : at + 1] == b"u" else None
    return _UNICODE_ESCAPE - 1 if digits and len(digits[0]) == _UNICODE_ESCAPE - 2 else min(1, len(data) - at)


def _is_escaped(data: bytes, at: int) -> bool:
    """Return whether an odd number of backslashes stands right before."""
    before = data[max(0, at - _MAX_BACKSLASHES) : at]
    return bool((len(before) - len(before.rstrip(b"\\"))) % 2)
