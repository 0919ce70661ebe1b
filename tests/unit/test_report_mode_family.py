"""Modes are compared with the baseline's mode within the same variant, agent and model, in plan and report."""

import io
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.analysis.design import USUAL_BASIS, pair_variances, plan_notes, planned_comparisons, why_gate_impossible
from scylla_gha.analysis.frame import build_frame
from scylla_gha.compare import arm_verdicts
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.mode import Mode
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.model.variant import SystemPrompt, Treatment, Variant
from scylla_gha.plan.cells import comparison_notes
from scylla_gha.report import markdown
from scylla_gha.report.comment import comment
from scylla_gha.report.page import PageParts, page
from scylla_gha.report.page.trials import trial_table
from scylla_gha.report.summary import title
from scylla_gha.report.terminal import terminal_report
from scylla_gha.report.view import report_view
from scylla_gha.store import write_record
from tests.support.comments import facts
from tests.support.records import make_cell, make_experiment, make_plan, make_result
from tests.support.reports import section

SCENARIOS = tuple(f"{number:03d}-s" for number in range(12))
Passes = Callable[[str, str, int], int]  # of two repetitions, by mode, model and number of the scenario


def arm_id(mode: str, model: str, variant: str = "t0-01-vanilla") -> str:
    return f"{variant}.{mode}.cli.{model}"


A, B = "a", "b"
A_GH, A_MCP, B_GH, B_MCP = (arm_id(mode, model) for model in (A, B) for mode in ("baseline", "mcp"))
PAIRS = {A_MCP: A_GH, B_MCP: B_GH}


def planned(
    modes: tuple[str, ...] = ("baseline", "mcp"), models: tuple[str, ...] = (A, B),
    variants: tuple[str, ...] = ("T0/01-vanilla",), **given: Any,
) -> Plan:  # fmt: skip
    """A plan as `plan` makes it: variants x modes x models, two repetitions of each scenario."""
    arms = [
        Arm(id=arm_id(mode, model, variant.lower().replace("/", "-")), agent="cli", version="1", model=model,
            variant=Variant(id=variant, treatment=Treatment(system_prompt=SystemPrompt(append=variant))),
            mode=Mode(id=mode, instructions=mode))
        for mode in modes for model in models for variant in variants
    ]  # fmt: skip
    cells = [make_cell(arm.id, repetition, scenario)
             for arm in arms for scenario in SCENARIOS for repetition in (1, 2)]  # fmt: skip
    experiment = make_experiment(**{"modes": modes, "models": models, "baseline": arms[0].id, **given})
    return make_plan(*cells, experiment=experiment, arms=tuple(arms))


def rows(plan: Plan, passes: Passes) -> list[Result]:
    results = []
    for cell in plan.cells:
        arm = plan.arm(cell.arm)
        assert arm.mode is not None and arm.model is not None and arm.variant is not None  # noqa: PT018
        times = passes(arm.mode.id, arm.model, int(cell.scenario[:3]))
        results.append(make_result(cell, agent="cli", model=arm.model, variant=arm.variant.id, mode=arm.mode.id,
                                   passed=cell.repetition <= times, delivered=True))  # fmt: skip
    return results


def only_b_gains(mode: str, model: str, number: int) -> int:
    """Model a passes half of the scenarios by any mode; model b none by gh, and almost all by another mode."""
    return 2 * (number % 2) if model == A else (mode != "baseline") * (2 if number % 4 else 1)


def report(plan: Plan, passes: Passes = only_b_gains) -> Report:
    return aggregate(plan, rows(plan, passes), question=question_of(plan))


def test_a_plan_of_two_models_and_two_modes_compares_within_each_model() -> None:
    plan = planned()
    assert plan.family == "modes"
    assert plan.pairs == PAIRS
    assert [each.arm for each in planned_comparisons(plan, ())] == [A_MCP, B_MCP]
    assert "2 comparisons" in next(plan_notes(plan, (), USUAL_BASIS))
    (note,) = comparison_notes(plan)
    assert note == ("compares each mode with baseline within the same variant, agent and model (2 comparisons): "
                    f"{A_MCP} with {A_GH}, {B_MCP} with {B_GH}")  # fmt: skip


