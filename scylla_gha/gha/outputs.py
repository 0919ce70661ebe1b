"""A step's outputs, by the file that the runner names in GITHUB_OUTPUT."""

import secrets
from collections.abc import Mapping
from pathlib import Path


def write_outputs(environ: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Append the values; nothing outside of Actions.

    Each stands between two lines that nobody can foresee, so that no value can end itself and begin another.
    """
    place = environ.get("GITHUB_OUTPUT", "")
    if not place:
        return
    with Path(place).open("a", encoding="utf-8") as file:
        for name, value in values.items():
            end = f"end-{secrets.token_hex(16)}"
            file.write(f"{name}<<{end}\n{value}\n{end}\n")
