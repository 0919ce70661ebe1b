from pathlib import Path

import pytest

from scylla_gha.analysis.contrasts import compare, rule
from scylla_gha.analysis.frame import BASELINE, baseline_pairings
from scylla_gha.errors import GateError
from scylla_gha.model.analysis import Analysis, Verdict
from scylla_gha.model.report import Comparison, Report
from scylla_gha.report.summary import require_gate
from scylla_gha.stats.resampling import Resampling
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.command import scylla
from tests.support.frames import frame, table
from tests.support.records import make_experiment, make_plan, make_report, make_summary


def reported(margin: float = 0.05, /, **arms: list[str]) -> Report:
    made = frame(table(arms))
    contrasts = compare(made, baseline_pairings(made, "base"), BASELINE, Resampling())
    ruled = tuple(rule(contrast, margin) for contrast in contrasts)
    comparisons = tuple(Comparison(arm=one.arm, baseline="base", verdict=one.verdict, why=one.why) for one in ruled)
    analysis = Analysis(measures=(), slices=(), rulings=ruled, contrasts=())
    return make_report(comparisons=comparisons, analysis=analysis)


def held(gate: str, report: Report) -> str | None:
    try:
        require_gate(make_experiment(baseline="base", gate=gate), report)
    except GateError as error:
        return str(error)
    return None


BETTER = reported(base=["FF"] * 8, good=["PP"] * 8)
WORSE = reported(base=["PP"] * 8, bad=["FF"] * 8)
SAME = reported(base=["PP"] * 60, same=["PP"] * 60)
FEW = reported(base=["PP"] * 8, same=["PP"] * 8)


@pytest.mark.parametrize(
    ("gate", "report", "holds"),
    [
        ("none", WORSE, True),
        ("better", BETTER, True),
        ("better", SAME, False),
        ("better", WORSE, False),
        ("not_worse", BETTER, True),
        ("not_worse", SAME, True),
        ("not_worse", FEW, False),
        ("not_worse", WORSE, False),
    ],
)
def test_a_gate_holds_where_every_arm_is_shown_to_pass(gate: str, report: Report, holds: bool) -> None:
    assert (held(gate, report) is None) == holds


def test_the_message_names_arm_verdict_and_why() -> None:
    said = held("not_worse", FEW) or ""
    assert said.startswith("gate not_worse does not hold: same: not_enough_data: +0.0 points")
    assert "points (one-sided 95 %), and must be above -5.0" in said
    assert (held("better", WORSE) or "").startswith("gate better does not hold: bad: worse: -100.0 points")


def test_many_arms_are_counted() -> None:
    arms = {f"bad{at}": ["FF"] * 8 for at in range(7)}
    assert "; and 2 more arms; " in (held("better", reported(base=["PP"] * 8, **arms)) or "")


@pytest.mark.parametrize(("verdict", "holds"), [("better", True), ("worse", False), ("not_enough_data", False)])
@pytest.mark.parametrize("gate", ["better", "not_worse"])
def test_without_statistics_the_plain_verdict_better_alone_passes(gate: str, verdict: Verdict, holds: bool) -> None:
    bare = make_report(comparisons=(Comparison(arm="a", baseline="base", verdict=verdict, why="plain"),))
    assert (held(gate, bare) is None) == holds


def test_without_statistics_or_another_arm_it_does_not_hold() -> None:
    bare = make_report(comparisons=(Comparison(arm="a", baseline="base", verdict="not_enough_data", why="none"),))
    assert "a: not_enough_data: none" in (held("not_worse", bare) or "")
    assert "there is no arm besides the baseline base" in (held("better", make_report()) or "")


def test_the_command_ends_with_a_code_of_its_own_once_the_report_is_written(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "runs" / "demo")
    write_record(run.plan, make_plan(experiment=make_experiment(baseline="base", gate="not_worse")))
    arms = tuple(make_summary(arm=name) for name in ("base", "good", "bad"))
    write_record(run.report("json"), WORSE.model_copy(update={"arms": arms}))
    said = scylla("report", "demo", cwd=tmp_path)
    assert said.code == GateError.exit_code == 10
    assert "gate not_worse does not hold: bad: worse: -100.0 points" in said.err
    assert run.report("md").exists()
    assert said.out
    write_record(run.report("json"), BETTER.model_copy(update={"arms": arms}))
    assert scylla("report", "demo", cwd=tmp_path).code == 0
