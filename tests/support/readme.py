"""The README taken apart, so that tests can do what it says."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def blocks(mark: str) -> dict[str, str]:
    """Fenced blocks after a comment `<!-- mark: name -->`, by name."""
    pattern = rf"<!-- {mark}: (.+?) -->\n```\w*\n(.*?)```"
    return dict(re.findall(pattern, README.read_text(encoding="utf-8"), re.DOTALL))


def shell_lines() -> list[str]:
    """All lines of all sh blocks, without their comments."""
    found = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return [line.partition("  #")[0].strip() for block in found for line in block.splitlines() if line.strip()]
