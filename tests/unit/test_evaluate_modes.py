"""A tool of a user's own under test: the mode that docs/github-modes.md shows works on a trial's GitHub."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scylla_gha.agents import InstalledAgent
from scylla_gha.collect import rows
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.evaluate.context import RunContext, RunServices, RunSettings
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.hub.client import HubProcess
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.selection import CellSelection
from scylla_gha.store.run_folder import RunFolder
from tests.support.agents import BUILT_IN, ShellAgent
from tests.support.command import scylla
from tests.support.hub_scenario import ID, write_hub_scenario
from tests.support.library import write, write_experiment
from tests.support.pages import ROOT, yaml_parts
from tests.support.records import make_experiment
from tests.support.repository import environment

MYTOOL = """\
#!/usr/bin/env python3
import json, os, sys, urllib.request
path, body = sys.argv[1:]
headers = {"Authorization": "token " + os.environ["MYTOOL_TOKEN"], "User-Agent": os.environ.get("NAME", "mytool/1.0")}
address = os.environ["MYTOOL_API"] + "/repos/octo-org/demo/" + path
urllib.request.urlopen(urllib.request.Request(address, body.encode(), headers))
"""
SOLUTION = """\
set -eu
if env | grep ^GH_ || test -e ~/.config/gh; then exit 1; fi
mytool issues/2/labels '{"labels": ["bug"]}'
git switch --quiet --create fix
echo 'print(1 + 1)' >app.py
git commit --quiet --all --message 'Add instead of subtracting'
git push --quiet --set-upstream origin fix
mytool pulls '{"title": "Fix", "body": "Closes #2", "head": "fix", "base": "main"}'
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[HubProcess]:
    with HubProcess.start() as process:
        yield process


def row_of(root: Path, hub: HubProcess, script: str) -> Result:
    """The row of an agent that runs the script in the mode of the page."""
    (mode,) = (part for part in yaml_parts(ROOT / "docs/github-modes.md") if "programs" in part)
    modes = root / "config/modes"
    write(modes / "mytool.yaml", yaml.safe_dump(mode))
    write(modes / mode["instructions_file"], "Use `mytool PATH JSON`.\n")
    write(modes / mode["programs"]["mytool"]["file"], MYTOOL).chmod(0o755)
    write(write_hub_scenario(root) / "solution/mytool.sh", SOLUTION)
    library, experiment = Library.here(root), make_experiment(
        id="own", scenarios=(ID,), agents=("sh",), modes=("mytool",), baseline="mytool.sh"
    )  # fmt: skip
    plan = plan_cells(experiment, library, {"sh": BUILT_IN}, CellSelection())
    installed = {"sh": InstalledAgent(ShellAgent(script), "", "1")}
    context = RunContext(
        RunSettings(plan, RunFolder(root / "runs"), ConfigSources(library), installed), RunServices(hub=hub)
    )
    run_cells(context, plan.cells, lambda *_: None)
    (row,) = rows(plan, context.settings.folder, library)
    return row


def test_a_tool_of_a_user_works_on_the_trials_github(tmp_path: Path, hub: HubProcess) -> None:
    row = row_of(tmp_path, hub, SOLUTION)
    assert (row.outcome, row.passed, row.mode) == (Outcome.COMPLETED, True, "mytool"), row.reason
    assert (row.arm, row.github_gaps, row.github_other_clients) == ("mytool.sh", 0, {})


def test_requests_of_a_client_that_the_mode_has_not_are_stated(tmp_path: Path, hub: HubProcess) -> None:
    row = row_of(tmp_path, hub, "NAME='GitHub CLI 2.102.0' mytool issues/2/labels '{\"labels\": [\"bug\"]}'")
    assert (row.outcome, row.passed, row.github_other_clients) == (Outcome.COMPLETED, False, {"gh": 1})


SPOOF = """\
import os, subprocess, urllib.error, urllib.request
header = subprocess.check_output(["git", "config", "http.http://github.com/.extraHeader"], text=True)
name, _, value = header.strip().partition(": ")
for headers in ({name: value}, {}):
    request = urllib.request.Request(os.environ["MYTOOL_API"] + "/user", headers=headers | {"User-Agent": "mytool/1"})
    try:
        urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
"""


def test_a_program_with_the_modes_name_and_gits_token_is_refused_and_stated(tmp_path: Path, hub: HubProcess) -> None:
    write(tmp_path / "spoof.py", SPOOF)
    row = row_of(tmp_path, hub, f"python3 {tmp_path}/spoof.py; git config http.http://github.com/.extraHeader; env")
    assert row.github_other_clients == {"mytool with git's token": 1, "mytool without a token": 1}
    assert (row.github_failed, row.github_writes) == (2, 0)
    printed = b"".join(path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file())
    assert b"Resource not accessible by personal access token" in printed
    assert re.search(rb"Authorization: Basic [A-Za-z0-9+/]{8}|gh[p]_[A-Za-z0-9]{30}|github_pat_\w{20}", printed) is None
    assert not {b"GH_TOKEN=", b"GITHUB_PERSONAL_ACCESS_TOKEN="} & set(re.findall(rb"\w+=", printed))


def test_a_shell_has_the_programs_of_its_cells_mode_and_its_github_at_the_start(tmp_path: Path) -> None:
    write_hub_scenario(tmp_path)
    experiment = make_experiment(
        id="own", scenarios=(ID,), agents=("oracle",), modes=("baseline", "mcp"), baseline="mcp.oracle"
    )
    write_experiment(tmp_path, experiment)
    assert scylla("plan", "own", cwd=tmp_path, env=environment(tmp_path)).code == 0
    seen = {}
    for mode in experiment.modes:
        look = ("sh", "-c", "command -v gh >/dev/null && gh issue list; git ls-remote origin refs/heads/main | cut -f2")
        said = scylla("shell", f"{ID}--{mode}.oracle--r01", "--", *look, cwd=tmp_path, env=environment(tmp_path))
        assert said.code == 0, said.err
        seen[mode] = [line.split("\t")[0] for line in said.out.splitlines()]
    assert seen == {"baseline": ["2", "1", "refs/heads/main"], "mcp": ["refs/heads/main"]}
