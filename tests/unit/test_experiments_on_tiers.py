"""The experiments on the tiers: each is planned in full, and docs/tiers.md has their figures."""

import functools
import re

import pytest

from scylla_gha.agents import find_agents
from scylla_gha.analysis.contrasts import scenarios_needed
from scylla_gha.analysis.design import USUAL_BASIS, plan_notes, planned_comparisons
from scylla_gha.analysis.frame import build_frame
from scylla_gha.analysis.interactions import ArmParts, interactions
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.model.plan import Plan
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.selection import select_scenarios
from scylla_gha.stats.resampling import Resampling
from tests.support.frames import row
from tests.support.pages import ROOT

ARMS = {
    "full-ablation": 114,
    "adjacent-tiers": 7,
    "prompt-blocks": 38,
    "skills-against-tools": 5,
    "delegation": 4,
    "models": 26,
    "instructions": 14,
}
COMPARISONS = {
    "full-ablation": 6,
    "adjacent-tiers": 6,
    "prompt-blocks": 37,
    "skills-against-tools": 4,
    "delegation": 3,
    "models": 78,
    "instructions": 13,
}
NAMES = sorted(ARMS)
MIXED = ("claude-opus-5", "gpt-6.1-sol", "gemini-3.1-pro-preview")  # since the judged models are of several providers
BOTH = ("core/*", "github/*")
SCENARIOS = {
    "full-ablation": ("core/*",),
    "adjacent-tiers": BOTH,
    "prompt-blocks": BOTH,
    "delegation": BOTH,
    "models": BOTH,
    "instructions": BOTH,
    "skills-against-tools": ("github/*",),
}


@functools.cache
def library() -> Library:
    return Library((toolkit_root(),))


@functools.cache
def plan(name: str) -> Plan:
    experiment = library().experiment(name)
    return plan_cells(experiment, library(), find_agents(experiment, install=False))


@pytest.mark.parametrize("name", NAMES)
def test_all_arms_are_planned_on_all_scenarios_with_a_cost_within_the_budget(name: str) -> None:
    planned, experiment = plan(name), library().experiment(name)
    assert len(planned.arms) == ARMS[name]
    scenarios = select_scenarios(SCENARIOS[name], library())
    assert len(planned.cells) == ARMS[name] * len(scenarios) * (experiment.repetitions or 0)
    assert planned.estimate.usd.high is not None
    assert experiment.budget_usd is not None
    assert planned.estimate.usd.high <= experiment.budget_usd


@pytest.mark.parametrize("name", NAMES)
def test_each_declares_a_hypothesis_and_the_verdicts_that_would_support_it(name: str) -> None:
    experiment = library().experiment(name)
    assert experiment.hypothesis
    assert experiment.expected
    panel = library().experiment("hello-claude").judges
    assert experiment.judges == (MIXED if name in {"models", "instructions"} else panel)


@pytest.mark.parametrize("name", NAMES)
def test_the_declared_family_has_its_comparisons(name: str) -> None:
    assert len(planned_comparisons(plan(name), ())) == COMPARISONS[name]


@pytest.mark.parametrize("name", NAMES)
def test_each_has_scenarios_enough_to_show_a_difference(name: str) -> None:
    assert scenarios_needed(COMPARISONS[name]) <= len({cell.scenario for cell in plan(name).cells})
    (note,) = plan_notes(plan(name), (), USUAL_BASIS)
    assert note.startswith("smallest detectable pass rate difference (80 % power): ")


def test_a_block_is_compared_with_no_block_and_what_lacks_it_with_all() -> None:
    pairs = plan("prompt-blocks").pairs
    names = {arm: other.partition(".")[0] for arm, other in pairs.items()}
    left_out = {arm for arm in names if "-without-" in arm}
    assert len(left_out) == 18
    assert {names[arm] for arm in left_out} == {"t0-05-full"}
    assert {names[arm] for arm in names.keys() - left_out} == {"t0-01-vanilla"}


def test_adjacent_tiers_are_the_representatives() -> None:
    tiers = library().tiers.tiers
    names = [f"{name}/{tier.representative}" for name, tier in tiers.items()]
    assert list(library().experiment("adjacent-tiers").variants) == names


@pytest.mark.parametrize(("name", "pairs"), [("full-ablation", 1), ("prompt-blocks", 18)])
def test_the_whole_prompt_and_its_blocks_can_be_compared(name: str, pairs: int) -> None:
    planned = plan(name)
    parts = {arm.id: ArmParts("one", arm.variant.treatment.parts) for arm in planned.arms if arm.variant}
    rows = [row(arm.id, "001-s", 1) for arm in planned.arms]
    found = interactions(build_frame(rows), parts, Resampling(seed=0))
    whole = next(each for each in found if each.whole.startswith("t0-05-full.") and len(each.parts) > 2)
    assert (len(whole.parts), whole.kinds, whole.without.partition(".")[0]) == (18, ("blocks",), "t0-01-vanilla")
    assert sum(len(each.parts) == 2 for each in found) == pairs


def test_the_page_has_the_figures_of_the_plans() -> None:
    text = (ROOT / "docs/tiers.md").read_text(encoding="utf-8")
    rows = {match[1]: match[0] for match in re.finditer(r"^\| `([\w-]+)` .*$", text, re.MULTILINE)}
    for name in NAMES:
        planned = plan(name)
        usd = planned.estimate.usd
        figures = f"{usd.likely:,.0f} ({usd.low:,.0f} to {usd.high:,.0f})"
        assert rows[name].endswith(f"| {len(planned.cells):,} | {len(planned.arms)} | {figures} |"), figures


def test_the_page_has_the_scenarios_that_a_verdict_takes() -> None:
    text = " ".join((ROOT / "docs/tiers.md").read_text(encoding="utf-8").split())
    needed = {name: scenarios_needed(count) for name, count in COMPARISONS.items()}
    assert (
        f"takes {needed['full-ablation']} scenarios in `full-ablation` and `adjacent-tiers`, {needed['models']} in "
        f"`models` and {needed['prompt-blocks']} in `prompt-blocks`"
    ) in text


def test_the_page_has_the_differences_that_the_plans_are_likely_to_see() -> None:
    text = (ROOT / "docs/tiers.md").read_text(encoding="utf-8")
    rows = {match[1]: match[0] for match in re.finditer(r"^\| `([\w-]+)` .*$", text, re.MULTILINE)}
    for name in NAMES:
        (note,) = plan_notes(plan(name), (), USUAL_BASIS)
        points = re.search(r"power\): ([\d.]+) points \((\d+) scenarios", note)
        assert points is not None
        assert f"| {points[2]} | {points[1]} points |" in rows[name]


def test_the_page_has_the_numbers_of_sub_tests() -> None:
    text = (ROOT / "docs/tiers.md").read_text(encoding="utf-8")
    listed = {match[1]: int(match[2]) for match in re.finditer(r"^\| (T\d) \| \w+ \| (\d+) \|", text, re.MULTILINE)}
    counts = {
        tier: sum(name.startswith(f"{tier}/") for name in library().tiers.names) for tier in library().tiers.tiers
    }
    assert listed == counts
    assert sum(counts.values()) == 114
