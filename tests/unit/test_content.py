"""The toolkit's own content: sub-tests of the tiers, prompt blocks, skills, sub-agents and MCP servers."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.materials import material_names, read_agent
from scylla_gha.config.scenario_folder import check_variants
from scylla_gha.plan.selection import select

CONFIG = toolkit_root() / "config"
LIBRARY = Library((toolkit_root(),))
COUNTS = {"T0": 24, "T1": 11, "T2": 15, "T3": 41, "T4": 7, "T5": 15, "T6": 1}
FILES = {
    "blocks": sorted(CONFIG.glob("blocks/*.md")),
    "skills": sorted(CONFIG.glob("skills/*/SKILL.md")),
    "agents": sorted(CONFIG.glob("agents/*.md")),
}
SHORTEST_LINE = 15  # characters of a line that counts as one that two files share


def lines_of(*names: str) -> int:
    """The lines of the sub-tests' prompt blocks, as they are sent."""
    blocks = [block for name in names for block in material_names(LIBRARY.tiers.variant(name).treatment)["blocks"]]
    return sum(len((CONFIG / "blocks" / f"{block}.md").read_text().splitlines()) for block in blocks)


def test_the_tiers_have_114_sub_tests_and_as_many_configurations() -> None:
    tiers = LIBRARY.tiers
    assert Counter(name.partition("/")[0] for name in tiers.names) == COUNTS
    assert len({tiers.declared_digest(name) for name in tiers.names}) == sum(COUNTS.values()) == 114
    check_variants(LIBRARY.variants().values())


def test_only_a_choice_between_sub_tests_makes_an_alias() -> None:
    aliases = {name: variant.alias_of for name, variant in LIBRARY.variants().items() if variant.alias_of}
    assert set(aliases) == set(select("sub-tests", ["T5/0[1-5]-best-*"], LIBRARY.tiers.names))
    assert set(aliases.values()) == {f"{tier}/{LIBRARY.tiers.tiers[tier].representative}"
                                     for tier in ("T0", "T1", "T2", "T3", "T4")}  # fmt: skip


@pytest.mark.parametrize(
    ("sub_test", "least", "most"),
    [("T0/02-core", 240, 280), ("T0/03-standard", 370, 430), ("T0/04-minimal", 45, 65), ("T0/05-full", 1750, 1830)],
)
def test_prompts_have_the_lengths_of_the_ablation(sub_test: str, least: int, most: int) -> None:
    assert least <= lines_of(sub_test) <= most


def test_levels_of_the_hierarchy_hold_all_agents() -> None:
    levels = [LIBRARY.tiers.variant(name).treatment.agents
              for name in select("sub-tests", ["T3/*-level-*"], LIBRARY.tiers.names)]  # fmt: skip
    assert [len(agents) for agents in levels] == [4, 24, 6, 3]
    everything = LIBRARY.tiers.variant("T6/01-everything").treatment
    assert len(everything.agents) == 44
    assert (len(everything.skills), len(everything.mcp_servers)) == (61, 9)
    assert everything.system_prompt is not None
    assert len(everything.system_prompt.blocks) == 18


def test_all_content_is_part_of_a_sub_test() -> None:
    used = {(kind, name) for variant in LIBRARY.variants().values()
            for kind, names in material_names(variant.treatment).items() for name in names}  # fmt: skip
    there = {("skills", path.parent.name) for path in FILES["skills"]}
    there |= {(kind, path.stem) for kind in ("blocks", "agents") for path in FILES[kind]}
    there |= {("mcp", path.parent.name) for path in CONFIG.glob("mcp/*/server.yaml")}
    assert there == used


def test_no_sub_agent_pins_a_model() -> None:
    assert {path.stem for path in FILES["agents"] if read_agent(path).model is not None} == set()


@pytest.mark.parametrize("kind", FILES)
def test_no_two_files_share_more_than_a_fifth_of_their_lines(kind: str) -> None:
    lines = {path: set(long_lines(path)) for path in FILES[kind]}
    assert len(lines) >= 18
    shares = {(one.parent.name, one.stem, other.parent.name, other.stem):
              len(lines[one] & lines[other]) / min(len(lines[one]), len(lines[other]))
              for one, other in itertools.combinations(lines, 2)}  # fmt: skip
    assert {pair: share for pair, share in shares.items() if share > 0.2} == {}


def long_lines(path: Path) -> Iterator[str]:
    yield from (line.strip() for line in path.read_text().splitlines() if len(line.strip()) > SHORTEST_LINE)
