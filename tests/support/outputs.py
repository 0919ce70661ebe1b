"""What a step gave the runner as outputs."""

import re
from pathlib import Path


def read_outputs(path: Path) -> dict[str, str]:
    """By GitHub's rule: NAME<<END, lines, END."""
    found, lines = {}, iter(path.read_text(encoding="utf-8").splitlines()) if path.exists() else iter(())
    for line in lines:
        named = re.fullmatch("([a-z_]+)<<(.+)", line)
        assert named, line
        value = []
        while (each := next(lines)) != named[2]:
            value.append(each)
        found[named[1]] = "\n".join(value)
    return found
