"""Modes in a report: tasks that a mode cannot do, comparisons over common scenarios, and operations on GitHub."""

import re
from collections.abc import Iterator
from pathlib import Path

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.plan import Cell, ImpossibleTask, Plan
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.store.run_folder import RunFolder
from tests.support.records import make_cell, make_experiment, make_plan, make_result
from tests.support.report_pages import write_page
from tests.support.reports import section

SCENARIOS = ("151-review", "152-reply", "156-triage")
REASON = "It cannot reply to a thread"


def cells() -> Iterator[Cell]:
    for scenario in SCENARIOS:
        for repetition in (1, 2):
            yield make_cell("baseline.cli", repetition, scenario)
            if scenario != "152-reply":
                yield make_cell("mcp.cli", repetition, scenario)


def plan() -> Plan:
    task = ImpossibleTask(mode="mcp", scenario="152-reply", reason=REASON)
    return make_plan(*cells(), experiment=make_experiment(baseline="baseline.cli"), not_possible=(task,))


def row_of(cell: Cell) -> Result:
    is_mcp = cell.arm.startswith("mcp")
    calls = {"git.write": 1, "pr.read": 4, "pr.write": 2} if is_mcp else {"pr.read": 1, "pr.write": 1, "repo.read": 2}
    if cell.scenario == "152-reply":
        calls = {"pr.read": 100}
    return make_result(cell, passed=is_mcp or cell.repetition == 1, github="hub", github_calls=calls,
                       github_failed=int(is_mcp), github_repeated=int(is_mcp and cell.repetition == 1))  # fmt: skip


def report() -> Report:
    of = plan()
    return aggregate(of, map(row_of, of.cells), question=question_of(of))


def test_what_is_not_possible_is_listed_with_its_reason(tmp_path: Path) -> None:
    assert section(report(), "Not possible with these tools")[1:] == [
        "| mode | scenario | why |", "|---|---|---|", f"| mcp | 152-reply | {REASON} |",
    ]  # fmt: skip
    assert report().warnings[0] == (
        "Mode mcp: 1 scenario of 3 is not possible with its tools (152-reply). Rates of its arms are over the others; "
        "two arms are compared over the scenarios that both have."
    )
    assert [arm.counts.planned for arm in report().arms] == [6, 4]
    page = write_page(report(), RunFolder(tmp_path)).read_text()
    assert '<h2 id="not-possible">Not possible with these tools</h2>' in page
    assert re.search(f">mcp</th><td[^>]*>152-reply</td><td[^>]*>{REASON}</td></tr>", page)


def test_what_no_oracle_proves_is_a_warning() -> None:
    of = plan().model_copy(update={"unproved": {"mcp": ("151-review", "156-triage")}})
    assert aggregate(of, map(row_of, of.cells), question=question_of(of)).warnings[1] == (
        "Mode mcp: 2 scenarios of its arms without an oracle for it (151-review, 156-triage), so nothing proves that "
        "its tools can do them."
    )


def test_arms_are_compared_over_the_scenarios_that_both_have() -> None:
    analysis = report().analysis
    assert analysis is not None
    assert {contrast.scenarios for contrast in analysis.contrasts} == {2}
    assert "over 2 scenarios" in report().comparisons[0].why
    baseline = next(arm for arm in report().arms if arm.arm == "baseline.cli")
    assert (baseline.passed, baseline.counts.judged) == (3, 6)


def test_operations_are_means_over_the_scenarios_that_all_modes_can_do() -> None:
    heading, _, *rows = section(report(), "Operations on GitHub")[1:]
    assert heading == "| arm | reads | writes | git | pr | repo | failed | tried again | trials | scenarios |"
    assert rows == [
        "| baseline | 3.0 | 1.0 | 0.0 | 2.0 | 2.0 | 0.0 | 0.0 | 4 | 2 |",
        "| mcp | 4.0 | 2.0 | 1.0 | 6.0 | 0.0 | 1.0 | 0.5 | 4 | 2 |",
    ]


def test_a_report_without_github_has_none_of_it() -> None:
    of = make_plan(make_cell())
    made = aggregate(of, [make_result(of.cells[0])])
    assert section(made, "Not possible with these tools") == []
    assert section(made, "Operations on GitHub") == []
    assert "not_possible" not in made.model_dump_json()
