"""The page of a run as text: its data, its policy and its size. Browser tests are in integration."""

import base64
import hashlib
import re
import tracemalloc
from pathlib import Path

import pytest

from scylla_gha.evaluate.report_run import render_report, run_page
from scylla_gha.model.result import AttemptRecord
from scylla_gha.report.page import key_figures
from scylla_gha.report.page.trials import PAGE_BYTES, TRIAL_BYTES, embedded_trials
from scylla_gha.report.view import report_view
from scylla_gha.store import write_lines
from scylla_gha.store.run_folder import RunFolder
from tests.support.dossiers import make_dossier, make_whole
from tests.support.records import make_cell, make_plan, make_report, make_result
from tests.support.report_pages import HOSTILE, data, trial_rows, write_hostile_run, write_run
from tests.support.reports import full_report


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_run(tmp_path_factory.mktemp("page") / "demo").read_text(encoding="utf-8")


def test_three_figures_say_who_is_best_how_sure_that_is_and_what_it_costs() -> None:
    best, certainty, cost = key_figures(report_view(full_report()))
    assert best.figure == "t1-01-skill: 79 %"
    assert best.note.startswith("95 % interval [54, 92], ")
    assert certainty.figure == "better by 20.9 to 71.0 points"
    assert certainty.note == "than t0-00-empty (95 % interval); measured +50.0 over 8 scenarios, p 0.031"
    assert cost.figure == "$0.23"
    assert cost.note.startswith(
        "of t1-01-skill, 95 % interval [$0.17, $0.30]; t0-00-empty, the baseline: $0.34 (difference "
        "unclear); all agents "
    )


def test_a_best_arm_that_is_not_known_to_be_better_says_so() -> None:
    report = full_report()
    unclear = report.comparisons[-1].model_copy(update={"verdict": "not_enough_data"})
    _, certainty, _ = key_figures(report_view(report.model_copy(update={"comparisons": (unclear,)})))
    assert certainty.figure == "not enough data to tell it from t0-00-empty"


def test_a_baseline_with_the_highest_rate_is_not_called_sure() -> None:
    report = full_report()
    analysis = report.analysis
    assert analysis
    best = report.comparisons[-1].arm
    lost = report.comparisons[0].model_copy(update={"baseline": best})
    _, certainty, _ = key_figures(report_view(report.model_copy(update={"comparisons": (lost,)})))
    assert certainty.figure == "1 not enough data"
    assert certainty.note == "verdicts on the other arms, compared with t1-01-skill, the baseline"
    lost = lost.model_copy(update={"verdict": "worse"})
    _, certainty, _ = key_figures(report_view(report.model_copy(update={"comparisons": (lost,)})))
    assert certainty.figure == "1 worse"


def test_an_empty_report_has_a_page_without_figures(tmp_path: Path) -> None:
    report = make_report(question="What is it?")
    render_report(report, RunFolder(tmp_path))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert list(key_figures(report_view(report))) == []
    assert "<h1>What is it?</h1>" in text
    assert "0 planned, 0 ran, 0 judged, 0 scored" in text


