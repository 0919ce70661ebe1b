"""Records that are stored in files, each in a module of its topic.

Here are their base class, digests of plain data, and the removal of hidden characters from untrusted text.
"""

import datetime
import hashlib
import json
import re
from typing import Annotated, Final, Self, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=120)]
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(min_length=1)]
# Default_Ignorable_Code_Point of Unicode 16.0 (DerivedCoreProperties.txt of 2024-05-31; 4,174 code points): what fonts
# do not show, and models read. Variation selectors and joiners are among them, so an emoji made of several is shown in
# its parts.
_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# And what a terminal would obey or nobody would see: controls, line ends that are no newline, the marks of an
# annotation, lone surrogates.
HIDDEN: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\udfff{_IGNORABLE}]")


def as_utc(time: datetime.datetime) -> datetime.datetime:
    """Return a time with an offset, so that all times can be compared; a time without an offset is treated as UTC."""
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


class Record(BaseModel):
    """Base of all records: frozen, strict, no unknown keys, no NaN or Infinity. None is unknown, 0 is zero."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


N = TypeVar("N", int, float)


def known_sum(*parts: N | None) -> N | None:
    """Return the sum; None if one part is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


class Amounts(Record):
    """Base of records whose numbers are added field by field."""

    def plus(self, other: Self) -> Self:
        """Return the sum; a field that is unknown in one record is unknown in the sum."""
        sums = {}
        for name in type(self).model_fields:
            own, theirs = getattr(self, name), getattr(other, name)
            sums[name] = None if own is None or theirs is None else own + theirs
        return self.model_validate(sums)


class FileDigest(Record):
    """SHA-256 in hex, and size in bytes, of a stored file when its record was written."""

    sha256: str
    size: int


def digest(value: object) -> str:
    """Return the SHA-256, in hex, of the canonical JSON of plain data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def slug(text: str) -> str:
    """Return the text in lower case, with a dash for each run of characters other than letters, digits and dots."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


def printable(text: str) -> str:
    """Remove characters that are invisible, break the line, or control a terminal."""
    if text.isascii() and text.isprintable():  # nearly all text, of which sites have millions of characters
        return text
    return "".join(character for character in HIDDEN.sub("", text) if character.isprintable())


def one_line(text: str) -> str:
    """Return `text` on one line, without characters that control a terminal, a log or the writing direction."""
    return printable(" ".join(text.split()))


def visible(text: str) -> str:
    """Replace every hidden character by its code; tabs and newlines stay."""
    return HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
