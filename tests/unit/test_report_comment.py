import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scylla_gha.github_api.slash_command import parse_command
from scylla_gha.model.publication import ArmVerdict, CommentFacts, CommentState, RunPage
from scylla_gha.model.report import Comparison, Excluded, Report, ScenarioRow
from scylla_gha.publish.edited_posts import (
    RegressionSuite,
    opened_text,
    other_arms_text,
    read_hidden_line,
    recovered_text,
    write_hidden_line,
)
from scylla_gha.report import markdown
from scylla_gha.report.comment import MOST_BYTES, comment, marker, pointer
from tests.support.comments import HEAD, Made, facts, past, report_of
from tests.support.golden import golden
from tests.support.records import make_report, make_summary
from tests.support.reports import EVIL, full_report, hostile_rows_report

GOOD, POOR, MIDDLING = (5, 4, 5), (1, 0, 2), (3, 2, 4)
WIN = report_of(Made({"base.cli.m": POOR, "head.cli.m": GOOD}))
LOSS = report_of(Made({"base.cli.m": GOOD, "head.cli.m": POOR}))
ALIKE = report_of(Made({"base.cli.m": (4, *[5] * 11), "head.cli.m": (5, 4, *[5] * 10)}, margin=0.35))
UNCLEAR = report_of(Made({"base.cli.m": MIDDLING, "head.cli.m": (4, 2, 3, 4, 1, 3)}))
MISSING = report_of(Made({"base.cli.m": MIDDLING, "head.cli.m": (4, 2, 3, 4, 1, 3)}, missing=9))
FAULTS = report_of(Made({"base.cli.m": GOOD, "head.cli.m": POOR}, faults=7))
FIRST = report_of(Made({"head.cli.m": MIDDLING}))
LONG = "an-arm-with-a-name-of-" + "very-" * 400 + "many-letters"


def large() -> Report:
    """More than a comment holds: names of two thousand letters in the matrix, and sections of many rows."""
    arms = [make_summary(arm=f"{number}.{LONG}") for number in range(6)]
    passed = {arm.arm: (1, 2) for arm in arms}
    rows = tuple(ScenarioRow(scenario=f"{number:03d}-{LONG}", passed=passed) for number in range(200))
    excluded = tuple(Excluded(cell=f"{number}-{LONG}", outcome="missing", reason=LONG) for number in range(500))
    return make_report(counts=WIN.counts, arms=tuple(arms), scenarios=rows, excluded=excluded, warnings=(LONG,) * 50)


def hostile_facts() -> CommentFacts:
    return facts(base_name=EVIL, gate_fault=EVIL, digest=EVIL, entrants=())


CASES = {
    "comment-win.md": comment(WIN, facts()),
    "comment-loss.md": comment(LOSS, facts(), past=[past("not_enough_data"), past("better", 99)]),
    "comment-no-difference.md": comment(ALIKE, facts(margin=0.35)),
    "comment-not-enough-data.md": comment(UNCLEAR, facts()),
    "comment-missing-cells.md": comment(MISSING, facts()),
    "comment-infra-failures.md": comment(FAULTS, facts()),
    "comment-over-the-limit.md": comment(large(), facts(entrants=())),
    "comment-hostile.md": comment(hostile_rows_report(), hostile_facts(), past=[past("worse", said=EVIL)]),
    "comment-first-run.md": comment(FIRST, facts(base=None, base_name="", minutes=None, branch="", margin=None)),
    "comment-several-arms.md": comment(full_report(), facts(from_fork=True), newest="f" * 40),
}


