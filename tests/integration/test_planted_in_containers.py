"""Files planted by an agent in a container run neither in the harness nor for the checks in another container."""

from pathlib import Path

import pytest

from scylla_gha.model.trial import Outcome
from tests.integration.test_boxing import boxed, travelled
from tests.integration.test_hostile_workspace import PLANTED_PROGRAMS
from tests.support.records import make_checkpoint
from tests.support.repository import make_repository

HELPERS = """
for name in core.pager core.editor core.sshCommand core.askPass sequence.editor merge.tool diff.tool; do
  git config "$name" 'touch CANARY'
done
git config credential.helper '!touch CANARY; true'; git config alias.add '!touch CANARY'
"""
# Code that its own Python runs before any other, and that claims success.
STARTUP = """
for name in sitecustomize usercustomize conftest json verify; do
  { printf 'import os\\ntry: open("CANARY", "w")\\nexcept OSError: pass\\n'
    printf 'os.write(1, b"ok hello\\\\n")\\nos._exit(0)\\n'; } >$name.py
done
echo 'import sitecustomize' >evil.pth; mkdir -p ~/.local/lib/python3.11/site-packages
cp evil.pth sitecustomize.py usercustomize.py ~/.local/lib/python3.11/site-packages
for name in python3 sh git cat; do printf '#!/bin/sh\\ntouch CANARY\\necho ok hello\\n' >$name; chmod +x $name; done
echo 'touch CANARY' | tee ~/.profile ~/.bashrc >.env
"""
VERIFY = """
import json, subprocess
said = subprocess.run(["sh", "greet.sh"], capture_output=True, text=True).stdout
print("ok hello" if said == "hello\\n" else json.dumps(said))
"""
CHECKS = (
    make_checkpoint(id="greets", what="It says hello", run="sh greet.sh", stdout="hello\n"),
    make_checkpoint(id="verified", what="It says so", run='python3 -I "$CHECKS/verify.py"', stdout="ok hello\n"),
    make_checkpoint(id="plain", what="Also without -I", run='python3 "$CHECKS/verify.py"', stdout="ok hello\n"),
    make_checkpoint(id="scope", what="Something is changed", changes={}, required=False),
    make_checkpoint(id="home", what="HOME is new", run='ls -A "$HOME"', stdout=""),
)


@pytest.mark.usefixtures("running_engine")
def test_planted_programs_run_neither_outside_nor_instead_of_the_checks(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", checkpoints=CHECKS, beside={"checks/verify.py": VERIFY})
    canary = tmp_path / "canary"
    script = "".join(f"({one}) || true\n" for one in (*PLANTED_PROGRAMS.values(), HELPERS, STARTUP))
    journey = boxed(repository, tmp_path / "runs", script.replace("CANARY", str(canary)))
    ((_, trial, judgment),) = travelled(journey).told
    assert not canary.exists()
    assert (trial.outcome, trial.last.reason) == (Outcome.COMPLETED, "done")
    assert trial.last.diff is not None
    assert {"sitecustomize.py", "conftest.py", "python3", ".gitattributes"} <= set(trial.last.diff.files)
    assert judgment is not None
    assert {check.id: check.holds for check in judgment.checks} == {
        "greets": False, "verified": False, "plain": False, "scope": True, "home": True}  # fmt: skip
