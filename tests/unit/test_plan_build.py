import datetime
from pathlib import Path

import pytest

from scylla_gha.agents import InstalledAgent, find_agents
from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Cell, CostRange, Estimate, EstimateShare, Plan
from scylla_gha.model.trial import Outcome
from scylla_gha.plan import (
    PlanRequest,
    history_of,
    make_plan,
    past_costs,
    plan_lines,
    wall_minutes,
)
from scylla_gha.plan.reuse_results import judging_of
from scylla_gha.plan.selection import CellSelection
from scylla_gha.store import write_lines
from scylla_gha.store.run_folder import RunFolder
from tests.support.agents import ShellAgent
from tests.support.records import NOTHING, make_arm, make_cell, make_excluded_result, make_experiment, make_result
from tests.support.records import make_plan as make_plan_record
from tests.support.repository import SCENARIO, make_repository, write_greet_experiment
from tests.support.scripted_claude import stand_in


def experiment_of(*agents: str) -> Experiment:
    return make_experiment(agents=agents)


@pytest.mark.parametrize("install", [True, False])
def test_built_in_agents_are_always_there(install: bool) -> None:
    found = find_agents(experiment_of("oracle", "nop"), install=install)
    assert {one.program for one in found.values()} == {""}
    assert {agent.version for agent in found.values()} == {"1"}


