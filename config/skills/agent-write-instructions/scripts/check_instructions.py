#!/usr/bin/env python3
"""Check an instruction file (AGENTS.md, CLAUDE.md) against the repository it describes.

Usage: python3 check_instructions.py FILE [FILE ...]     (paths are resolved from the repository root and the file)

Reports: paths in backticks (with a folder), links and @imports that do not exist; make targets and npm scripts that
are not defined; @imports inside code (they do not load); files over 200 lines. Exit code 1 if anything is reported.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PATHLIKE = re.compile(r"^[\w.@-]+(?:/[\w.@-]+)*/?$")
EXTENSIONS = r"py|js|ts|tsx|jsx|go|rs|java|rb|sh|md|toml|ya?ml|json|cfg|ini|lock|txt|sql|css|html"


def root_of(path: Path) -> Path:
    run = subprocess.run(
        ["git", "-C", str(path.parent), "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=False
    )
    return Path(run.stdout.strip()) if run.returncode == 0 else path.parent


def make_targets(root: Path) -> set[str] | None:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if (root / name).is_file():
            text = (root / name).read_text(encoding="utf-8", errors="replace")
            return {t for group in re.findall(r"^([\w ./-]+?)\s*:(?!=)", text, re.M) for t in group.split()}
    return None


def npm_scripts(root: Path) -> set[str] | None:
    file = root / "package.json"
    return set(json.loads(file.read_text(encoding="utf-8")).get("scripts", {})) if file.is_file() else None


def check(path: Path) -> list[str]:
    root, text, found = root_of(path.resolve()), path.read_text(encoding="utf-8"), []
    bases = (root, path.resolve().parent)

    def exists(name: str) -> bool:
        return any((base / name).exists() for base in bases)

    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    spans = re.findall(r"`([^`\n]+)`", prose)
    for span in spans:
        looks_like_file = re.search(rf"\.(?:{EXTENSIONS})$", span) or span.endswith("/")
        if PATHLIKE.match(span) and "/" in span.rstrip("/") and looks_like_file and not exists(span):
            found.append(f"path does not exist: {span}")
        if re.match(r"^@[\w./~-]+\.md$", span):
            found.append(f"import inside backticks does not load: {span}")
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", prose):
        if not exists(target):
            found.append(f"broken link: {target}")
    for target in re.findall(r"(?m)(?:^|\s)@([\w./-]+\.md)\b", re.sub(r"`[^`\n]*`", "", prose)):
        if not exists(target):
            found.append(f"import not found: @{target}")
    targets, scripts = make_targets(root), npm_scripts(root)
    code = "\n".join(spans + re.findall(r"^```.*?\n(.*?)^```", text, re.M | re.S))
    for target in re.findall(r"(?m)(?:^|&& )make ([a-z][\w-]*)", code):
        if targets is None or target not in targets:
            found.append(f"make target not defined: {target}")
    for script in re.findall(r"\b(?:npm|pnpm|yarn) run ([\w:-]+)", code):
        if scripts is None or script not in scripts:
            found.append(f"package.json script not defined: {script}")
    if len(text.splitlines()) > 200:
        found.append(f"{len(text.splitlines())} lines, more than 200")
    return sorted(set(found))


def main(args: list[str]) -> int:
    if not args or args[0] in {"-h", "--help"}:
        print(__doc__)
        return 0 if args else 2
    bad = 0
    for arg in args:
        for problem in check(Path(arg)):
            print(f"{arg}: {problem}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
