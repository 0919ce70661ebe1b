import re
from typing import Any

import pytest

from scylla_gha.model.analysis import Contrast, ShrunkRate, Verdict
from scylla_gha.model.report import Report, ScenarioRow
from scylla_gha.report.comparisons import reading
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report, section


def contrast(**given: Any) -> Contrast:
    return Contrast(**{"arm": "a", "baseline": "b", "metric": "usd", "scale": "difference", "value": 0.2,
                       "scenarios": 8, **given})  # fmt: skip


@pytest.mark.parametrize(
    ("given", "verdict", "expected"),
    [
        ({"low": 0.1, "high": 0.3}, None, "▲ more"),
        ({"low": -0.3, "high": -0.1}, None, "▼ less"),
        ({"low": -0.1, "high": 0.3}, None, "? cannot be told"),
        ({"low": 0.0, "high": 0.3}, None, "? cannot be told"),
        ({}, None, "? no interval"),
        ({"scale": "ratio", "low": 1.1, "high": 1.3}, None, "▲ more"),
        ({"scale": "ratio", "low": 0.5, "high": 0.9}, None, "▼ less"),
        ({"scale": "ratio", "low": 0.5, "high": 1.1}, None, "? cannot be told"),
        ({"low": 0.1, "high": 0.3}, "not_enough_data", "? not enough data"),
        ({"low": 0.001, "high": 0.003}, "equivalent", "≈ equivalent"),
        ({"low": 0.1, "high": 0.3}, "better", "▲ more"),
    ],
)
def test_an_arrow_only_where_the_interval_excludes_no_change(
    given: dict[str, Any], verdict: Verdict | None, expected: str
) -> None:
    assert reading(contrast(**given), verdict) == expected


CHANGES = "Changes against `t0-00-empty`"


def test_each_row_is_one_metric_of_one_arm() -> None:
    rows = [line.split(" | ") for line in section(full_report(), CHANGES) if line.startswith("| t")]
    assert len(rows) == len({tuple(row[:2]) for row in rows}) == 16


def lines(arms: int, rows: int) -> list[str]:
    names = [f"a{n:02d}" for n in range(arms)]
    report = make_report(
        arms=tuple(make_summary(arm=name) for name in names),
        scenarios=tuple(
            ScenarioRow(scenario=f"s{at:03d}", passed={name: (min(at, 3) if name != "a00" else 0, 3) for name in names})
            for at in reversed(range(rows))
        ),
    )
    return section(report, "Scenarios")


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
    assert "and 10 more scenarios, in report.json" in found


def test_kinds_have_an_interval_each_and_a_single_kind_has_no_table() -> None:
    headings = [
        line.split(" | ")[0] for line in section(full_report(), "Kinds of scenario") if " | scenarios | " in line
    ]
    assert headings == ["| category", "| difficulty"]  # all are of one size


def with_family(family: str, **given: float | str) -> Report:
    """The full report, its comparison of tiers turned into another one."""
    report = full_report()
    assert report.analysis is not None
    (one,) = (each for each in report.analysis.contrasts if each.metric == "pass_rate")
    other = one.model_copy(update={"family": family, **given})
    return report.model_copy(update={"analysis": report.analysis.model_copy(update={"contrasts": (other,)})})


def test_tiers_their_steps_and_the_best_of_each() -> None:
    lines = section(full_report(), "Tiers")
    assert any(line.startswith("| T1 against T0 | +") and "▲ more" in line for line in lines)
    assert any(line.startswith("| T0 | 2 | t0-01-vanilla | ") for line in lines)


def test_an_arrow_takes_the_adjusted_p_as_well() -> None:
    lines = section(with_family("each tier against the one before", p_adjusted=0.06), "Tiers")
    assert any(line.startswith("| T1 against T0 | +") and "? not enough data" in line for line in lines)


def test_other_families_have_a_section_of_their_own() -> None:
    lines = section(with_family("models against each other", arm="m1", baseline="m2"), "Models against each other")
    assert any(line.startswith("| m1 against m2 | ") for line in lines)


STATISTICS = "The statistics"


def test_every_comparison_has_its_p_its_family_and_the_least_p() -> None:
    text = "\n".join(section(full_report(), STATISTICS))
    p = r"\| 0\.0078 \| 0\.0078 \| 0\.0078 \|"
    assert re.search(rf"\| T1 against T0 \| pass rate \|.*{p} each tier .* \(1, Holm\) \|", text)
    assert text.count("<details>") == text.count("</details>") == 4
    assert "scenarios like these" in text
    assert "these scenarios" in text


def test_shrunk_rates_are_told_where_there_are_any() -> None:
    report = full_report()
    assert report.analysis is not None
    one = ShrunkRate(arm=report.arms[0].arm, rate=0.25, low=0.1, high=0.5)
    changed = report.model_copy(update={"analysis": report.analysis.model_copy(update={"shrunk": (one,)})})
    assert "| t0-00-empty | 25 % | \\[10, 50\\] |" in section(changed, STATISTICS)


def test_the_method_is_the_one_that_was_used() -> None:
    with_statistics, without = (
        "\n".join(section(report, "How this was computed")) for report in (full_report(), make_report())
    )
    assert "the **scenario** is the unit" in with_statistics
    assert "Wilson" not in with_statistics
    assert "The interval is Wilson's" in without
    assert "<details>" not in without
