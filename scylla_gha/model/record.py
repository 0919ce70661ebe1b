"""The base of all records that cross a file."""

import hashlib
import json
import re
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, StringConstraints

KEY_VERSION: Final = 1  # raise it when the meaning of a key's parts changes: nothing stored is reused then

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=120)]
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Text = Annotated[str, StringConstraints(min_length=1)]


class Record(BaseModel):
    """Frozen, strict, no unknown keys, no NaN or Infinity. None is unknown, 0 is zero."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Seal(Record):
    """What a stored file held when the record that names it was written: SHA-256 in hex of so many bytes."""

    sha256: str
    size: int


def digest(value: object) -> str:
    """SHA-256, in hex, of the canonical JSON of plain data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def slug(text: str) -> str:
    """Lower-case `text` with every run of other characters than letters, digits and dots as one dash."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")
