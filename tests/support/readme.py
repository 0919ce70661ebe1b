"""The README, and the pages that grew out of it, taken apart for tests that do what they say; and the entry script."""

import os
import re
import subprocess
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
_PAGES = (README, *(README.parent / "docs" / name for name in ("scenarios.md", "variants.md", "github-scenarios.md")))


def blocks(marker: str) -> dict[str, str]:
    """Return the fenced blocks after a comment `<!-- marker: name -->`, by name."""
    pattern = rf"<!-- {marker}: (.+?) -->\n```\w*\n(.*?)```"
    text = "\n".join(page.read_text(encoding="utf-8") for page in _PAGES)
    return dict(re.findall(pattern, text, re.DOTALL))


def shell_lines() -> list[str]:
    """Return all lines of the README's sh blocks, without their comments."""
    bodies = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return [line.partition("  #")[0].strip() for body in bodies for line in body.splitlines() if line.strip()]


def entry(*args: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The entry script, as a person starts it."""
    whole = {**os.environ, "COLUMNS": "80", **(env or {})}
    return subprocess.run(
        [README.with_name("scylla"), *args], cwd=cwd, env=whole, capture_output=True, text=True, check=False
    )
