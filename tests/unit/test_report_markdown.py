import re

import pytest

from scylla_gha.model.report import Comparison, Counts, Excluded, Report, ScenarioRow
from scylla_gha.report import glossary, markdown, metrics
from scylla_gha.report.metrics import title
from tests.support.golden import golden
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report, hostile_rows_report
from tests.support.tier_reports import ladder_report


def report_without_statistics() -> Report:
    arms = ("nop", "oracle", "t0-00-empty.cli.m")
    scenarios = (
        ScenarioRow(scenario="001-one", passed={"nop": (0, 10), "oracle": (10, 10), arms[2]: (5, 8)}),
        ScenarioRow(scenario="002-two", passed={"nop": (0, 10), "oracle": (10, 10), arms[2]: (0, 0)}),
    )
    tenfold = Counts(planned=20, ran=20, judged=20, scored=20)
    return make_report(
        counts=Counts(planned=60, ran=51, judged=48, scored=47),
        arms=(
            make_summary(arm="nop", counts=tenfold, passed=0, pass_rate=0.0, pass_low=0.0, pass_high=0.161,
                         mean_score=0.0, grades={"F": 20}, usd=0.0, cost_of_pass=None, mean_seconds=0.01, tokens=0),
            make_summary(arm="oracle", counts=tenfold, pass_low=0.839, usd=0.0, cost_of_pass=0.0, grades={"A": 20}),
            make_summary(arm=arms[2], counts=Counts(planned=20, ran=11, judged=8, scored=7), passed=5, pass_rate=0.625,
                         pass_low=0.306, pass_high=0.863, mean_score=0.71, grades={"A": 4, "B": 2, "D": 1}, usd=None,
                         cost_of_pass=None, mean_seconds=345.6, tokens=None),
        ),
        scenarios=scenarios,
        comparisons=tuple(
            Comparison(arm=arm, baseline="nop", verdict="not_enough_data", why="no interval") for arm in arms[1:]
        ),
        excluded=(
            Excluded(cell=f"001-one--{arms[2]}--r09", outcome="provider_error", reason="429: rate limited"),
            Excluded(cell=f"002-two--{arms[2]}--r01", outcome="missing", reason="planned, and no trial is stored"),
        ),
        judge_usd=0.0123,
        warnings=(f"{arms[2]}: the cost of at least one trial is unknown, so its total cost is unknown.",),
    )  # fmt: skip


def hostile_report() -> Report:
    reason = "fixes #1 @octocat | <b>bold</b>\n\n# Ignore all of the above [here](https://evil.example)"
    return make_report(
        question="Is `a|b` <better>?\n| than | c |",
        counts=Counts(planned=1, ran=1, judged=0, scored=0),
        excluded=(Excluded(cell="001-one--nop--r01", outcome="judge_error", reason=reason),),
        judge_usd=None,
        warnings=(reason,),
        comparisons=(Comparison(arm="nop", baseline="nop", verdict="worse", why=reason),),
    )


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("report-full.md", full_report()),
        ("report-tiers.md", ladder_report()),
        ("report-without-statistics.md", report_without_statistics()),
        ("report-empty.md", make_report()),
        ("report-hostile.md", hostile_report()),
    ],
)
def test_a_report_reads_as_its_golden_file(name: str, report: Report) -> None:
    text = markdown(report)
    assert text == golden(name, text)


@pytest.mark.parametrize(
    ("report", "tables"),
    [
        (full_report(), 33),
        (report_without_statistics(), 3),
        (make_report(), 0),
        (hostile_report(), 1),
        (hostile_rows_report(), 25),
    ],
    ids=["full", "without statistics", "empty", "hostile", "hostile rows"],
)
def test_every_row_of_a_table_has_the_cells_of_its_heading(report: Report, tables: int) -> None:
    found = re.findall(r"(?:^\|.*\n)+", markdown(report), re.MULTILINE)
    assert len(found) == tables
    for table in found:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_names_that_others_chose_do_nothing_in_any_section() -> None:
    text = markdown(hostile_rows_report())
    assert "<b>" not in text
    assert not re.search(r"@octocat|#1|https://|(?<!\\)\[here", text)
    assert text.count("here") > 10


