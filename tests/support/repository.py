"""A user's repository with one scenario, whose checks are shell commands and which needs no Python tools."""

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.model.scenario import FixtureSource, Rubric, Scenario
from scylla_gha.prepare import PreparedScenario, prepare_scenario
from scylla_gha.prepare.start_state import StartState, commit_of, start_state
from tests.support.library import write, write_experiment, write_scenario
from tests.support.records import (
    make_category,
    make_checkpoint,
    make_experiment,
    make_item,
    make_rubric,
    make_scenario,
)

SCENARIO = "101-greet"
FIXTURE = "greeting"
Files = Mapping[str, str | bytes]
FILES: Files = {
    "greet.sh": "#!/bin/sh\necho hi\n",
    "notes/kept.txt": "kept\n",
    "data.bin": b"\x00\x01\x02",
    ".gitignore": "*.log\nbuild/\n",
}
CHECKPOINTS = (
    make_checkpoint(id="greets", what="It says hello", run="sh greet.sh", stdout="hello\n"),
    make_checkpoint(id="kept", what="The notes are kept", file="notes/kept.txt", guard=True),
    make_checkpoint(id="scope", what="Only the script is changed", changes={"only": ("greet.sh",)}, required=False),
)
RUBRIC = make_rubric(
    make_category(make_item(id="F1", checks=("greets",)), id="functional", weight=0.5),
    make_category(make_item(id="P1", checks=("scope",)), id="proportionality", weight=0.5),
)


@functools.cache
def cache() -> Path:
    """One cache for all tests of a run: equal start states and toolboxes are made once."""
    if shared := os.environ.get("SCYLLA_TEST_SESSION"):
        return Path(shared) / "cache"
    folder = tempfile.mkdtemp(prefix="scylla-gha-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@dataclass(frozen=True)
class Repository:
    """Folder of a small repository with a library."""

    root: Path

    @property
    def scenario(self) -> Path:
        return self.root / "scenarios" / "core" / SCENARIO

    @property
    def fixture(self) -> Path:
        return self.root / "fixtures" / FIXTURE

    def folder(self) -> ScenarioFolder:
        return Library((self.root,)).scenario(SCENARIO)

    def prepared(self) -> PreparedScenario:
        return prepare_scenario(self.folder(), Library((self.root,)), cache())


def write_tree(folder: Path, files: Files) -> Path:
    """The files; those that end in `.sh` are executable."""
    for name, content in files.items():
        write(folder / name, content).chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder


def make_start(folder: Path, files: Files = FILES) -> StartState:
    """A start state from a fixture with these files."""
    fixture = write_tree(folder, files)
    return start_state(FixtureSource(fixture="any", hash=commit_of(fixture)), fixture, cache())


def patch_of(line: str) -> str:
    """A change of what the script does."""
    return f"""\
diff --git a/greet.sh b/greet.sh
--- a/greet.sh
+++ b/greet.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-echo hi
+{line}
"""


SCENARIO_FILES: Files = {
    "prompt.md": "Make greet.sh say hello.\n",
    "solution/solution.patch": patch_of("echo hello"),
    "wrong/loud.patch": patch_of("echo HELLO"),
    "wrong/silent.patch": patch_of("true"),
}


def make_repository(
    root: Path, rubric: Rubric = RUBRIC, files: Files = FILES, beside: Files | None = None, **scenario: Any
) -> Repository:
    """Write it: fixture `files`, the scenario with its fields and the files `beside` it, the experiment `greet`."""
    repository = Repository(root)
    write_tree(repository.fixture, files)
    source = FixtureSource(fixture=FIXTURE, hash=commit_of(repository.fixture))
    one: Scenario = make_scenario(**{"id": SCENARIO, "source": source, "checkpoints": CHECKPOINTS,
                                     "progress": ({"step": "It says hello", "checkpoint": "greets"},),
                                     **scenario})  # fmt: skip
    write_scenario(root, one, rubric, {**SCENARIO_FILES, **(beside or {})})
    write_greet_experiment(root)
    return repository


def write_greet_experiment(root: Path, **given: Any) -> Path:
    """The experiment `greet`: the scenario with the two built-in agents, and no pause between attempts."""
    fields = {"id": "greet", "scenarios": (SCENARIO,), "retry": {"attempts": 2, "backoff_seconds": 0.0}, **given}
    return write_experiment(root, make_experiment(**fields))


def environment(root: Path, **given: str) -> dict[str, str]:
    """Return the environment for commands that touch nothing outside of `root` but the tests' own cache."""
    return {"SCYLLA_CACHE": str(cache()), "SCYLLA_WORK": str(root / "work"), "HOME": str(root / "home"),
            "PATH": os.environ["PATH"], **given}  # fmt: skip
