"""The files of version 1.4.0 are those of 1.3.0 with the version, and the name of the changelog's section, replaced."""

import subprocess
import sys
from pathlib import Path

CHANGES = {
    "pyproject.toml": ('version = "1.3.0"', 'version = "1.4.0"'),
    "src/honeycount/__init__.py": ('__version__ = "1.3.0"', '__version__ = "1.4.0"'),
    "docs/format.md": ("describes honeycount 1.3.0.", "describes honeycount 1.4.0."),
    "CHANGELOG.md": ("## Unreleased\n", "## 1.4.0\n"),
}
for name, (old, new) in CHANGES.items():
    show = ["git", "show", f"refs/start/heads/main:{name}"]
    before = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    if Path(name).read_text() != before.replace(old, new):
        sys.exit(f"{name} is not as expected: {Path(name).read_text()!r}")
