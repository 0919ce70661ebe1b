"""npm packages that a scenario pins: the same for its agent and its checks, in each sandbox without an image."""

from pathlib import Path

import pytest

from scylla_gha.attempt import run_attempt
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.judge.checks import run_check
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.trial import Outcome
from scylla_gha.prepare import prepare_workspace
from scylla_gha.prepare.tools import search_path, tool_folders, toolbox_digest
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.system.process import Cancel, ProcessLimits
from tests.support.agents import ShellAgent, make_runner
from tests.support.repository import cache, make_repository

TOOLS = {"node": {"is-number": "7.0.0"}, "system": ["node"]}
REQUIRED = """node -e 'console.log(require("is-number")(7), require("is-number/package.json").version)'"""
IMPORTED = """node --input-type=module -e 'import is from "is-number"; console.log(is(7))'"""


@pytest.mark.parametrize("box", ["bubblewrap", "host"])
def test_agent_and_checks_find_the_pinned_packages(tmp_path: Path, box: str) -> None:
    prepared = make_repository(tmp_path / "repo", tools=Tools.model_validate(TOOLS, strict=False)).prepared()
    target = SandboxTarget(SANDBOXES[box])
    checked = run_check(f"{REQUIRED}; {IMPORTED}", ProcessLimits(60), Path.mkdir, prepared, target, Cancel())
    assert checked.stdout == "true 7.0.0\ntrue\n", checked.stderr

    workspace, folder = prepare_workspace(prepared, tmp_path / "w"), AttemptFolder(tmp_path / "attempt-1")
    agent = ShellAgent(f"{REQUIRED} >greet.sh; {IMPORTED} >>greet.sh")
    attempt = run_attempt(make_runner(agent, target=target), prepared, workspace, folder)
    assert attempt.outcome is Outcome.COMPLETED
    assert attempt.diff is not None
    assert attempt.diff.files == ("greet.sh",)
    assert (workspace.repo / "greet.sh").read_text() == "true 7.0.0\ntrue\n"


def test_a_package_that_is_not_pinned_is_refused(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, tools=Tools(node={"is-number": "^7"}))
    with pytest.raises(ConfigError, match=r"tools.node.is-number: pin one version, such as 1.2.3, not '\^7'"):
        repository.folder()


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolError, match=r"npm could not install is-number@0\.0\.999: "):
        tool_folders(Tools(node={"is-number": "0.0.999"}), cache())


def test_prepared_tools_of_another_machine_are_not_there() -> None:
    with pytest.raises(ToolError, match="0123456789abcdef is not in the cache of this machine; run `scylla-gha readin"):
        search_path(Tools(prepared="0123456789abcdef"), cache())


def test_keys_change_with_the_packages_and_stay_without() -> None:
    plain = Tools(python={"pytest": "9.2.0"})
    assert plain.model_dump(mode="json") == {"python": {"pytest": "9.2.0"}, "system": []}
    changed = [plain.model_copy(update={"node": {"a": "1.0.0"}}), plain.model_copy(update={"prepared": "0" * 16})]
    assert len({toolbox_digest(tools) for tools in (plain, *changed)}) == 3
