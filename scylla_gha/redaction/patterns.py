"""Definition of secrets: given values in all encodings in which a text may contain them, and tokens of known forms.

Tokens have the forms that their providers document (2026-11). A pattern is matched only at one of its anchors, so a
file without anchors is read at the speed of a literal search. Patterns match only characters of tokens, so no match
goes beyond the end of a JSON string.

A secret is not found if it was compressed, encrypted, reversed, cut into pieces with other text between them, or
written with spaces between its bytes.
"""

import base64
import functools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

MARK: Final = "[redacted]"  # replaces a secret
_MIN_CHARACTERS: Final = 8
_MIN_DIFFERENT: Final = 4
_MIN_PASSPHRASE: Final = 20  # characters; shorter texts of words are ordinary words such as `production`
_MIN_LINE: Final = 16  # characters from which a line of a longer secret is itself a secret
_WORDS: Final = re.compile(r"[a-z]+(?:[ ._/:-]+[a-z]+)*", re.IGNORECASE)
# Ends of words in a variable's name: API_KEY, PGPASSWORD, GITHUB_TOKEN; not MAX_TOKENS, KEYRING.
_SECRET_NAMES: Final = re.compile(
    r"(?:KEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CREDENTIALS|PAT)(?:_|$)", re.IGNORECASE
)
_ANCHOR: Final = 12  # bytes; an accidental match has a probability of about 10^-18
_LINE_END: Final = rb"(?:(?:\\{1,8}[rn]|[\r\n]){1,4}[+ ]?)?"  # also escaped as in JSON, and with a diff's sign
_SLACK: Final = 48  # bytes of line ends that may stand before an anchor
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_BASE32: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_BASE32_LOWER: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz234567")
_DIGITS: Final = b"234567"  # of base32
_HEX: Final = re.compile(rb"[0-9A-Fa-f]{1,4}")
_UNICODE_ESCAPE: Final = 6  # bytes of `\u00e9`
_MAX_BACKSLASHES: Final = 128  # that are counted in a row


def unsearchable_reason(value: str) -> str | None:
    """Return why a value cannot be searched for; None if it can."""
    if len(value.encode(errors="surrogateescape")) < _MIN_CHARACTERS:
        return f"shorter than {_MIN_CHARACTERS} characters"
    if value in MARK:
        return "a part of the text that replaces secrets"
    if len(set(value)) < _MIN_DIFFERENT:
        return f"made of fewer than {_MIN_DIFFERENT} different characters"
    if len(value) < _MIN_PASSPHRASE and _WORDS.fullmatch(value):
        return "a plain word"
    return None


def secret_parts(secret: str) -> Iterator[str]:
    """Yield a secret, and each of its long lines, since a diff writes a sign before every line."""
    yield secret
    lines = secret.split("\n")
    if len(lines) > 1:  # the first and the last line are the same in all keys
        long_lines = (line for line in lines if len(line) >= _MIN_LINE and not line.startswith("-----"))
        yield from (line for line in long_lines if not unsearchable_reason(line))


