"""`validate --execute --skip-proved`: a proof is repeated when anything changed that it depends on."""

from pathlib import Path

import pytest

from tests.support.command import Said, scylla
from tests.support.repository import SCENARIO, environment, make_repository

PLACE = f"scenarios/core/{SCENARIO}"
TRIALS = f"{SCENARIO}: nop fails, solution passes, wrong/loud fails, wrong/silent fails"


def prove(root: Path, *options: str) -> Said:
    env = {**environment(root.parent), "SCYLLA_CACHE": str(root.parent / "cache")}  # of this test alone
    return scylla("validate", PLACE, "--execute", *options, cwd=root, env=env)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def test_a_scenario_that_was_proved_is_skipped_until_a_file_of_it_changes(root: Path) -> None:
    assert prove(root, "--skip-proved").out == f"1 scenario: valid\nok: {TRIALS}\n"
    assert prove(root, "--skip-proved").out == f"1 scenario: valid\nok, proved before: {TRIALS}\n"
    assert prove(root).out == f"1 scenario: valid\nok: {TRIALS}\n", "only when asked to"
    (root / PLACE / "prompt.md").write_text("Greet otherwise.\n")
    assert prove(root, "--skip-proved").out == f"1 scenario: valid\nok: {TRIALS}\n"


def test_the_sandbox_is_part_of_what_was_proved(root: Path) -> None:
    prove(root, "--skip-proved")
    changed = prove(root, "--skip-proved", "--sandbox", "bubblewrap")
    assert f"ok: {TRIALS}" in changed.out


def test_a_proof_that_failed_is_repeated(root: Path) -> None:
    patch = next((root / PLACE).glob("wrong/loud.patch"))
    patch.write_bytes((root / PLACE / "solution" / "solution.patch").read_bytes())
    assert prove(root, "--skip-proved").code == 7
    assert prove(root, "--skip-proved").code == 7


def test_skipping_is_for_what_is_executed(root: Path) -> None:
    said = scylla("validate", PLACE, "--skip-proved", cwd=root, env=environment(root.parent))
    assert (said.code, "--skip-proved has an effect only with --execute" in said.err) == (2, True)
