"""Files that an agent plants for the shipped scenarios' checks make no unsolved task a solved one.

Where code that is planted runs, it claims all that the checks would print, and ends as if nothing were wrong.
"""

import functools
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.judge import judge_trial
from scylla_gha.model.judgment import Judgment
from scylla_gha.prepare import PreparedScenario, prepare_scenario
from scylla_gha.prepare.tools import cache_root
from scylla_gha.store.run_folder import CellFolder
from tests.support import attack
from tests.support.trials import leave_trial, make_judging_context

LIBRARY = Library((Path(__file__).parents[2],))
OWN_TESTS = {"031-ledger-rounding-bug": "existing-tests", "033-extract-duplicates": "own-tests-pass"}


@functools.cache
def prepared(scenario: str) -> PreparedScenario:
    return prepare_scenario(LIBRARY.scenario(scenario), LIBRARY, cache_root())


def claims(scenario: str) -> str:
    """Return what all the scenario's checks print if all is well."""
    folder = prepared(scenario).folder
    lines = [re.sub(r"\\A|[\^$\\]", "", check.stdout_matches or "") for check in folder.scenario.checkpoints]
    names = folder.checks / "tests.txt"
    lines += [json.dumps([name, True]) for name in names.read_text().splitlines()] if names.exists() else []
    return "".join(f"{line}\n" for line in [*lines, "9/9"])


def attacked(scenario: str, kinds: str, folder: Path) -> Judgment:
    """The judgment of an agent that did nothing but this."""
    place = CellFolder(folder / kinds.replace(" ", "-"))
    do = shlex.join([sys.executable, str(attack.__file__), kinds, claims(scenario)])
    return judge_trial(leave_trial(prepared(scenario), place, do), prepared(scenario), place, make_judging_context())


@pytest.mark.parametrize("scenario", ["001-hello-world", *OWN_TESTS])
def test_nothing_that_is_planted_solves_a_task_or_passes_for_tests_that_never_ran(
    scenario: str, tmp_path: Path
) -> None:
    """Files that Python, pytest and linters read by themselves, programs, and tests; then the package itself."""
    asked = {check.id for check in prepared(scenario).folder.scenario.checkpoints if check.run and check.required
             and not check.guard}  # fmt: skip
    for kinds in ("startup programs suite", "package"):
        judgment = attacked(scenario, kinds, tmp_path)
        assert judgment.result, judgment.error
        assert not judgment.result.passed
        hold = {check.id for check in judgment.checks if check.holds}
        assert hold.isdisjoint({*asked, OWN_TESTS.get(scenario)})
