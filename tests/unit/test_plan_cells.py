from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.errors import ConfigError
from scylla_gha.images import SandboxImages
from scylla_gha.model.experiment import RetrySettings, TrialLimits, agent_name
from scylla_gha.model.plan import Plan
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.scenario import FixtureSource, ScenarioTask, Validation
from scylla_gha.model.variant import SystemPrompt, Treatment
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.estimate import PastCost
from scylla_gha.plan.selection import CellSelection, select, select_scenarios
from tests.support.agents import BUILT_IN, cli_agent
from tests.support.library import write_model, write_scenario, write_tier
from tests.support.records import make_checkpoint, make_experiment, make_model, make_scenario

CLI = cli_agent("2.0")
AGENTS = {"oracle": BUILT_IN, "nop": BUILT_IN, "cli": CLI, "cli@2.0": CLI}


BARE = Treatment(system_prompt=SystemPrompt(replace=""))


WITH_MODEL: dict[str, Any] = {
    "agents": ("cli",),
    "variants": ("T0/*",),
    "models": ("m",),
    "baseline": "t0-00-bare.cli.m",
}


def library(root: Path, *names: str) -> Library:
    """Scenarios of these ids, and three variants."""
    for name in names or ("001-one",):
        write_scenario(root, make_scenario(id=name), files={"prompt.md": f"Do {name}.\n"})
    write_tier(root, bare=BARE, vanilla=Treatment(), tools=Treatment(tools=()))
    return Library((root,))


def planned(where: Library, choice: CellSelection = CellSelection(), **given: Any) -> Plan:
    return plan_cells(make_experiment(**given), where, AGENTS, choice)


def ids(made: Plan) -> list[str]:
    return [cell.id for cell in made.cells]


def test_an_experiment_unfolds_into_scenarios_arms_and_repetitions(tmp_path: Path) -> None:
    made = planned(library(tmp_path, "001-one", "002-two"), repetitions=2)
    assert sorted(ids(made)) == [
        f"{scenario}--{arm}--r{repetition}"
        for scenario in ("001-one", "002-two")
        for arm in ("nop", "oracle")
        for repetition in ("01", "02")
    ]
    assert [arm.id for arm in made.arms] == ["oracle", "nop"]
    assert len({cell.key for cell in made.cells}) == 8


def test_an_arm_of_a_model_names_variant_agent_and_model(tmp_path: Path) -> None:
    made = planned(library(tmp_path), **{**WITH_MODEL, "agents": ("nop", "cli"), "models": ("m", "Big/M 4.5")})
    assert [arm.id for arm in made.arms] == [
        "nop",
        "t0-00-bare.cli.m",
        "t0-01-vanilla.cli.m",
        "t0-02-tools.cli.m",
        "t0-00-bare.cli.big-m-4.5",
        "t0-01-vanilla.cli.big-m-4.5",
        "t0-02-tools.cli.big-m-4.5",
    ]
    assert (made.arms[1].version, made.arms[1].model, made.arms[1].agent) == ("2.0", "m", "cli")


