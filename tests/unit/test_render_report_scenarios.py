import re

from scylla_gha.model.report import ScenarioRow
from scylla_gha.render.page import page_of
from scylla_gha.render.report_scenarios import kinds, scenarios
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def lines(arms: int, rows: int) -> list[str]:
    names = [f"a{n:02d}" for n in range(arms)]
    report = make_report(
        arms=tuple(make_summary(arm=name) for name in names),
        scenarios=tuple(
            ScenarioRow(scenario=f"s{at:03d}", passed={name: (min(at, 3) if name != "a00" else 0, 3) for name in names})
            for at in reversed(range(rows))
        ),
    )
    return list(scenarios(page_of(report)))


def test_few_arms_stand_beside_each_other() -> None:
    assert "| s002 | 0/3 | 2/3 |" in lines(2, 3)


def test_of_many_arms_there_are_mean_and_range() -> None:
    found = lines(10, 3)
    assert "| scenario | mean | least | most | arms that never pass |" in found
    assert "| s002 | 60 % | 0 % | 67 % | 1 of 10 |" in found


def test_of_many_scenarios_there_are_the_hardest() -> None:
    found = lines(2, 60)
    shown = [line for line in found if re.match(r"\| s\d", line)]
    assert (len(shown), shown[0]) == (50, "| s000 | 0/3 | 0/3 |")
    assert "The 50 hardest of 60." in found
    assert "\nand 10 more scenarios, in report.json\n" in found


def test_kinds_have_an_interval_each_and_of_one_kind_there_is_no_table() -> None:
    found = list(kinds(page_of(full_report())))
    headings = [line.split(" | ")[0] for line in found if " | scenarios | " in line]
    assert headings == ["| category", "| difficulty"]  # all are of one size
    assert list(kinds(page_of(make_report()))) == []