@pytest.mark.parametrize("name", CASES)
def test_a_comment_reads_as_its_golden_file(name: str) -> None:
    assert CASES[name] == golden(name, CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_a_comment_has_room_and_begins_with_its_marker_and_verdict(name: str) -> None:
    lines = CASES[name].splitlines()
    assert len(CASES[name].encode()) <= MOST_BYTES
    assert lines[0] == marker("demo")
    assert re.fullmatch(r"> \[!(CAUTION|WARNING|NOTE|TIP)\]", lines[1])
    assert len(re.findall(r"\d+ planned, \d+ ran, \d+ judged, \d+ scored", CASES[name])) == 1


@pytest.mark.parametrize("name", [name for name in CASES if "over-the-limit" not in name])
def test_a_usual_comment_is_short(name: str) -> None:
    assert len(CASES[name].encode()) < 12_000


@pytest.mark.parametrize("name", CASES)
def test_every_row_of_a_table_has_the_cells_of_its_heading(name: str) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", CASES[name], re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


@pytest.mark.parametrize(
    ("name", "alert"),
    [
        ("win", "TIP"),
        ("loss", "CAUTION"),
        ("no-difference", "NOTE"),
        ("not-enough-data", "WARNING"),
        ("first-run", "NOTE"),
        ("several-arms", "TIP"),
    ],
)
def test_the_alert_is_of_the_verdict(name: str, alert: str) -> None:
    assert f"\n> [!{alert}]\n" in CASES[f"comment-{name}.md"]


def test_a_gate_that_does_not_hold_leaves_no_good_alert() -> None:
    assert "\n> [!TIP]\n" in comment(WIN, facts())
    assert "\n> [!WARNING]\n" in comment(WIN, facts(gate_fault="one arm is equivalent"))
    assert "\n> [!WARNING]\n> **one arm is equivalent**\n" in comment(WIN, facts(gate_fault="one arm is equivalent"))
    assert "\n> [!CAUTION]\n" in comment(LOSS, facts(gate_fault="worse"))


@pytest.mark.parametrize("name", CASES)
def test_commands_can_be_used_as_they_are(name: str) -> None:
    spans = re.findall(r"`((?:/scylla|scylla-gha) [^`]*)`", CASES[name])
    slash = [parse_command(span) for span in spans if span.startswith("/scylla")]
    assert {command.experiment for command in slash} == {"demo"}
    assert len(slash) >= 2
    assert not re.search(r"\b(ARM|CELL|GLOB|N|SHA)\b", " ".join(spans))


def test_of_several_arms_the_worst_is_named_with_its_baseline_to_be_run_again() -> None:
    text = CASES["comment-several-arms.md"]
    assert "--only '*--t0-01-vanilla.cli.m--*' --only '*--t0-00-empty.cli.m--*' --repetitions 6`" in text
    assert "Its p and interval are adjusted for one comparison, and those above for 2" in text
    assert "On this pull request, as a comment of its own: `/scylla compare demo --repetitions 6`" in text
    assert "`scylla-gha show 001-fix-a-bug--t0-01-vanilla.cli.m--r03`" in text
    assert "--only '" not in CASES["comment-win.md"]


def test_the_next_command_has_the_cost_of_the_trials_that_are_missing() -> None:
    # 120 trials cost $9.57, and their judges $1.20; twice the repetitions are 120 more
    asked = "`/scylla compare demo --repetitions 10` (120 more trials, estimated cost $10.77)"
    assert f"To know more, comment {asked}." in CASES["comment-not-enough-data.md"]
    assert "(129 more trials, estimated cost $11.63)" in CASES["comment-missing-cells.md"]
    unknown = UNCLEAR.model_copy(update={"judge_usd": None})
    assert "(120 more trials, estimated cost ?)" in comment(unknown, facts())
    assert "To know more" not in CASES["comment-win.md"]
    assert "To know more" not in comment(UNCLEAR.model_copy(update={"replayed": True}), facts())
    report = "To know more: `scylla-gha evaluate demo --repetitions 10` (120 more trials, estimated cost $10.77)."
    assert report in markdown(UNCLEAR)
    of_change = UNCLEAR.model_copy(update={"change": "+++ b/CLAUDE.md\n"})
    assert "To know more: `scylla-gha evaluate demo --head BRANCH --repetitions 10` (" in markdown(of_change)
    assert "On your machine: `scylla-gha evaluate demo --head BRANCH`" in comment(of_change, facts())
    assert "comment `/scylla compare demo --repetitions" in comment(of_change, facts(base=None))
    for settled in (WIN, UNCLEAR.model_copy(update={"analysis": None})):
        assert "To know more" not in markdown(settled)


def test_pages_of_the_site_are_linked_where_there_is_one() -> None:
    cell, folder = "001-task--head.cli.m--r02", "v1/runs/2026/01/demo/123456789-1"
    text = comment(LOSS, facts(site="https://octo-org.github.io/app/", folder=folder, evidence={cell: 42}))
    page = "https://octo-org.github.io/app/experiments/demo/runs/123456789-1.html"
    assert f"· [report page]({page}) ·" in text
    assert (
        f"[{cell}]({page}#cell={cell}) ([files](https://github.com/octo-org/app/actions/runs/123456789/artifacts/42))"
        in text
    )
    for without in (facts(folder=folder), facts(site="https://octo-org.github.io/app/")):
        assert "report page" not in comment(LOSS, without)
        assert "#cell=" not in comment(LOSS, without)
    with pytest.raises(ValueError, match="site"):
        facts(site="https://a.example/) [x](https://evil.example")


def test_a_chart_stands_where_the_results_branch_has_it() -> None:
    folder = "v1/runs/2026/01/demo/123456789-1"
    text = comment(LOSS, facts(folder=folder, has_chart=True))
    image = f"https://github.com/octo-org/app/raw/scylla-results/{folder}/forest.svg"
    assert f"![Change of the pass rate of each arm, with its 95 % interval]({image})" in text
    assert f"[results](https://github.com/octo-org/app/tree/scylla-results/{folder})" in text
    assert "![" not in comment(LOSS, facts(folder=folder))


def test_what_others_wrote_does_nothing() -> None:
    text = CASES["comment-hostile.md"]
    ours = re.sub(r"https://github\.com/octo-org/app/\S+", "", text)
    assert not re.search(r"@octocat|[^!]#\d|://|<b>|(?<!\\)\[here", ours)
    assert text.count("bold") > 3


@pytest.mark.parametrize("evil", ["<!-- scylla:v1 suite=demo -->", "a\u200bb\u202ec", "x\n```\ny", "closes octo/x#12"])
def test_no_line_is_forged(evil: str) -> None:
    made = make_report(
        excluded=(Excluded(cell=evil, outcome=evil, reason=evil),), warnings=(evil,), arms=(make_summary(arm=evil),)
    )
    text = comment(made, facts())
    assert text.count("\n<!--") == 0
    assert len(re.findall(r"(?<!\\)<!-- scylla:v1", text)) == 1
    assert not re.search("[\u200b\u202e]|\n```|#12", text)


def test_over_the_limit_the_counts_stay_and_what_is_left_out_is_named() -> None:
    text = CASES["comment-over-the-limit.md"]
    assert "**120 planned, 120 ran, 120 judged, 120 scored**" in text
    assert "Left out: matrix of 200 scenarios and 6 arms" in text
    assert "**Missing: 500**" in text
    assert "/scylla compare demo" in text


def test_even_the_worst_names_leave_verdict_and_counts() -> None:
    evil = "@[`|" * 1000
    arms = tuple(make_summary(arm=f"{evil}{number}") for number in range(40))
    excluded = tuple(Excluded(cell=evil, outcome=f"{evil}{n}", reason=evil) for n in range(40))
    rows = tuple(ScenarioRow(scenario=f"{evil}{n}", passed={arm.arm: (1, 2) for arm in arms}) for n in range(60))
    compared = tuple(Comparison(arm=arm.arm, baseline=arms[0].arm, verdict="worse", why=evil) for arm in arms[1:])
    made = make_report(arms=arms, excluded=excluded, scenarios=rows, warnings=(evil,) * 40, comparisons=compared)
    of = facts(base_name=evil[:300], gate_fault=evil[:300])
    before = [past(said=evil[:300])] * 5
    state = write_hidden_line(CommentState(suite="demo", attempt=1, verdicts=tuple(before)))
    text = comment(made, of, past=before[1:], state=state, newest="f" * 40)
    assert len(text.encode()) <= MOST_BYTES
    assert "0 planned, 0 ran" in text
    assert read_hidden_line(text, CommentState, "demo") is not None


def test_a_head_that_moved_is_said_and_how_to_evaluate_it() -> None:
    text = comment(LOSS, facts(), newest="f" * 40)
    assert "**Out of date**: this is about `a1b2c3d`, and the head is now `fffffff`." in text
    assert "/scylla compare demo ffffffffff" in text
    assert "Out of date" not in comment(LOSS, facts(), newest=HEAD)


def test_a_replay_is_said_to_be_one() -> None:
    words = "REPLAY of recorded answers: nothing was measured"
    assert words in comment(LOSS.model_copy(update={"replayed": True}), facts())
    assert words not in comment(LOSS, facts())


def test_the_rows_are_worst_first_and_ten_at_most() -> None:
    many = {"base.cli.m": MIDDLING, **{f"arm{number:02d}.cli.m": (number % 6,) for number in range(14)}}
    table = comment(report_of(Made(many)), facts()).split("| arm | verdict")[1].split("Scenarios that")[0]
    shown = re.findall(r"^\| arm(\d+) \| (\S) ", table, re.MULTILINE)
    assert len(shown) == 10
    assert [mark for _, mark in shown] == sorted((mark for _, mark in shown), key="✗?≈✓".index)
    assert "and 4 more arms, in the report" in table


def test_two_changes_are_each_held_against_what_they_change() -> None:
    arms: dict[str, tuple[int, ...]] = {"a.cli.m": GOOD, "a.cli.m.head": POOR, "b.cli.m": POOR, "b.cli.m.head": GOOD}
    made = report_of(Made(arms, against={"a.cli.m.head": "a.cli.m", "b.cli.m.head": "b.cli.m"}))
    text = comment(made, facts())
    worse, better = [line for line in text.splitlines() if re.match(r"\| [ab]\.cli\.m\.head \|", line)][:2]
    assert worse.startswith("| a.cli.m.head | ✗ worse | 20 % | ✗ -73.3 points |")
    assert better.startswith("| b.cli.m.head | ✓ better | 93 % | ✓ +73.3 points |")
    assert all(re.search(r"\| (. )?x[01]\.\d\d ", row) for row in (worse, better)), (
        "what a trial costs, against its own"
    )
    assert "Scenarios that went worse: 12" in text
    assert "Scenarios that went better: 12" in text


def test_earlier_verdicts_are_shown_with_their_runs() -> None:
    assert "| [run](https://github.com/octo-org/app/actions/runs/99) |" in CASES["comment-loss.md"]


def test_a_pointer_has_no_marker_by_which_it_is_found() -> None:
    text = pointer("demo", "https://github.com/octo-org/app/pull/7#issuecomment-1")
    assert not text.startswith(marker("demo"))
    assert "[see the newer comment](https://github.com/" in text


PIECES = st.sampled_from(
    ["@octocat", "#1", "fixes ", "GH-7", "|", "\n", "```", "`", "<!--", "-->", "<b>", "](", "[x", "*", "&lt;", "\u200b",
     "https://e.example", "www.e.example", "\u202e", "\x1b[2J", "\\", "~~", " ", "a", "> ", "- ", "<details>", "é",
     "scylla:v1 suite=demo", "$x$"]
)  # fmt: skip
HOSTILE = st.lists(PIECES, max_size=12).map("".join)
# What GitHub would act on where it stands unescaped and unbroken; our own links are taken out before.
ACTIVE = re.compile(
    r"@\w|(?<![&\w])#\d|\bGH-\d|://|\bwww\.|```|[\u200b\u202e\x1b]|(?<!\\)<(?!/?(details|summary|sub)>|!-- scylla)"
)


@settings(max_examples=60, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_nothing_that_others_wrote_acts(one: str, two: str, three: str) -> None:
    arms = (make_summary(arm=f"a{one}"), make_summary(arm=f"b{two}"))
    made = make_report(
        arms=arms, warnings=(three,), excluded=(Excluded(cell=one, outcome=two, reason=three),),
        scenarios=(ScenarioRow(scenario=three, passed={arm.arm: (1, 2) for arm in arms}),),
        comparisons=(Comparison(arm=arms[0].arm, baseline=arms[1].arm, verdict="worse", why=three),),
    )  # fmt: skip
    text = comment(made, facts(base_name=one, gate_fault=two), past=[past(said=three)])
    assert len(text.encode()) <= MOST_BYTES
    assert text.startswith(f"{marker('demo')}\n> [!CAUTION]\n")
    ours = re.sub(r"\(https://github\.com/octo-org/app/[a-z0-9/#-]+\)", "()", text).replace("<!-- -->", "\0")
    assert not ACTIVE.search(ours), ACTIVE.search(ours)
    assert text.count("<details>") == text.count("</details>")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in table.splitlines()}) == 1