def test_the_report_compares_within_each_model_and_adjusts_for_these_comparisons_alone() -> None:
    of = report(planned())
    assert {each.arm: each.baseline for each in of.comparisons} == PAIRS
    assert {each.arm: each.verdict for each in of.answer} == {A_MCP: "not_enough_data", B_MCP: "better"}
    assert of.analysis is not None
    assert {(ruling.contrast.family_size, ruling.contrast.adjustment) for ruling in of.analysis.rulings} == {
        (2, "Holm")
    }
    assert of.family == "each mode against the baseline's mode"
    assert title(of).startswith("✓ mcp.b is better than baseline.b: passes 88 % against 0 %, +87.5 points")
    assert title(of).endswith("1 better, 0 worse, 0 equivalent, 1 without enough data.")
    assert {each.baseline for each in of.analysis.contrasts if each.metric == "usd"} == {A_GH, B_GH}


def test_a_family_that_is_declared_stays() -> None:
    plan = planned(family="baseline")
    assert plan.pairs == dict.fromkeys((A_MCP, B_GH, B_MCP), A_GH)
    assert plan.experiment.model_dump()["family"] == "baseline"
    assert planned(modes=("mcp",)).family == "baseline"
    assert planned(leave_one_out="T0/05-full").family == "baseline", "what is left out is compared with the whole"


def test_the_mode_of_the_baseline_is_that_which_others_are_compared_with() -> None:
    assert planned(baseline=B_MCP).pairs == {A_GH: A_MCP, B_GH: B_MCP}
    assert planned(baseline="another-arm").pairs == PAIRS, "else the first mode"


def test_each_variant_is_compared_with_itself_and_all_of_them_are_one_family() -> None:
    plan = planned(variants=("T0/01-vanilla", "T1/01-skill"), modes=("baseline", "mcp", "own"))
    assert len(plan.pairs) == 8
    for (arm, other), model in itertools.product(plan.pairs.items(), (A, B)):
        assert arm.partition(".")[0] == other.partition(".")[0]
        assert arm.endswith(f".{model}") == other.endswith(f".{model}")
    analysis = report(plan).analysis
    assert analysis is not None
    assert {ruling.contrast.family_size for ruling in analysis.rulings} == {8}
    crossed = [each for each in analysis.interactions if each.contrast.family == "mode x model"]
    assert {(each.whole.split(".")[0], each.without.split(".")[0]) for each in crossed} == {
        ("t0-01-vanilla", "t0-01-vanilla"), ("t1-01-skill", "t1-01-skill"),
    }  # fmt: skip
    assert {each.contrast.family_size for each in crossed} == {4}


def test_mode_and_model_together_are_compared_with_both_alone() -> None:
    analysis = report(planned()).analysis
    assert analysis is not None
    (crossed,) = analysis.interactions
    assert (crossed.whole, crossed.parts, crossed.without) == (B_MCP, (B_GH, A_MCP), A_GH)
    # Alone, the mode changes nothing with model a, and model b by gh passes half less.
    assert (crossed.effect, crossed.sum_of_parts, crossed.contrast.value) == pytest.approx((0.375, -0.5, 0.875))
    assert (crossed.kinds, crossed.contrast.family, crossed.contrast.adjustment) == (
        ("mode", "model"), "mode x model", "Holm",
    )  # fmt: skip


def test_models_are_compared_over_the_modes_that_both_have() -> None:
    analysis = report(planned()).analysis
    assert analysis is not None
    (models,) = (each for each in analysis.contrasts if each.family == "models against each other")
    assert (models.arm, models.baseline, models.value, models.scenarios) == (A, B, 0.5 - 0.875 / 2, 12)


