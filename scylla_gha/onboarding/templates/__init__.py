"""The texts of scaffolded files, with `<<name>>` where something is filled in."""

import re
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
_GAP: Final = re.compile(r"<<([a-z_]+)>>")


def filled(template: str, /, **words: str) -> str:
    """A template with every gap filled, and none left; KeyError where a word is not given."""
    text = (_HERE / template).read_text(encoding="utf-8")
    return _GAP.sub(lambda found: words[found[1]], text)