def test_an_agent_may_have_models_of_its_own(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agents": ("nop", "cli"), "models": ("m",), "variants": ("T0/01-vanilla",)}
    made = planned(library(tmp_path), **given, agent_models={"cli": ("other",)})
    assert [arm.id for arm in made.arms] == ["nop", "t0-01-vanilla.cli.other"]
    overridden = planned(library(tmp_path), CellSelection(models=("big",)), **given, agent_models={"cli": ("other",)})
    assert [arm.model for arm in overridden.arms] == [None, "big"]
    with pytest.raises(ValidationError, match="agent_models: clii is not in `agents`"):
        make_experiment(agent_models={"clii": ("m",)})


def test_scenarios_repeat_as_often_as_they_say_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    write_scenario(tmp_path, make_scenario(id="001-one", runs_per_tier=1))
    write_scenario(tmp_path, make_scenario(id="002-two", runs_per_tier=3))
    where = Library((tmp_path,))
    assert [len(planned(where, repetitions=times).cells) for times in (None, 2)] == [8, 8]
    assert sum(cell.scenario == "002-two" for cell in planned(where, repetitions=None).cells) == 6
    chosen = planned(where, CellSelection(repetitions=5), repetitions=2)
    assert (len(chosen.cells), chosen.experiment.repetitions) == (20, 5)


def test_arms_are_interleaved_never_in_blocks(tmp_path: Path) -> None:
    made = planned(library(tmp_path, "001-one", "002-two"), repetitions=6, **WITH_MODEL)
    arms = {arm.id for arm in made.arms}
    blocks = [made.cells[start : start + 3] for start in range(0, len(made.cells), 3)]
    assert [{cell.arm for cell in block} for block in blocks] == [arms] * 12
    assert [{(cell.repetition, cell.scenario) for cell in block} for block in blocks] == [
        {(repetition, scenario)} for repetition in range(1, 7) for scenario in ("001-one", "002-two")
    ]
    assert len({tuple(cell.arm for cell in block) for block in blocks}) > 1


def test_the_same_seed_gives_the_same_order_and_another_another(tmp_path: Path) -> None:
    where = library(tmp_path)
    orders = [ids(planned(where, seed=seed, repetitions=6, **WITH_MODEL)) for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_a_part_of_the_cells_keeps_order_and_keys(tmp_path: Path) -> None:
    where = library(tmp_path)
    everything = planned(where, repetitions=4, **WITH_MODEL)
    part = planned(where, CellSelection(only=("*--r02", "*vanilla*")), repetitions=4, **WITH_MODEL)
    assert len(part.cells) == 3 + 3
    assert list(part.cells) == [c for c in everything.cells if c.repetition == 2 or "vanilla" in c.id]


def test_a_glob_over_cells_that_matches_none_shows_an_id(tmp_path: Path) -> None:
    said = fault(library(tmp_path), CellSelection(only=("*--R01", "x")))
    assert said.startswith("--only '*--R01 x' matches none of 2 cells; an example of an id: 001-one--")


def fault(where: Library, choice: CellSelection = CellSelection(), **given: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        planned(where, choice, **given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"scenarios": ("001-two",)}, "scenarios: '001-two' matches nothing; did you mean \"001-one\"?"),
        ({"scenarios": ("*", "x*")}, "scenarios: 'x*' matches nothing; there are: 001-one"),
        ({**WITH_MODEL, "variants": ("T0/00-bear",)}, "variants: 'T0/00-bear' matches nothing; did you mean"),
        ({**WITH_MODEL, "variants": ()}, "experiment demo: cli needs variants and models; add both lists"),
        ({**WITH_MODEL, "models": ()}, "experiment demo: cli needs variants and models; add both lists"),
        ({"baseline": "nopp"}, "baseline: 'nopp' is not an arm; did you mean \"nop\"?; the arms are: oracle, nop"),
        ({"agents": ("nop", "nop")}, "two arms have the id nop; list each agent, model and mode once"),
        ({**WITH_MODEL, "agents": ("cli", "cli@2.0")}, "two arms have the id t0-00-bare.cli.m; list each agent"),
        ({**WITH_MODEL, "models": ("m/1", "m-1")}, "two arms have the id t0-00-bare.cli.m-1"),
    ],
)
def test_what_is_no_experiment_is_refused(tmp_path: Path, given: dict[str, Any], expected: str) -> None:
    assert expected in fault(library(tmp_path), **given)


def test_two_variants_that_are_one_configuration_are_refused(tmp_path: Path) -> None:
    where = library(tmp_path)
    write_tier(tmp_path, bare=BARE, vanilla=BARE)
    assert "T0/00-bare and T0/01-vanilla have the same configuration" in fault(where, **WITH_MODEL)


def test_a_twin_that_the_experiment_does_not_name_does_not_matter(tmp_path: Path) -> None:
    where = library(tmp_path)
    write_tier(tmp_path, bare=BARE, vanilla=BARE)
    assert len(planned(where, **{**WITH_MODEL, "variants": ("T0/00-bare",)}).cells) == 1


