"""Tokens that are known by their form, whoever they belong to; forms as their providers document them (2026-11).

A kind is looked for where one of its anchors stands, so a file without any is passed over at the speed of a literal
search. What is matched are characters of tokens only, so no match goes beyond the end of a JSON string.
"""

import re
from dataclasses import dataclass
from typing import Final

REACH: Final = 32 * 1024  # bytes from an anchor on that are looked at; no key of any kind is longer

# What may stand before a token: nothing of a word, unless it ends an escape, in JSON, a URL or a terminal.
_START: Final = (
    rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})"
    rb"|(?<=\[m)|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)
_END: Final = rb"(?![A-Za-z0-9_])"


@dataclass(frozen=True, slots=True)
class TokenPattern:
    """A kind of token. `back` is how far before its anchor it begins; its group, where it has one, is the secret."""

    name: str
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    back: int = 0

    def find(self, data: bytes, at: int) -> tuple[int, int] | None:
        """From and to of the secret whose anchor stands at `at`."""
        found = self.pattern.match(data, at - self.back, at + REACH) if at >= self.back else None
        return found.span(found.lastindex or 0) if found else None


def _kind(name: str, anchors: str, rest: bytes, *, apart: bool = True, ends: bool = False) -> TokenPattern:
    """Any of the anchors, then `rest`. `apart`: nothing of a word stands before; `ends`: nor after it."""
    spelt = tuple(anchor.encode() for anchor in anchors.split())
    either = b"|".join(re.escape(anchor) for anchor in spelt)
    return TokenPattern(
        name, spelt, re.compile((_START if apart else b"") + b"(?:%s)" % either + rest + (_END if ends else b""))
    )


_SECRET_KEY: Final = rb"""\W{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"""
_JWT: Final = rb"[A-Za-z0-9_-]{4,4000}+\.[A-Za-z0-9_-]{8,16000}+\.[A-Za-z0-9_-]{8,2000}+"
# base64 in lines, headers such as `Proc-Type: 4,ENCRYPTED`, and line ends as JSON writes them at any depth
_PEM: Final = (
    rb" (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:[A-Za-z0-9+/=,:. \t\r\n]|\\{1,8}[nrt]|-(?!----)){16,20000}+"
    rb"(?:-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)?"
)

KINDS: Final = (
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
