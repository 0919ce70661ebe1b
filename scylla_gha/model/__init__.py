"""Records that are stored in files, each in a module of its topic; here their base class, and digests of plain data."""

import datetime
import hashlib
import json
import re
from typing import Annotated, Self, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=120)]
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(min_length=1)]


def as_utc(time: datetime.datetime) -> datetime.datetime:
    """Return a time with an offset, so that all times can be compared; a time without one is taken as UTC."""
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
    """Base of records of numbers that are added field by field."""

    def plus(self, other: Self) -> Self:
        """Return the sum; unknown in one is unknown in the sum."""
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
