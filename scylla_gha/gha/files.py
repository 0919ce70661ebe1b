"""The runner's files: what a step writes there is the job's outputs."""

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MOST_CHARACTERS: Final = 500_000  # a job's outputs are 1 MB in UTF-16 together; one above it would be lost in silence


def set_outputs(file: Path, values: Mapping[str, str]) -> None:
    """Set outputs of this step; `file` is the runner's GITHUB_OUTPUT.

    Raises:
        ConfigError: a name or a value is none that the runner would read back as it is; then nothing is written.
    """
    _append(file, values)


def write_outputs(environ: Mapping[str, str], values: Mapping[str, str]) -> None:
    """The same by the runner's variables; nothing outside of Actions."""
    place = environ.get("GITHUB_OUTPUT", "")
    if place:
        set_outputs(Path(place), values)


def _append(file: Path, values: Mapping[str, str]) -> None:
    text = "".join(_entry(name, value) for name, value in values.items())
    with file.open("a", encoding="utf-8", newline="") as out:
        out.write(text)


def _entry(name: str, value: str) -> str:
    """One value, between two lines of a word that nobody can guess."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r}: is no name of an output; letters, digits, - and _ make one")
    if (lack := _unfit(value)) is not None:
        raise ConfigError(
            f"{name}: its value {lack}, and the runner would not read it back; write it to a file instead"
        )
    word = f"scylla-{secrets.token_hex(16)}"
    return f"{name}<<{word}\n{value}\n{word}\n"


def _unfit(value: str) -> str | None:
    if "\0" in value or "\r" in value:
        return "holds a NUL or a carriage return"
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        return "is no valid Unicode"
    if len(value) > _MOST_CHARACTERS:
        return f"has {len(value):,} characters, more than {_MOST_CHARACTERS:,}"
    return None