def secrets_in(environment: Mapping[str, str], names: Collection[str] = ()) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values of variables that have a secret's name or one of `names`.

    The first result has the values that can be searched for, the second the reasons why other values cannot.
    """
    values = {
        name: value.strip()
        for name, value in environment.items()
        if (name in names or _SECRET_NAMES.search(name)) and value.strip()
    }
    reasons = {name: reason for name, value in values.items() if (reason := unsearchable_reason(value))}
    return {name: value for name, value in values.items() if name not in reasons}, reasons


REACH: Final = 32 * 1024  # bytes from an anchor on that are matched; no kind of key is longer

# No word character precedes a token, unless it ends an escape sequence of JSON, a URL or a terminal.
_START: Final = (
    rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})"
    rb"|(?<=\[m)|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)
_END: Final = rb"(?![A-Za-z0-9_])"


@dataclass(frozen=True, slots=True)
class TokenPattern:
    """A kind of token, which begins `back` bytes before its anchor. If its pattern has a group, that is the secret."""

    name: str
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    back: int = 0

    def find(self, data: bytes, at: int) -> tuple[int, int] | None:
        """Return start and end of the secret whose anchor is at `at`; None if it is not a token."""
        match = self.pattern.match(data, at - self.back, at + REACH) if at >= self.back else None
        return match.span(match.lastindex or 0) if match else None


def _kind(name: str, anchors: str, rest: bytes, *, apart: bool = True, ends: bool = False) -> TokenPattern:
    """Return a kind of token: an anchor and `rest`; `apart` and `ends` forbid a word character before and after it."""
    texts = tuple(anchor.encode() for anchor in anchors.split())
    choice = b"(?:%s)" % b"|".join(re.escape(text) for text in texts)
    pattern = (_START if apart else b"") + choice + rest + (_END if ends else b"")
    return TokenPattern(name, texts, re.compile(pattern))


_SECRET_KEY: Final = rb"""\W{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"""
_JWT: Final = rb"[A-Za-z0-9_-]{4,4000}+\.[A-Za-z0-9_-]{8,16000}+\.[A-Za-z0-9_-]{8,2000}+"
# Lines of base64, headers such as `Proc-Type: 4,ENCRYPTED`, and line ends that JSON escapes at any depth.
_PEM: Final = (
    rb" (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[A-Za-z0-9+/=,:. \t\r\n]|\\{1,8}[nrt]|-(?!----)){16,20000}+"
    rb"(?:-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)?"
)

TOKEN_PATTERNS: Final = (
    _kind("Anthropic", "sk-ant-", rb"[A-Za-z0-9_-]{20,400}"),
    _kind("OpenAI", "sk-proj- sk-svcacct- sk-admin-", rb"[A-Za-z0-9_-]{40,400}"),
    TokenPattern("OpenAI, older", (b"T3BlbkFJ",), re.compile(rb"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"), back=23),
    _kind("OpenRouter", "sk-or-v1-", rb"[0-9a-f]{64}"),
    _kind("GitHub", "ghp_ gho_ ghu_ ghr_", rb"[A-Za-z0-9]{36,255}"),
    # Since 2026 of the form `ghs_APPID_JWT`, with about 520 characters.
    _kind("GitHub installation", "ghs_", rb"(?:(?!ghs_)[A-Za-z0-9_.-]){36,4000}"),
    _kind("GitHub fine-grained", "github_pat_", rb"[A-Za-z0-9_]{40,255}", apart=False),
    _kind("GitLab", "glpat- gldt- glrt- glcbt- glptt- gloas-", rb"[A-Za-z0-9_-]{20,300}(?:\.[0-9a-z]{9})?"),
    _kind("AWS key id", "AKIA ASIA ABIA ACCA", rb"[A-Z0-9]{16}(?![+/=])", ends=True),
    _kind("AWS secret", "ecret_access_key ecretAccessKey ECRET_ACCESS_KEY", _SECRET_KEY, apart=False),
    _kind("AWS Bedrock", "ABSK", rb"[A-Za-z0-9+/]{109,269}={0,2}"),
    _kind("Azure storage", "AccountKey=", rb"([A-Za-z0-9+/]{86}==)"),
    _kind("Google", "AIza", rb"[A-Za-z0-9_-]{35}(?![+/=-])", ends=True),
    _kind("Google OAuth", "GOCSPX-", rb"[A-Za-z0-9_-]{28}"),
    _kind("Google access", "ya29.", rb"(?:(?!ya29\.)[A-Za-z0-9_.-]){20,2000}"),
    _kind("Slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", rb"[0-9]{1,14}-[A-Za-z0-9-]{8,300}"),
    _kind("Slack app", "xapp-", rb"[0-9]-[A-Za-z0-9-]{20,200}"),
    _kind("Slack hook", "hooks.slack.com/", rb"((?:services|workflows|triggers)/[A-Za-z0-9+/]{40,60})"),
    _kind("npm", "npm_", rb"[A-Za-z0-9]{36}", ends=True),
    _kind("npm, older", "_authToken=", rb"""["']?([A-Za-z0-9+/=_.-]{16,400})""", apart=False),
    _kind("PyPI", "pypi-AgE", rb"[A-Za-z0-9_-]{50,1000}"),
    _kind("Stripe", "sk_live_ rk_live_ sk_test_ rk_test_", rb"(?=[A-Za-z]{0,98}[0-9])[A-Za-z0-9]{16,250}"),
    _kind("Hugging Face", "hf_", rb"[A-Za-z0-9]{34}", ends=True),
    _kind("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", rb"[a-f0-9]{64}"),
    _kind("Docker Hub", "dckr_pat_", rb"[A-Za-z0-9_-]{27}"),
    _kind("SendGrid", "SG.", rb"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _kind("Vault", "hvs. hvb.", rb"[A-Za-z0-9_-]{90,300}"),
    _kind("age", "AGE-SECRET-KEY-1", rb"[0-9A-Z]{58}"),
    # A JSON Web Token, by the first member of its header: alg, typ, kid, enc, cty, x5t, jku.
    _kind("JWT", "eyJhbGci eyJ0eXAi eyJraWQi eyJlbmMi eyJjdHki eyJ4NX eyJqa3Ui", _JWT),
    _kind("private key", "-----BEGIN", _PEM, apart=False),
)


@dataclass(frozen=True)
class SecretEncoding:
    """A secret in one encoding.

    Attributes:
        text: the encoded secret.
        wraps: True if tools break the text into lines.
        open_left: True if the character before the text has some bits of the secret.
        open_right: True if the character after the text has some bits of the secret.
        alphabet: characters of the encoding.
        offsets: offsets of the anchors; empty: one at the beginning, and if it wraps, another one after that.
    """

    text: bytes
    wraps: bool = False
    open_left: bool = False
    open_right: bool = False
    alphabet: frozenset[int] = _BASE64
    offsets: tuple[int, ...] = ()

    @property
    def anchors(self) -> list[tuple[bytes, int]]:
        """Literals to search for, with their offsets; there are two if a line end may break one of them."""
        if self.offsets:
            return [(self.text[at : at + _ANCHOR], at) for at in self.offsets]
        if not self.wraps:
            return [(self.text[:_ANCHOR], 0)]
        size = min(_ANCHOR, len(self.text) // 2)
        return [(self.text[:size], 0), (self.text[size : 2 * size], size)]

    @property
    def reach(self) -> int:
        """Maximum length in bytes, with line ends."""
        return 2 * len(self.text) + _SLACK

    def find(self, data: bytes, at: int, offset: int) -> tuple[int, int] | None:
        """Return start and end of the secret if its anchor with this offset is at `at`; else None."""
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
    """Return the secret in all encodings, without duplicates."""
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
    """Yield the characters that depend only on the secret, for each of the three positions at which it may begin."""
    encoders: tuple[Callable[[bytes], bytes], ...] = (base64.b64encode, base64.urlsafe_b64encode)
    for before in range(3):
        start, end = (8 * before + 5) // 6, 8 * (before + len(secret)) // 6
        is_open = bool((before + len(secret)) % 3)
        for encode in encoders:
            text = encode(b"\0" * before + secret)[start:end]
            for written in (text, text.replace(b"/", b"\\/"), quote(text, safe="").encode()):
                yield SecretEncoding(written, wraps=True, open_left=before > 0, open_right=is_open)


def _base32(secret: bytes) -> Iterator[SecretEncoding]:
    """Yield the same for base32, at five positions; the lower case, which no tool writes, only has one anchor."""
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
    """Return the offset of the anchor that is least like a word: it has the most digits at its beginning."""

    def digits(at: int) -> tuple[int, int]:
        return sum(byte in _DIGITS for byte in text[at : at + 3]), sum(byte in _DIGITS for byte in text[at : at + 6])

    return max(range(start, end - _ANCHOR + 1), key=digits)


def end_of_escape(data: bytes, at: int) -> int:
    """Return `at`; if it is inside an escape sequence of a JSON string, return the end of that sequence."""
    if _is_escaped(data, at):
        return at + _escape_length(data, at)
    begin = data.rfind(b"\\u", max(0, at - _UNICODE_ESCAPE + 1), at)
    if begin >= 0 and _is_escaped(data, begin + 1) and _escape_length(data, begin + 1) == _UNICODE_ESCAPE - 1:
        return max(at, begin + _UNICODE_ESCAPE)
    return at


def _escape_length(data: bytes, at: int) -> int:
    """Return the length of an escape sequence without its backslash."""
    digits = _HEX.match(data, at + 1, at + _UNICODE_ESCAPE - 1) if data[at : at + 1] == b"u" else None
    return _UNICODE_ESCAPE - 1 if digits and len(digits[0]) == _UNICODE_ESCAPE - 2 else min(1, len(data) - at)


def _is_escaped(data: bytes, at: int) -> bool:
    """Return True if an odd number of backslashes precedes `at`."""
    before = data[max(0, at - _MAX_BACKSLASHES) : at]
    return bool((len(before) - len(before.rstrip(b"\\"))) % 2)
