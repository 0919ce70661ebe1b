"""Which values are secrets that can be looked for: long, and no plain words."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

SHORTEST: Final = 8  # characters
MARK: Final = "[redacted]"  # what stands in the place of a secret
_WORDS: Final = re.compile(r"[a-z]+(?:[ ._/:-]+[a-z]+)*", re.IGNORECASE)
_LONG_WORDS: Final = 20  # a passphrase; shorter ones are words such as `production`
_FEWEST_SIGNS: Final = 4  # different ones
_LINE: Final = 16  # characters of a line of a longer secret that is a secret by itself
# The last letters of a word of the name: API_KEY, PGPASSWORD, GITHUB_TOKEN; not MAX_TOKENS, KEYRING.
_NAMES: Final = re.compile(
    r"(?:KEY|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CREDENTIALS|PAT)(?:_|$)", re.IGNORECASE
)


def unsearchable_reason(value: str) -> str | None:
    """Why this value cannot be looked for; None where it can."""
    if len(value.encode(errors="surrogateescape")) < SHORTEST:
        return f"shorter than {SHORTEST} characters"
    if value in MARK:
        return "a part of what is put in the place of secrets"
    if len(set(value)) < _FEWEST_SIGNS:
        return f"made of fewer than {_FEWEST_SIGNS} different characters"
    if len(value) < _LONG_WORDS and _WORDS.fullmatch(value):
        return "a plain word"
    return None


def secret_parts(secret: str) -> Iterator[str]:
    """The secret, and where it has several lines, each long one: a diff puts a sign before every line."""
    yield secret
    lines = secret.split("\n")
    if len(lines) > 1:
        yield from (
            line for line in lines if len(line) >= _LINE and not unsearchable_reason(line) and not _is_frame(line)
        )


def _is_frame(line: str) -> bool:
    """The first and the last line of a key, which all keys share."""
    return line.startswith("-----")


def secrets_in(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Variables whose name says that they hold a secret, by name: the fit values, and why others are not looked for."""
    named = {name: value.strip() for name, value in environment.items() if _NAMES.search(name) and value.strip()}
    reasons = {name: unsearchable_reason(value) for name, value in named.items()}
    fit = {name: named[name] for name, reason in reasons.items() if reason is None}
    return fit, {name: reason for name, reason in reasons.items() if reason is not None}
