from pathlib import Path

import pytest

from scylla_gha.config.materials import materials
from scylla_gha.errors import ConfigError, FixtureError
from scylla_gha.model.variant import AgentResources, SubAgent, Treatment, Variant
from scylla_gha.variants import agent_resources, allowed_models, arm_treatment
from tests.support.materials import AGENT, AGENT_AT, ALL, FILES, SERVER_AT, SKILL_AT
from tests.support.records import make_arm, make_model_arm
from tests.support.repository import write_tree


def planned(root: Path, treatment: Treatment = ALL) -> Variant:
    return Variant(id="T1/00-all", treatment=treatment, materials=materials(treatment, (root,)))


def test_names_become_what_their_files_say(tmp_path: Path) -> None:
    root = write_tree(tmp_path, FILES)
    made = agent_resources(planned(root), (root,))
    assert made.mcp_servers["clock"].args == ("{folder}/clock.py",)
    assert made.agents["reader"].prompt == "You read."
    assert made.folders == {"mcp/clock": root / "config/mcp/clock", "skills/greeting": root / "config/skills/greeting"}


def test_without_names_there_is_nothing_to_lay_out() -> None:
    assert (
        agent_resources(None, ()) == agent_resources(Variant(id="T0/00", treatment=Treatment()), ()) == AgentResources()
    )


@pytest.mark.parametrize("path", [AGENT_AT, SKILL_AT, "config/mcp/clock/clock.py", "config/mcp/clock/new"])
def test_what_changed_since_it_was_planned_is_refused(tmp_path: Path, path: str) -> None:
    root = write_tree(tmp_path, FILES)
    variant = planned(root)
    write_tree(root, {path: str(FILES.get(path, "")) + "More.\n"})
    with pytest.raises(FixtureError, match=r"^T1/00-all: [a-z]+/[a-z]+ changed since it was planned; plan again$"):
        agent_resources(variant, (root,))


def test_a_name_that_hides_another_root_since_is_a_change(tmp_path: Path) -> None:
    user, toolkit = tmp_path / "user", write_tree(tmp_path / "toolkit", FILES)
    variant = planned(toolkit)
    write_tree(user, {AGENT_AT: AGENT})
    assert agent_resources(variant, (user, toolkit)).agents["reader"].name == "reader", "equal contents are no change"
    write_tree(user, {AGENT_AT: AGENT.replace("You read", "You write")})
    with pytest.raises(FixtureError, match="agents/reader changed"):
        agent_resources(variant, (user, toolkit))


def test_what_is_gone_since_is_told(tmp_path: Path) -> None:
    root = write_tree(tmp_path, FILES)
    variant = planned(root)
    (root / AGENT_AT).unlink()
    with pytest.raises(ConfigError, match="agents: 'reader' is not in config/agents/"):
        agent_resources(variant, (root,))


@pytest.mark.parametrize(
    ("named", "allowed"),
    [
        (None, ("big-5", "side")),
        ("inherit", ("big-5", "side")),
        ("big", ("big-5", "side")),
        ("small", ("big-5", "small-3", "side")),
        ("small-4", ("big-5", "small-4", "side")),
    ],
)
def test_sub_agents_may_ask_for_what_the_cli_makes_of_their_alias(named: str | None, allowed: tuple[str, ...]) -> None:
    worn = AgentResources(
        agents={"reader": SubAgent(name="reader", description="Reads", model=named, prompt="You read.")}
    )
    aliases = {"big": "big-4", "small": "small-3"}
    assert allowed_models(make_model_arm(model="big-5"), worn, ("side",), aliases) == allowed
    assert allowed_models(make_arm(), worn, ("side",), aliases) is None


def test_hosts_of_servers_are_those_of_the_variant(tmp_path: Path) -> None:
    root = write_tree(
        tmp_path, {**FILES, SERVER_AT: "description: A clock\ncommand: date\nhosts: [a.example, b.example]\n"}
    )
    variant = planned(root, Treatment(mcp_servers=("clock",), hosts=("a.example", "c.example")))
    arm = make_arm(variant=variant)
    assert arm_treatment(arm, agent_resources(variant, (root,))).hosts == ("a.example", "c.example", "b.example")
    assert arm_treatment(arm, AgentResources()).hosts == ("a.example", "c.example")
