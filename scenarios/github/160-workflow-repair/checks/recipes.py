"""The recipes are those of the start, but for the celadon's peak."""

import json
import subprocess
import sys
from pathlib import Path

start = subprocess.run(["git", "ls-tree", "--name-only", "refs/start/heads/main", "recipes/"], capture_output=True,
                       text=True, check=True).stdout.split()
for name in start:
    before = json.loads(subprocess.run(["git", "show", f"refs/start/heads/main:{name}"], capture_output=True,
                                       check=True).stdout)
    if name == "recipes/celadon.json":
        before["segments"][1]["target"] = 1288
    if json.loads(Path(name).read_text()) != before:
        sys.exit(f"{name} is {Path(name).read_text()}")