def key(
    root: Path,
    *,
    scenario: dict[str, Any] | None = None,
    files: dict[str, str | bytes] | None = None,
    known: InstalledAgent = CLI,
    choice: CellSelection = CellSelection(),
    treatment: Treatment = BARE,
    name: str = "bare",
    **given: Any,
) -> str:
    """The key of the one cell of an experiment with one arm."""
    write_scenario(root, make_scenario(**(scenario or {})), files=files)
    write_tier(root, **{name: treatment})
    one = {**WITH_MODEL, "baseline": f"t0-00-{name}.cli.{given.get('models', 'm')[0]}", **given}
    made = plan_cells(make_experiment(**one), Library((root,)), dict.fromkeys(one["agents"], known), choice)
    (cell,) = made.cells
    return cell.key


ORACLE: dict[str, Any] = {"agents": ("oracle",), "baseline": "oracle", "known": BUILT_IN}


SOLUTION: dict[str, Any] = {"files": {"solution/solution.patch": "diff"}}


OVERRIDDEN = {"scenario": {"overrides": {".cli/x": "x"}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, {"files": {"prompt.md": "Do it well.\n"}}, id="prompt"),
        pytest.param({}, {"scenario": {"source": FixtureSource(fixture="one", hash="1" * 40)}}, id="start state"),
        pytest.param({}, {"scenario": {"tools": Tools(python={"ruff": "1"})}}, id="tools"),
        pytest.param({}, {"scenario": {"container": "python:3.12"}}, id="container"),
        pytest.param(
            {**OVERRIDDEN, "files": {"x": "1"}}, {**OVERRIDDEN, "files": {"x": "2"}}, id="contents of an override"
        ),
        pytest.param(
            {},
            {"scenario": {"task": ScenarioTask(prompt_file="prompt.md", timeout_seconds=601)}},
            id="time limit of the task",
        ),
        pytest.param({}, {"limits": TrialLimits(timeout_seconds=601)}, id="time limit of the experiment"),
        pytest.param({}, {"limits": TrialLimits(turns=5)}, id="turns"),
        pytest.param({}, {"limits": TrialLimits(usd=5.0)}, id="cost limit"),
        pytest.param({}, {"treatment": Treatment()}, id="treatment"),
        pytest.param({}, {"known": cli_agent("2.1")}, id="version of the agent"),
        pytest.param({}, {"known": cli_agent(None)}, id="version not known"),
        pytest.param({}, {"models": ("n",)}, id="model"),
        pytest.param({}, {"choice": CellSelection(epoch="2026-01-01")}, id="epoch"),
        pytest.param(
            {"repetitions": 2, "choice": CellSelection(only=("*r01",))},
            {"repetitions": 2, "choice": CellSelection(only=("*r02",))},
            id="repetition",
        ),
        pytest.param({**ORACLE}, {**ORACLE, **SOLUTION}, id="solution, for the agent that applies it"),
    ],
)
def test_what_can_change_what_an_agent_does_changes_the_key(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert key(tmp_path / "a", **before) != key(tmp_path / "b", **after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, {}, id="nothing, in another folder"),
        pytest.param({}, {"scenario": {"title": "Two", "difficulty": "hard", "size": "large"}}, id="labels"),
        pytest.param({}, {"scenario": {"checkpoints": (make_checkpoint(file="x"),)}}, id="checkpoints"),
        pytest.param(
            {}, {"scenario": {"validation": Validation(rubric_file="rubric.yaml", timeout_seconds=9)}}, id="validation"
        ),
        pytest.param({}, {"files": {"checks/verify.py": "x"}}, id="hidden checks"),
        pytest.param({}, SOLUTION, id="solution, for an agent that never sees it"),
        pytest.param({}, {"name": "renamed"}, id="name of the variant"),
        pytest.param({}, {"id": "other", "question": "Why?", "seed": 5, "budget_usd": 1.0}, id="experiment"),
        pytest.param({}, {"retry": RetrySettings(attempts=1)}, id="retries"),
        pytest.param({"choice": CellSelection(only=("*r01",)), "repetitions": 9}, {}, id="number of repetitions"),
        pytest.param(
            {"agents": ("cli@2.0",), "known": cli_agent(None)},
            {},
            id="version pinned, or found to be that",
        ),
    ],
)
def test_what_cannot_change_what_an_agent_does_does_not_change_the_key(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert key(tmp_path / "a", **before) == key(tmp_path / "b", **after)


def boxed(root: Path, boxing: SandboxImages) -> Plan:
    return plan_cells(make_experiment(agents=("oracle",), baseline="oracle"), library(root), AGENTS, images=boxing)


def test_an_image_is_in_the_key_and_that_of_the_checks_in_the_plan(tmp_path: Path) -> None:
    host, unmade, one, two = (
        boxed(tmp_path, boxing)
        for boxing in (
            SandboxImages(),
            SandboxImages("docker"),
            SandboxImages("docker", lambda _, arm: "agent-1" if arm else "checks-1"),
            SandboxImages("docker", lambda _, arm: "agent-2" if arm else "checks-1"),
        )
    )
    assert len({made.cells[0].key for made in (host, unmade, one, two)}) == 4
    assert [made.sandbox for made in (host, unmade, one)] == ["host", "docker", "docker"]
    scenario = one.cells[0].scenario
    assert (host.check_images, unmade.check_images) == ({}, {})
    assert one.check_images[scenario] == two.check_images[scenario] == "checks-1"


def test_the_plan_says_that_it_is_a_part(tmp_path: Path) -> None:
    where = library(tmp_path, "001-one", "002-two")
    assert planned(where, CellSelection(only=("001-*",))).only == ("001-*",)
    assert planned(where).only == ()


def test_a_name_may_pin_a_version() -> None:
    assert agent_name("claude-code@2.1.197") == ("claude-code", "2.1.197")
    assert agent_name("nop") == ("nop", None)
    assert agent_name("nop@") == ("nop", None)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [(["b", "*"], ["b", "a", "c"]), (["[ac]", "a"], ["a", "c"]), ([], []), (["*"], ["a", "b", "c"])],
)
def test_names_are_selected_in_the_order_of_the_globs_each_once(patterns: list[str], expected: list[str]) -> None:
    assert select("things", patterns, ["a", "b", "c"]) == expected


