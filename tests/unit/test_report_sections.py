import re
from typing import Any

import pytest

from scylla_gha.model.analysis import Contrast, Outlier, ShrunkRate, Verdict
from scylla_gha.model.report import Excluded, Failure, Report, ScenarioRow
from scylla_gha.report import markdown
from scylla_gha.report.comparisons import arrow, reading
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report, section


def contrast(**given: Any) -> Contrast:
    return Contrast(**{"arm": "a", "baseline": "b", "metric": "usd", "scale": "difference", "value": 0.2,
                       "scenarios": 8, **given})  # fmt: skip


@pytest.mark.parametrize(
    ("given", "verdict", "expected"),
    [
        ({"low": 0.1, "high": 0.3}, None, "✗ worse"),
        ({"low": -0.3, "high": -0.1}, None, "✓ better"),
        ({"low": -0.1, "high": 0.3}, None, "unclear"),
        ({"low": 0.0, "high": 0.3}, None, "unclear"),
        ({}, None, "no interval"),
        ({"scale": "ratio", "low": 1.1, "high": 1.3}, None, "✗ worse"),
        ({"scale": "ratio", "low": 0.5, "high": 0.9}, None, "✓ better"),
        ({"scale": "ratio", "low": 0.5, "high": 1.1}, None, "unclear"),
        ({"low": 0.1, "high": 0.3, "metric": "tool_calls"}, None, "↑ more"),
        ({"low": -0.3, "high": -0.1, "metric": "score"}, None, "✗ worse"),
        ({"low": 0.1, "high": 0.3, "metric": "pass_rate"}, "not_enough_data", "not enough data"),
        ({"low": 0.001, "high": 0.003, "metric": "pass_rate"}, "equivalent", "equivalent"),
        ({"low": 0.1, "high": 0.3, "metric": "pass_rate"}, "better", "✓ better"),
    ],
)
def test_an_arrow_is_the_sign_of_a_clear_change_and_the_judgement_is_a_word(
    given: dict[str, Any], verdict: Verdict | None, expected: str
) -> None:
    words = reading(contrast(**given), verdict)
    assert f"{arrow(contrast(**given), words)}{words}" == expected


CHANGES = "Changes against the baseline"


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
    assert any(line.startswith("| T1 against T0 | ✓ +") and "| better |" in line for line in lines)
    assert any(line.startswith("| T0 | 2 | t0-01-vanilla | ") for line in lines)


def test_an_arrow_takes_the_adjusted_p_as_well() -> None:
    lines = section(with_family("each tier against the previous one", p_adjusted=0.06), "Tiers")
    assert any(line.startswith("| T1 against T0 | +") and "| not enough data |" in line for line in lines)


def test_other_families_have_a_section_of_their_own() -> None:
    lines = section(with_family("models against each other", arm="m1", baseline="m2"), "Models against each other")
    assert any(line.startswith("| m1 against m2 | ") for line in lines)


def test_every_comparison_has_its_p_its_family_and_the_least_p() -> None:
    text = "\n".join(section(full_report(), "Statistics: comparisons"))
    p = r"\| 0\.0078 \| 0\.0078 \| 0\.0078 \|"
    assert re.search(rf"\| T1 against T0 \| pass rate \|.*{p} each tier .* \(1, Holm\) \|", text)
    estimates = "\n".join(section(full_report(), "Statistics: estimates"))
    assert "| scenarios like these |" in estimates
    assert "| these scenarios |" in estimates


def test_shrunk_rates_are_told_where_there_are_any() -> None:
    report = full_report()
    assert report.analysis is not None
    one = ShrunkRate(arm=report.arms[0].arm, rate=0.25, low=0.1, high=0.5)
    changed = report.model_copy(update={"analysis": report.analysis.model_copy(update={"shrunk": (one,)})})
    assert "| t0-00-empty | 25 % | \\[10, 50\\] |" in section(
        changed, "Statistics: pass rates shrunk towards each other"
    )


def test_a_report_without_statistics_says_so() -> None:
    words = "The statistics are not installed"
    assert words in markdown(make_report(arms=(make_summary(),)))
    assert words not in markdown(full_report())


def test_why_trials_did_not_pass_is_told_with_links() -> None:
    kinds = tuple(Failure(arm="a", kind=f"kind {n:02d}", count=40 - n, cells=("c1", "c2")) for n in range(32))
    report = make_report(arms=(make_summary(arm="a"), make_summary(arm="b")), failures=kinds)
    lines = section(report, "Failures")
    assert "| a | kind 00 | 40 | [c1](c1/) [c2](c2/) |" in lines
    assert "and 2 more kinds, in report.json" in lines


def test_where_all_passed_there_is_no_section() -> None:
    rows = (ScenarioRow(scenario="s", passed={"a": (2, 2)}),)
    assert section(make_report(arms=(make_summary(arm="a"),), scenarios=rows), "Failures") == []


def test_outcomes_are_counted_even_where_nothing_was_judged() -> None:
    arms = (make_summary(arm="a", outcomes={"timeout": 2}),)
    assert "| timeout | 2 | 2 |" in section(make_report(arms=arms), "Failures")


def test_a_long_list_of_excluded_cells_says_how_many_are_left_out() -> None:
    def lines(count: int) -> list[str]:
        cells = tuple(Excluded(cell=f"c{number:02d}", outcome="missing", reason="r") for number in range(count))
        return section(make_report(excluded=cells), f"Not in the rates: {count}")

    assert not [line for line in lines(50) if "more" in line]
    more = lines(52)
    assert "52 missing." in more
    assert "and 2 more, in report.json" in more
    assert ("| c49 | missing | r |" in more, "| c50 | missing | r |" in more) == (True, False)