def test_every_rendering_says_what_is_compared_and_whether_it_depends_on_the_model() -> None:
    of = report(planned())
    console = Console(width=200, record=True, file=io.StringIO())
    terminal_report(of, console)
    view = report_view(of)
    html = page(view, PageParts((), trial_table(view, (), (), has_files=False), ()))
    line = "Mode x model, beyond the sum of both effects alone: mcp.b +87.5 points [+"
    texts = {"comment": comment(of, facts()), "page": html, "terminal": console.export_text(), "report": markdown(of)}
    for name, text in texts.items():
        plain = " ".join(text.replace("\\", "").split())
        assert "mcp.b is better than baseline.b" in plain, name
        assert line in plain or name == "report", plain
    assert "Changes against the baseline's mode" in texts["report"]
    assert "Each arm against the arm of the baseline's mode with the same variant, agent and model" in texts["comment"]
    row = section(of, "Modes by models")[-1]
    assert row.startswith("| mcp.b | baseline.b, mcp.a | +37.5 points | -50.0 points | ↑ +87.5 points |"), row


def test_without_statistics_the_same_arms_are_compared_and_named_so() -> None:
    plan = planned()
    of = aggregate(plan, rows(plan, only_b_gains))
    assert {each.arm: (each.baseline, each.verdict) for each in of.comparisons} == {
        A_MCP: (A_GH, "not_enough_data"), B_MCP: (B_GH, "better"),
    }  # fmt: skip
    assert "✓ mcp.b is better than baseline.b: +87.5 points" in title(of)
    assert Report.model_validate_json(of.model_dump_json()) == of


def test_an_arm_whose_partner_has_no_cell_is_named_in_plan_and_report() -> None:
    whole = planned()
    plan = whole.model_copy(update={"cells": tuple(cell for cell in whole.cells if cell.arm != B_GH)})
    assert list(comparison_notes(plan))[1:] == [f"{B_MCP}: is not compared, since no cell of {B_GH} is planned"]
    missing = {each.arm: (each.verdict, each.why) for each in report(plan).comparisons}[B_MCP]
    assert missing == ("not_enough_data", f"no cell of the baseline {B_GH} is planned")
    alone = whole.model_copy(update={"cells": tuple(cell for cell in whole.cells if "mcp" not in cell.arm)})
    assert next(comparison_notes(alone)).endswith("(0 comparisons): no arm of another mode is planned")
    assert report(alone).comparisons == ()


def test_a_scenario_that_one_mode_lacks_is_left_out_of_its_comparisons() -> None:
    whole = planned()
    cells = (cell for cell in whole.cells if cell.scenario != SCENARIOS[0] or "mcp" not in cell.arm)
    analysis = report(whole.model_copy(update={"cells": tuple(cells)})).analysis
    assert analysis is not None
    assert {(ruling.contrast.scenarios, ruling.contrast.dropped) for ruling in analysis.rulings} == {(11, 1)}


def test_a_gate_holds_each_mode_against_the_baselines_mode(tmp_path: Path) -> None:
    plan = planned(gate="better")
    assert why_gate_impossible(plan, (), USUAL_BASIS) is None
    write_record(tmp_path / "report.json", report(plan))
    verdicts: Mapping[str, str] = {each.arm: each.against for each in arm_verdicts(tmp_path / "report.json")}
    assert verdicts == PAIRS
    with pytest.raises(ValidationError, match="`family: modes` needs at least two modes; list them in `modes`"):
        make_experiment(family="modes", modes=("mcp",))


def test_a_pilots_variances_are_those_of_the_compared_arms() -> None:
    plan = planned()
    frame = build_frame(rows(plan, only_b_gains))
    assert [each.arm for each in pair_variances(frame, plan.pairs)] == [A_MCP, B_MCP]


def test_stored_experiments_without_a_family_are_read() -> None:
    stored = make_experiment().model_dump()
    assert "family" not in stored
    assert Experiment.model_validate(stored).declared_family == "baseline"
