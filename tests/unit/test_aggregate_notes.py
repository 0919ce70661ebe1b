"""Notes of a report: what a change altered, and files for agents of start states, in all renderings."""

import io

from rich.console import Console

from scylla_gha.aggregate import aggregate
from scylla_gha.model.plan import Arm
from scylla_gha.model.report import Report
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.report import markdown
from scylla_gha.report.comment import comment
from scylla_gha.report.terminal import terminal_report
from tests.support.comments import facts
from tests.support.records import make_cell, make_experiment, make_model_arm, make_plan, make_result


def arm(name: str, **fields: object) -> Arm:
    return make_model_arm(id=name, **fields)


def variant(files: tuple[str, ...] | None = None, **materials: str) -> Variant:
    names = {name.replace("__", "/"): digest for name, digest in materials.items()}
    return Variant(id="T0/01-vanilla", treatment=Treatment(agent_files=files), materials=names)


def report_of(*arms: Arm, files: tuple[str, ...] = ()) -> Report:
    cells = [make_cell(each.id, scenario=scenario) for scenario in ("001-one", "002-two") for each in arms]
    rows = [make_result(cell, agent_files=files if cell.scenario == "001-one" else ()) for cell in cells]
    return aggregate(make_plan(*cells, arms=arms, experiment=make_experiment(baseline=arms[0].id)), rows)


def test_a_change_is_told_in_each_rendering() -> None:
    before = variant(("*",), agent_files__A="1", skills__old="2", skills__same="3")
    after = variant(("*",), agent_files__A="4", agent_files__B="5", skills__same="3")
    report = report_of(arm("x.base", variant=before), arm("x.head", variant=after, side="head", against="x.base"))
    note = "x.head against x.base: added B; changed A; removed skills/old."
    assert report.notes == (note,)
    screen = io.StringIO()
    terminal_report(report, Console(file=screen, width=200))
    assert all(note in text for text in (markdown(report), comment(report, facts()), screen.getvalue()))


def test_files_for_agents_of_start_states_are_told_for_arms_that_do_not_choose() -> None:
    report = report_of(arm("x", variant=variant()), arm("y", variant=variant(())), files=("CLAUDE.md", "AGENTS.md"))
    what = "Start states brought files for agents into all arms without `agent_files`"
    assert report.notes == (f"{what}, in 1 scenario of 2: AGENTS.md, CLAUDE.md.",)
    assert report_of(arm("y", variant=variant(())), files=("CLAUDE.md",)).notes == ()
    assert report_of(arm("x", variant=variant())).notes == ()