def test_a_glob_with_a_slash_selects_suites() -> None:
    toolkit = Library((toolkit_root(),))
    core = select_scenarios(("core/*",), toolkit)
    assert core == [id_ for id_, folder in toolkit.scenarios.items() if folder.parent.name == "core"]
    assert select_scenarios(("001-*", "core/001-hello-world"), toolkit) == ["001-hello-world"]
    with pytest.raises(ConfigError, match=r"scenarios: 'cor/\*' matches nothing"):
        select_scenarios(("cor/*",), toolkit)


def test_what_is_not_planned_has_no_part_in_the_estimate(tmp_path: Path) -> None:
    where = library(tmp_path)
    both = {**WITH_MODEL, "agents": ("nop", "cli")}
    assert planned(where, **both).estimate.usd.likely is None  # the price of the model is unknown
    assert planned(where, CellSelection(only=("*--nop--*",)), **both).estimate.usd.likely == 0.0


def test_prices_and_history_reach_the_estimate(tmp_path: Path) -> None:
    where = library(tmp_path)
    write_model(tmp_path, make_model())
    experiment = make_experiment(**WITH_MODEL, repetitions=2)
    history = {("001-one", "t0-00-bare.cli.m"): [PastCost(0.5, 60.0)]}
    made = plan_cells(experiment, where, AGENTS, history=history)
    assert made.estimate.basis == "history for 2 of 6 cells, priors by size for other cells"
    assert made.estimate.usd.low is not None
    assert made.estimate.usd.low > 1.0


def test_overridden_arms_are_compared_with_the_baseline_or_else_with_the_first(tmp_path: Path) -> None:
    where = library(tmp_path)
    names = [arm.id for arm in planned(where, **WITH_MODEL).arms]
    assert planned(where, CellSelection(variants=("*",)), **WITH_MODEL).experiment.baseline == names[0]
    changed = planned(where, CellSelection(models=("other",)), **WITH_MODEL)
    assert changed.experiment.baseline == changed.arms[0].id
    assert {arm.model for arm in changed.arms} == {"other"}
    assert "is not an arm" in fault(
        where, baseline="missing", **{k: v for k, v in WITH_MODEL.items() if k != "baseline"}
    )
