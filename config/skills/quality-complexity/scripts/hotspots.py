#!/usr/bin/env python3
"""Rank files by change frequency times complexity.

Usage: python3 hotspots.py [--since "12 months ago"] [--top 20] [PATH ...]

Run it inside a git work tree. Change frequency: commits that touched the file since the date (without
merges). Complexity: the sum, over the lines of code, of the indentation depth. It needs no parser, works for each
language, and orders files much as cyclomatic complexity does. score = commits * complexity.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

CODE = set(
    ".py .js .jsx .mjs .cjs .ts .tsx .go .rs .java .kt .cs .c .h .cc .cpp .hpp .rb .php .swift .scala .sh .vue".split()
)


def git(*args: str) -> str:
    return subprocess.run(["git", *args], check=True, capture_output=True, text=True).stdout


def depth_sum(path: Path) -> tuple[int, int]:
    lines = total = 0
    for raw in path.read_text(encoding="utf-8", errors="replace").splitlines():
        line = raw.expandtabs(4)
        body = line.lstrip()
        if not body or body.startswith(("#", "//", "*", "/*")):
            continue
        lines += 1
        total += (len(line) - len(body)) // 2
    return lines, total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="12 months ago")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("paths", nargs="*", default=["."])
    args = parser.parse_args()
    try:
        root = Path(git("rev-parse", "--show-toplevel").strip())
        tracked = git("ls-files", "-z", "--full-name", "--", *args.paths).split("\0")
        log = git("log", "--no-merges", f"--since={args.since}", "--format=", "--name-only", "-z", "--", *args.paths)
    except subprocess.CalledProcessError as error:
        print(error.stderr.strip(), file=sys.stderr)
        return 2
    commits = Counter(name.strip() for name in log.split("\0") if name.strip())
    rows = []
    for name in tracked:
        path = root / name
        if not name or path.suffix not in CODE or not commits[name] or not path.is_file():
            continue
        lines, depth = depth_sum(path)
        rows.append((commits[name] * depth, commits[name], lines, depth, name))
    if not rows:
        print("no source file changed in this period (shallow clone? try: git fetch --unshallow)", file=sys.stderr)
        return 1
    print(f"{'score':>9} {'commits':>7} {'lines':>6} {'depth':>6}  file")
    for score, count, lines, depth, name in sorted(rows, reverse=True)[: args.top]:
        print(f"{score:>9} {count:>7} {lines:>6} {depth:>6}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