@pytest.mark.parametrize(
    ("named", "hint"),
    [
        ("oracel", "there is no agent 'oracel'; did you mean \"oracle\"?; there are: oracle, nop, claude-code"),
        ("claude-cod@2.1.0", "there is no agent 'claude-cod'; did you mean \"claude-code\"?"),
        ("x", "there is no agent 'x'; there are: "),
    ],
)
def test_an_unknown_agent_is_named_with_a_hint(named: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_agents(experiment_of(named), install=False)
    assert hint in str(caught.value)


def test_another_version_than_the_pinned_one_is_refused() -> None:
    with pytest.raises(
        ToolError, match=r"^agents: oracle@9: the installed version is 1; correct the pin, or remove it$"
    ):
        find_agents(experiment_of("oracle@9"), install=True)


def test_the_pinned_version_is_taken() -> None:
    assert find_agents(experiment_of("oracle@1"), install=True)["oracle@1"].version == "1"


def test_an_agent_cli_on_path_is_asked_for_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_folder = stand_in(tmp_path, "exit 9")
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    found = find_agents(experiment_of("claude-code"), install=True)
    assert found["claude-code"].program == f"{bin_folder}/claude"
    assert found["claude-code"].version == "2.1.197"


@pytest.mark.parametrize(("named", "version"), [("claude-code", None), ("claude-code@2.1.197", "2.1.197")])
def test_without_installing_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, named: str, version: str | None
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = find_agents(experiment_of(named), install=False)
    assert found[named].program == ""
    assert found[named].version == version


@pytest.fixture
def library(tmp_path: Path) -> Library:
    make_repository(tmp_path / "repo")
    return Library((tmp_path / "repo",))


def planned(library: Library, folder: RunFolder) -> Plan:
    installed = {name: InstalledAgent(ShellAgent(), "", "1") for name in ("oracle", "nop")}
    return make_plan(PlanRequest("greet", library, CellSelection(), folder), installed)


def test_a_plan_is_of_the_experiment_that_is_named(library: Library, tmp_path: Path) -> None:
    made = planned(library, RunFolder(tmp_path / "runs"))
    assert sorted(cell.id for cell in made.cells) == [f"{SCENARIO}--nop--r01", f"{SCENARIO}--oracle--r01"]
    assert made.estimate.basis == "history for 0 of 2 cells, priors by size for other cells"


def test_what_earlier_trials_took_is_its_history(library: Library, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs")
    mine, other = make_cell("nop", scenario=SCENARIO), make_cell("oracle", scenario=SCENARIO)
    rows = [make_result(mine, seconds=60.0), make_result(mine, seconds=180.0)]
    excluded = make_excluded_result(other, Outcome.PROVIDER_ERROR, seconds=6000.0)
    write_lines(folder.results, [*rows, excluded])
    made = planned(library, folder)
    assert made.estimate.basis == "history for 1 of 2 cells, priors by size for other cells"
    assert made.estimate.minutes.likely == pytest.approx(2.0 + 0.01 + 2 * 0.05)


def plan_of(*cells: Cell, estimate: Estimate) -> Plan:
    return make_plan_record(*cells, arms=(make_arm(), make_arm(id="oracle", agent="oracle")), estimate=estimate)


def test_what_is_planned_is_told_on_standard_error() -> None:
    agents = EstimateShare(
        usd=CostRange(low=1.0, likely=2.5, high=10.0), minutes=CostRange(low=4.0, likely=8.0, high=40.0)
    )
    estimate = Estimate(agents=agents, judges=NOTHING, basis="a guess")
    made = plan_of(make_cell("nop"), make_cell("oracle"), estimate=estimate)
    assert list(plan_lines(made, 4)) == [
        "demo: Which is better?",
        "2 cells: 1 scenario, 2 arms",
        "estimate: $2.50 ($1.00 to $10.00); 2.0 (1.0 to 10) minutes with 4 at once (a guess)",
    ]
    assert wall_minutes(made, 4) == CostRange(low=1.0, likely=2.0, high=10.0), "so --json says the same"


@pytest.mark.parametrize(
    ("usd", "expected"),
    [
        pytest.param(
            CostRange(low=0.0, likely=0.0, high=0.0), "estimate: $0.00; ", id="one number where all are equal"
        ),
        pytest.param(CostRange(low=None, likely=None, high=None), "estimate: ?; ", id="unknown is not 0"),
    ],
)
def test_the_cost_is_told_as_it_is_known(usd: CostRange, expected: str) -> None:
    agents = EstimateShare(usd=usd, minutes=CostRange(low=None, likely=None, high=None))
    estimate = Estimate(agents=agents, judges=NOTHING, basis="none")
    line = list(plan_lines(plan_of(make_cell(), estimate=estimate), 1))[-1]
    assert line == f"{expected}unknown minutes with 1 at once (none)"


def test_agents_and_judges_are_told_apart_and_the_models_notes_come_last() -> None:
    share = [EstimateShare(usd=CostRange(low=usd, likely=usd, high=usd), minutes=NOTHING.minutes) for usd in (1.0, 2.0)]
    made = plan_of(make_cell(), estimate=Estimate(agents=share[0], judges=share[1], basis="a guess"))
    made = made.model_copy(update={"experiment": make_experiment(judges=("m", "n")), "notes": ("m: retires",)})
    assert list(plan_lines(made, 1))[2:] == [
        "estimate: $3.00; 0.0 minutes with 1 at once (a guess)",
        "  agents $1.00; judges $2.00",
        "note: m: retires",
    ]


def test_what_panels_cost_before_is_history_where_they_were_asked(tmp_path: Path) -> None:
    rows = [make_result(make_cell("nop"), judge_usd=usd, judged=judged)
            for usd, judged in ((0.5, True), (0.0, True), (None, True), (0.7, False))]  # fmt: skip
    write_lines(tmp_path / "results.jsonl", rows)
    (found,) = history_of(tmp_path / "results.jsonl").values()
    assert [spent.judge_usd for spent in found] == [0.5, None, None, None]


def test_trials_of_the_runs_beside_it_are_history_and_replays_are_not(tmp_path: Path) -> None:
    row = make_result(make_cell("nop"), check_seconds=3.0)
    for name, rows in {"here": [row], "beside": [row], "replay": [row.model_copy(update={"replayed": True})]}.items():
        (tmp_path / name).mkdir()
        write_lines(tmp_path / name / "results.jsonl", rows)
    (costs,) = past_costs(RunFolder(tmp_path / "here")).values()
    assert [cost.check_seconds for cost in costs] == [3.0, 3.0]


def test_rows_of_another_version_are_no_help_and_no_hindrance(library: Library, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs")
    folder.results.parent.mkdir()
    folder.results.write_text('{"schema_version": 0}\n')
    assert history_of(folder.results) == {}
    note = f"{folder.results}: was written by another version, so the estimate does not use it"
    assert planned(library, folder).notes[0] == note


def test_what_a_plan_can_see_is_among_its_notes(library: Library, tmp_path: Path) -> None:
    made = planned(library, RunFolder(tmp_path / "runs"))
    assert made.judging == judging_of(made, library)
    assert made.notes[-1].startswith(
        "no difference of pass rates can be shown, even the largest: a verdict needs at least 6 scenarios"
    )


@pytest.mark.parametrize(("days", "has_limit"), [(None, False), (30.0, True), (1e9, False), (1e300, False)])
def test_a_maximum_age_becomes_the_moment_before_which_trials_are_too_old(
    library: Library, tmp_path: Path, days: float | None, has_limit: bool
) -> None:
    root = library.roots[0]
    write_greet_experiment(root, max_age_days=days)
    made = planned(Library((root,)), RunFolder(tmp_path / "runs"))
    assert (made.not_before is not None) == has_limit
    if made.not_before and days:
        age = datetime.datetime.now(datetime.UTC) - made.not_before
        assert age >= datetime.timedelta(days=days)