PAGE = RunPage(repository="octo-org/app", run=5)
SUITE = RegressionSuite("demo", "demo", "bot", PAGE)


def standing(arm: str, why: str = "-20.0 points") -> ArmVerdict:
    return ArmVerdict(arm=arm, against="base", verdict="worse", why=why, not_worse=False)


def test_the_issue_shows_both_measurements() -> None:
    text = opened_text(SUITE, [standing("head", "-30.0 points"), standing("other")], [standing("head")])
    assert "**1 arm does worse** in `demo`, measured twice" in text
    assert "| `head` | `base` | ✗ -30.0 points | ✗ -20.0 points |" in text
    assert "https://github.com/octo-org/app/actions/runs/5" in text
    assert "other" not in text


def test_many_arms_are_counted() -> None:
    found = [standing(f"arm{number}") for number in range(40)]
    text = opened_text(SUITE, found, found)
    assert "**40 arms do worse**" in text
    assert "and 10 more" in text


def test_untrusted_text_in_an_issue_does_nothing() -> None:
    found = [standing(EVIL, EVIL)]
    texts = (opened_text(SUITE, found, found), recovered_text(found, PAGE), other_arms_text([EVIL], PAGE))
    for text in texts:
        assert "@octocat" not in text
        assert "<b>" not in text.replace("\\<b\\>", "")
        assert "fixes #1" not in text
