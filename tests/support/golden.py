"""Golden files. `UPDATE_GOLDEN=1 pytest` writes them anew; the difference is then for a person to read."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden"


def golden(name: str, text: str) -> str:
    """The text that the golden file says; first made equal to `text` where an update is asked for."""
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")