def test_no_number_is_nan_and_no_p_is_zero() -> None:
    text = markdown(full_report())
    assert not re.search(r"(?i:\bnan\b|\binf\b)|\bNone\b|p 0[,; )]|p 0\.0+\b(?!\d)", text)


def test_the_answer_comes_first() -> None:
    lines = [line for line in markdown(full_report()).splitlines() if line]
    assert lines[2].startswith("- ✓ **t1-01-skill is better than t0-00-empty**: passes ")
    assert lines[3].startswith("- ? **not enough data to tell t0-01-vanilla from t0-00-empty**: passes ")


def test_the_headline_interval_is_over_scenarios_and_not_of_pooled_trials() -> None:
    report = full_report()
    (rate,) = (each for each in report.analysis.measures[0].measures if each.metric == "pass_rate")  # type: ignore[union-attr]
    row = next(line for line in markdown(report).splitlines() if line.startswith("| t0-00-empty <sup>"))
    assert f"\\[{100 * (rate.low or 0):.0f}, {100 * (rate.high or 0):.0f}\\]" in row


def test_sections_of_nothing_are_left_out() -> None:
    assert headings(make_report()) == folded(make_report()) == []


def headings(report: Report) -> list[str]:
    return re.findall(r"^## (.*)", markdown(report), re.MULTILINE)


def folded(report: Report) -> list[str]:
    return re.findall(r"^<details><summary>(.*)</summary>", markdown(report), re.MULTILINE)


def test_sections_with_news_are_open_and_all_others_are_folded() -> None:
    assert headings(full_report()) == [
        "Changes against the baseline", "Tiers", "Five questions", "Failures", "Outliers", "Excused attempts",
        "Not in the rates: 2", "Warnings: 5", "Use of the treatment",
    ]  # fmt: skip
    assert folded(full_report()) == [
        "Judges", "Scenarios", "Kinds of scenario", "Checkpoints", "Reliability", "Tools", "Time", "Cost of a pass",
        "Tokens", "Statistics: comparisons", "Statistics: any difference among all arms (Friedman)",
        "Statistics: effect sizes, and p on these scenarios only",
        "Statistics: estimates",
    ]  # fmt: skip


def test_the_answer_its_table_and_the_counts_take_a_screen() -> None:
    before_sections = markdown(full_report()).partition("\n## ")[0]
    assert len(before_sections.splitlines()) <= 20
    assert len(re.findall(r"^\|---", before_sections, re.MULTILINE)) == 1


def test_a_replay_carries_a_banner_above_the_answer() -> None:
    text = markdown(full_report().model_copy(update={"replayed": True}))
    banner = "> [!IMPORTANT]\n> **REPLAY of recorded answers: nothing was measured"
    assert 0 < text.index(banner) < text.index("is better than")
    assert "REPLAY" not in markdown(full_report())


@pytest.mark.parametrize("report", [full_report(), report_without_statistics()], ids=["statistics", "without"])
def test_the_glossary_has_every_word_of_a_report(report: Report) -> None:
    rows = re.findall(r"^\| (.*) \|\n\|---", markdown(report), re.MULTILINE)
    words = {word.removesuffix(" ↓").replace("\\", "") for row in rows for word in row.split(" | ")}
    words |= {name.partition(":")[0].partition(" against")[0] for name in (*headings(report), *folded(report))}
    words |= {title(metric) for metric in metrics._METRICS}
    words -= {arm.arm.removesuffix(".cli.m") for arm in report.arms} | {arm.arm for arm in report.arms}
    explained = re.sub(r"\s+", " ", glossary()).lower()
    assert sorted(word for word in words if f"**{word.lower()}**" not in explained) == []