def test_the_page_shows_what_the_change_alters_as_text(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    change = "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n@@ -1 +1 @@\n-<b>old</b>\n+new\n"
    render_report(make_report().model_copy(update={"change": change}), folder)
    page = folder.report("html").read_text()
    assert "<summary>What the change alters</summary>" in page
    assert '<span class="del">-&lt;b&gt;old&lt;/b&gt;</span>\n<span class="add">+new</span>' in page
    render_report(make_report(), folder)
    assert "What the change alters" not in folder.report("html").read_text()


def test_a_page_does_not_hold_all_rows_in_memory(tmp_path: Path) -> None:
    cells = [make_cell("nop", repetition) for repetition in range(1, 1_001)]
    folder, report = RunFolder(tmp_path), make_report(question="How much?")
    write_lines(folder.results, [make_result(cell) for cell in cells])
    run_page(make_report(), (), RunFolder(tmp_path / "warm"), None)
    tracemalloc.start()
    html = run_page(report, (), folder, make_plan(*cells))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (table,) = data(html, 'id="rows"')
    assert len(trial_rows(table)) == 1_000
    assert peak < 3_000 * 1_000, "a row takes over 10,000 bytes as a record"


def test_the_table_has_a_row_for_each_planned_cell(html: str) -> None:
    (table,) = data(html, 'id="rows"')
    rows = trial_rows(table)
    counts = {status: sum(row["status"] == status for row in rows) for status in ("missing", "excluded")}
    assert (len(rows), counts) == (72, {"missing": 1, "excluded": 1})
    timeout = next(row for row in rows if row["outcome"] == "timeout")
    assert timeout["cell"] == "001-fix-a-bug--t0-00-empty.cli.m--r03"
    assert (timeout["seconds"], timeout["grade"]) == (600.0, "D")
    assert sum(map(len, map(str, table["cells"]))) == 72 * len("None")
    assert table["arms"]["t1-01-skill.cli.m"] == "t1-01-skill"


def test_failing_trials_come_first_and_are_whole(html: str) -> None:
    trials = data(html, 'class="trial" data-cell="[^"]*"')
    assert len(trials) == 71
    first = trials[0]
    assert first["task"] == "Say hello.\n"
    assert [step["source"] for step in first["steps"]] == ["agent", "agent"]
    assert first["steps"][0]["tool_calls"][1]["result"] == "no such folder"
    assert [(check["holds"], check["role"]) for check in first["checks"]] == [
        (True, "required"),
        (False, "guard"),
        (False, "condition"),
    ]
    assert (first["checks"][0]["what"], first["items"][1]["text"]) == ("It greets", "The code reads well")
    assert first["answers"][1]["items"][0]["evidence"] == "Nothing\nis there."
    assert [request["prompt"] for request in first["requests"]] == [None, 0, 0, 2_000, 2_000]
    passed = [all(check["holds"] for check in trial["checks"] if check["role"] != "condition") for trial in trials]
    assert passed == sorted(passed)


def test_a_trial_whose_records_were_changed_says_so(tmp_path: Path) -> None:
    path = write_run(tmp_path / "demo")
    cell = next(path.parent.glob("001-*--r01"))
    (cell / "judgment.json").write_text("{")
    render_report(full_report(), RunFolder(path.parent))
    trials = data(path.read_text(encoding="utf-8"), f'class="trial" data-cell="{cell.name}"')
    assert [trial["facts"][0][0] for trial in trials] == ["records"]
    assert trials[0]["facts"][0][1].startswith("cannot be read: ")
    assert f"{cell.name}/judgment.json" in trials[0]["facts"][0][1]


def test_the_policy_allows_this_script_and_this_style_only(html: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert style
    assert script
    hashes = [base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode() for part in (script, style)]
    assert policy[1].split("; ") == [
        "default-src 'none'", f"script-src 'sha256-{hashes[0]}'", f"style-src 'sha256-{hashes[1]}'", "img-src data:",
        "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip


def test_the_page_of_a_hostile_run_is_small_and_has_no_markup_of_it(tmp_path: Path) -> None:
    html = write_hostile_run(tmp_path / "hostile").read_text(encoding="utf-8")
    assert len(html) < 250_000
    assert "owned" in html
    assert "<script>document" not in html
    assert "<img" not in html
    assert "\u202e" not in html
    (trial,) = data(html, 'class="trial" data-cell="[^"]*"')
    assert trial["task"] == HOSTILE.replace("\u202e", "\\u202e")
    assert "[cut here: " in trial["steps"][0]["text"]


def test_trials_stop_where_the_pages_budget_ends() -> None:
    dossier = make_whole()
    last = dossier.works[-1]
    noise = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(3_000))
    large = dossier.model_copy(update={"works": (last.model_copy(update={"patch": noise}),)})
    read = 0

    def records() -> object:
        nonlocal read
        for _ in range(1_000):
            read += 1
            yield large

    trials = list(embedded_trials(records()))  # type: ignore[arg-type]
    sizes = [len(trial.data) for trial in trials]
    assert TRIAL_BYTES / 10 < max(sizes) <= TRIAL_BYTES
    assert PAGE_BYTES - TRIAL_BYTES < sum(sizes) <= PAGE_BYTES
    assert read < len(trials) + 20


def test_facts_name_what_is_missing_and_all_attempts() -> None:
    trials = embedded_trials([make_dossier(AttemptRecord(number=1)), make_whole()])
    planned, whole = (
        data(f'<script type="application/gzip" id="x">{trial.data}</script>', 'id="x"')[0]["facts"] for trial in trials
    )
    assert [name for name, _ in planned] == ["trial"]
    assert [name for name, _ in whole[-2:]] == ["attempt 1", "attempt 2"]
    assert whole[-2][1] == "provider_error: 529 overloaded ($0.00, 0.50 s, can be retried)"
