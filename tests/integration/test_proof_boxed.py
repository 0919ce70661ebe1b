"""A scenario is proved in the box in which its trials are run."""

from pathlib import Path

import pytest

from tests.support.command import scylla
from tests.support.engine import found_by
from tests.support.records import make_checkpoint
from tests.support.repository import CHECKPOINTS, SCENARIO, make_repository

INSIDE = make_checkpoint(id="inside", run="id -u; pwd", stdout="10001\n/home/workspace\n", required=False)


@pytest.mark.usefixtures("running_engine")
def test_checks_that_hold_in_containers_only_are_proved_there_and_not_on_the_host(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", checkpoints=(*CHECKPOINTS, INSIDE)).root
    command = ("validate", f"scenarios/core/{SCENARIO}", "--execute")
    boxed, host = (scylla(*command, *how, cwd=repo, env=found_by()) for how in (("--sandbox", "auto"), ()))
    assert (boxed.code, boxed.err) == (0, ""), boxed.err
    assert f"ok: {SCENARIO}: nop fails, solution passes, wrong/loud fails, wrong/silent fails" in boxed.out
    assert host.code == 7
    assert f"{SCENARIO}: solution: does not pass: inside" in host.err
