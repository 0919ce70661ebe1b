"""Definition of a secret: values that can be searched for, and tokens that are known by their form.

Forms of tokens are those that their providers document (2026-11). A pattern is matched only at one of its anchors, so a
file without any is passed over at the speed of a literal search. It matches characters of tokens only, so no match goes
beyond the end of a JSON string.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

MARK: Final = "[redacted]"  # replaces a secret
_MIN_CHARACTERS: Final = 8
_MIN_DIFFERENT: Final = 4
_MIN_PASSPHRASE: Final = 20  # characters; shorter words are words such as `production`
_MIN_LINE: Final = 16  # characters of a line of a longer secret that is a secret by itself
_WORDS: Final = re.compile(r"[a-z]+(?:[ ._/:-]+[a-z]+)*", re.IGNORECASE)
# Ends of words of a variable's name: API_KEY, PGPASSWORD, GITHUB_TOKEN; not MAX_TOKENS, KEYRING.
_SECRET_NAMES: Final = re.compile(
    r"(?:KEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CREDENTIALS|PAT)(?:_|$)", re.IGNORECASE
)


def unsearchable_reason(value: str) -> str | None:
    """Return the reason why a value cannot be searched for; None if it can."""
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
    """Yield a secret, and each long line of it, since a diff writes a sign before every line."""
    yield secret
    lines = secret.split("\n")
    if len(lines) > 1:  # the first and last line of a key are those of all keys
        long_lines = (line for line in lines if len(line) >= _MIN_LINE and not line.startswith("-----"))
        yield from (line for line in long_lines if not unsearchable_reason(line))


def secrets_in(environment: Mapping[str, str], names: Collection[str] = ()) -> tuple[dict[str, str], dict[str, str]]:
    """Return variables with a secret's name, or one of `names`: searchable values, and reasons why others are not."""
    values = {
        name: value.strip()
        for name, value in environment.items()
        if (name in names or _SECRET_NAMES.search(name)) and value.strip()
    }
    reasons = {name: reason for name, value in values.items() if (reason := unsearchable_reason(value))}
    return {name: value for name, value in values.items() if name not in reasons}, reasons


REACH: Final = 32 * 1024  # bytes from an anchor on that are matched; no key of any kind is longer

# No character of a word stands before a token, unless it ends an escape in JSON, a URL or a terminal.
_START: Final = (
    rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})"
    rb"|(?<=\[m)|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)
_END: Final = rb"(?![A-Za-z0-9_])"


@dataclass(frozen=True, slots=True)
class TokenPattern:
    """A kind of token. It begins `back` bytes before its anchor; its group, if it has one, is the secret."""

    name: str
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    back: int = 0

    def find(self, data: bytes, at: int) -> tuple[int, int] | None:
        """Return start and end of the secret whose anchor stands at `at`; None if it is not a token."""
        match = self.pattern.match(data, at - self.back, at + REACH) if at >= self.back else None
        return match.span(match.lastindex or 0) if match else None


def _kind(name: str, anchors: str, rest: bytes, *, apart: bool = True, ends: bool = False) -> TokenPattern:
    """Match an anchor and `rest`; `apart`: no character of a word stands before it; `ends`: nor after it."""
    texts = tuple(anchor.encode() for anchor in anchors.split())
    choice = b"(?:%s)" % b"|".join(re.escape(text) for text in texts)
    pattern = (_START if apart else b"") + choice + rest + (_END if ends else b"")
    return TokenPattern(name, texts, re.compile(pattern))


_SECRET_KEY: Final = rb"""\W{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"""
_JWT: Final = rb"[A-Za-z0-9_-]{4,4000}+\.[A-Za-z0-9_-]{8,16000}+\.[A-Za-z0-9_-]{8,2000}+"
# base64 in lines, headers such as `Proc-Type: 4,ENCRYPTED`, and line ends as JSON writes them at any depth
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
    # since 2026 `ghs_APPID_JWT`, about 520 characters
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
    # a JSON Web Token, by the first member of its header: alg, typ, kid, enc, cty, x5t, jku
    _kind("JWT", "eyJhbGci eyJ0eXAi eyJraWQi eyJlbmMi eyJjdHki eyJ4NX eyJqa3Ui", _JWT),
    _kind("private key", "-----BEGIN", _PEM, apart=False),
)  # fmt: skip