def test_only_cells_with_a_trial_are_links() -> None:
    outcomes = ("missing", "not_started", "unjudged", "cancelled")
    cells = tuple(Excluded(cell="c", outcome=outcome, reason="r") for outcome in outcomes)
    lines = section(make_report(excluded=cells), "Not in the rates: 4")
    links = ["[c](c/)" in line for line in lines if line.startswith("| ")]
    assert links == [False, False, False, True, True]


def test_odd_trials_are_links_and_few() -> None:
    report = full_report()
    assert report.analysis is not None
    many = tuple(Outlier(cell=f"c{n:02d}", what="what") for n in range(22))
    changed = report.model_copy(update={"analysis": report.analysis.model_copy(update={"odd": many})})
    lines = section(changed, "Outliers")
    assert "| [c19](c19/) | what |" in lines
    assert "and 2 more trials, in report.json" in lines


def said(**given: Any) -> str:
    report = full_report()
    assert report.analysis is not None
    assert report.analysis.agreement is not None
    agreement = report.analysis.agreement.model_copy(update=given)
    changed: Report = report.model_copy(
        update={"analysis": report.analysis.model_copy(update={"agreement": agreement})}
    )
    return "\n".join(section(changed, "Judges"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"alpha": 0.8}, "**They agree** (Krippendorff's alpha 0.80)"),
        ({"alpha": 0.7, "alpha_low": 0.6, "alpha_high": 0.75}, "**They mostly agree** (Krippendorff's alpha 0.70 [0."),
        ({"alpha": 0.1}, "**They do not agree well** (Krippendorff's alpha 0.10)"),
        ({"alpha": None}, "Agreement is unknown"),
        ({"decisive": 0.0}, "decided no pass"),
        ({"decisive": 0.25}, "In 25 % of the trials"),
        ({"kappa": None}, "| kappa | - |"),
        ({"by_scenario": {"a": None, "b": 0.5}}, "1 scenario without an alpha"),
    ],
)  # fmt: skip
def test_what_agreement_means_is_said_in_words(given: dict[str, Any], expected: str) -> None:
    assert expected in said(**given)


def test_a_panel_of_several_providers_is_said_to_be_one() -> None:
    report = full_report().model_copy(update={"judge_providers": {"a": "anthropic", "b": "openai", "c": "gemini"}})
    assert "3 judges of 3 providers (anthropic, openai, gemini) scored" in "\n".join(section(report, "Judges"))


def test_who_is_more_generous_is_named() -> None:
    assert "(the second is more generous)" in said()


MONEY = "Cost of a pass"


def money_text(**given: Any) -> str:
    report = full_report()
    assert report.analysis is not None
    assert report.analysis.frontier is not None
    frontier = report.analysis.frontier.model_copy(update=given) if given else None
    changed = report.analysis.model_copy(update={"frontier": frontier})
    return "\n".join(section(report.model_copy(update={"analysis": changed}), MONEY))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"human": 0}, "no person's price is known"),
        ({"human": 2, "unsolved": 1}, "a person's price is known for 2; 1 have neither a passing arm"),
        ({"human": 0}, "that all arms tried"),
        ({"pareto": tuple(f"a{n}" for n in range(10))}, "a7 and 2 more"),
        ({"shares": {"a": 0.75, "b": 0.25, "c": 0.0}}, "| a | 75 % |"),
    ],
)
def test_the_frontier_is_told_with_what_it_rests_on(given: dict[str, Any], expected: str) -> None:
    assert expected in money_text(**given)


def test_without_a_frontier_there_are_still_the_tables() -> None:
    text = money_text()
    assert "cheapest" not in text
    assert "| arm | USD ↓ | tokens ↓ | time ↓ | USD per point of score ↓ |" in text
    heading = "| arm | system prompt | tool schemas | tool input | tool output | conversation |"
    assert heading in section(full_report(), "Tokens")


def test_what_cost_nothing_has_no_section() -> None:
    assert section(make_report(arms=(make_summary(usd=0.0),)), MONEY) == []


def test_what_other_models_than_the_arms_cost_is_told_where_there_are_any() -> None:
    report = full_report()
    first, *others = report.arms
    assert "other models" not in "\n".join(section(report, MONEY))
    first = first.model_copy(update={"usd": 2.0, "side_requests": 1200, "side_usd": 0.5})
    text = "\n".join(section(report.model_copy(update={"arms": (first, *others)}), MONEY))
    assert "1,200 requests ($0.50 of the arm's $2.00) went to other models than the arm's." in text


@pytest.mark.parametrize(
    ("title", "row"),
    [
        ("Checkpoints", "| arm | requirements met | steps made | changes that broke something ↓ |"),
        ("Reliability", "| arm | two repetitions agree | scenarios passed at least once |"),
        ("Tools", "| t1-01-skill | Bash 4.29, Read 2.00, Edit 1.00 |"),
        ("Time", "| arm | mean ↓ | median ↓ | 90th percentile ↓ | wait for a first byte ↓ |"),
    ],
)
def test_each_section_of_metrics_has_its_table_and_is_left_out_if_nothing_is_known(title: str, row: str) -> None:
    assert any(line.startswith(row) for line in section(full_report(), title))
    assert section(make_report(arms=(make_summary(),)), title) == []


def test_if_k_differs_the_arms_of_each_are_named() -> None:
    first = section(full_report(), "Reliability")[0]
    assert "k = 2 for t0-00-empty, t0-01-vanilla; k = 3 for t1-01-skill" in first
