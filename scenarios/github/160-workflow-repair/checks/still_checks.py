"""CI of this commit has to succeed as it is, and to fail for each of some faults in the program and in the recipes.

Its commands are run as they stand in the workflow, whatever the steps are called.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

FAULTS = {
    "a limit that is not checked": ("src/kilnlog/recipes.py", "recipe.peak > HOTTEST", "recipe.peak > 9999"),
    "hours that are too short": ("src/kilnlog/schedule.py", "segment.hold / 60", "segment.hold / 90"),
    "a recipe that is too hot": ("recipes/oatmeal.json", "1220", "1320"),
    "a recipe that is too cold": ("recipes/raku.json", "1000", "900"),
}


def commands(file: Path) -> list[tuple[str, str, str, dict[str, str]]]:
    """Shell, folder, script and variables of the steps that decide about the result."""
    workflow = yaml.safe_load(file.read_text())
    steps = []
    for job in workflow["jobs"].values():
        if job.get("continue-on-error") or "if" in job:
            continue
        run = {**(workflow.get("defaults") or {}).get("run", {}), **(job.get("defaults") or {}).get("run", {})}
        for step in job["steps"]:
            if "run" in step and not step.get("continue-on-error") and step.get("if") in (None, "always()", "success()", "!cancelled()"):
                env = {**(workflow.get("env") or {}), **(job.get("env") or {}), **(step.get("env") or {})}
                folder = step.get("working-directory", run.get("working-directory", "."))
                steps.append((step.get("shell", run.get("shell", "bash")), folder, step["run"], env))
    return steps


def is_green(root: Path, home: Path) -> bool:
    """Whether all workflows that pull requests start would succeed in a folder."""
    variables = home / "variables"
    variables.write_text("")
    for file in sorted((root / ".github/workflows").glob("*.y*ml")):
        for shell, folder, script, env in commands(file):
            own = dict(line.split("=", 1) for line in variables.read_text().splitlines() if "=" in line)
            texts = {name: str(text).replace("${{ github.workspace }}", str(root)) for name, text in env.items()}
            variables_now = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}", "GITHUB_WORKSPACE": str(root),
                             "GITHUB_ENV": str(variables), "GITHUB_OUTPUT": os.devnull, "GITHUB_PATH": os.devnull,
                             "GITHUB_STEP_SUMMARY": os.devnull, "PYTHONDONTWRITEBYTECODE": "1", **own, **texts}
            text = script.replace("${{ github.workspace }}", str(root))
            argv = ["python3", "-c", text] if shell == "python" else ["bash", "-e", "-o", "pipefail", "-c", text]
            if subprocess.run(argv, cwd=root / folder, env=variables_now, capture_output=True, timeout=30).returncode:
                return False
    return True


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "python").write_text('#!/bin/sh\nexec python3 "$@"\n')
        (home / "python").chmod(0o755)
        tree = home / "tree"
        shutil.copytree(".", tree, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        if not is_green(tree, home):
            print("it is red as it is")
            return 1
        for fault, (path, old, new) in FAULTS.items():
            file = tree / path
            right = file.read_text()
            if old not in right:
                print(f"{path} was changed")
                return 1
            file.write_text(right.replace(old, new))
            if is_green(tree, home):
                print(f"it stays green with {fault}")
                return 1
            file.write_text(right)
    print("it finds all faults")
    return 0


sys.exit(main())
