"""The page of a run in a real browser: what a reader can do with it, and that what agents wrote cannot act."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import ColorScheme, chromium, opened
from tests.support.readiness_reports import readiness_run
from tests.support.report_pages import write_hostile_run, write_large_run, write_run
from tests.support.reports import AMOUNTS

FAILED = "001-fix-a-bug--t0-00-empty.cli.m--r01"
TOP = "document.documentElement"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as program:
        yield program


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_run(tmp_path_factory.mktemp("page") / "demo").as_uri()


def test_trials_are_filtered_and_sorted(browser: Browser, address: str) -> None:
    with opened(browser, address) as shown:
        page = shown.page
        assert page.locator("#trial-table tbody tr").count() == 8
        assert page.locator("#trial-table a").count() == 72
        page.get_by_label("Result").select_option("failed")
        page.locator("#filter-arm").select_option("t1-01-skill.cli.m")
        expect(page.locator("#trial-count")).to_contain_text("5 of 72 trials, 5 failed.")
        page.get_by_label("Layout").select_option("list")
        page.locator("#filter-text").fill("BROKE")
        expect(page.locator("#trial-table tbody th")).to_have_text(["004-new-module"])
        page.get_by_role("button", name="Reset").click()
        page.get_by_label("Layout").select_option("list")
        page.get_by_role("button", name="USD").click()
        costs = [float(text[1:]) for text in shown.texts("#trial-table td:nth-child(8)") if text != "?"]
        assert len(costs) == 71
        assert costs == sorted(costs)
        page.get_by_role("button", name="USD").click()
        assert page.locator("#trial-table th[aria-sort=descending]").inner_text() == "USD ↓"
        costs = [float(text[1:]) for text in shown.texts("#trial-table td:nth-child(8)") if text != "?"]
        assert costs == sorted(costs, reverse=True)


def test_pages_show_dollars_as_python_does(browser: Browser, address: str) -> None:
    with opened(browser, address) as shown:
        assert shown.page.evaluate("(values) => values.map(dollars)", [value for value, _ in AMOUNTS]) == [
            text for _, text in AMOUNTS
        ]


def test_a_failing_trial_opens_in_one_click_and_is_searched(browser: Browser, address: str) -> None:
    with opened(browser, address) as shown:
        page = shown.page
        page.get_by_role("link", name="Open the first failing trial").click()
        expect(page.locator("#trial-name")).to_have_text(FAILED)
        assert page.url == f"{address}#cell={FAILED}"
        headings = shown.texts("#trial h2")
        assert headings == [
            "Task", "Checks: 1 of 2 hold", "Conditions: 0 of 1 hold", "Conversation: 2 steps", "Diff: 1 file",
            "Rubric: 3 items", "Judges",
            "Tokens over time", "Files",
        ]  # fmt: skip
        assert (
            'exit code 1:\n  File "/w/hello.py", line 10\nAssertionError'
            in page.locator("details[open] pre").first.inner_text()
        )
        page.get_by_label("Search in this trial").fill("NO SUCH")
        assert shown.texts("mark") == ["no such"]
        page.get_by_role("link", name="Next").click()
        expect(page.locator("#trial-name")).to_have_text(FAILED.replace("r01", "r02"))
        page.go_back()
        expect(page.locator("#trial-name")).to_have_text(FAILED)
        page.go_back()
        expect(page.locator("#report")).to_be_visible()
        expect(page.locator("#trial")).to_be_hidden()


def test_a_permalink_opens_its_trial_and_an_unknown_one_says_so(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#cell={FAILED}") as shown:
        expect(shown.page.locator("#trial-name")).to_have_text(FAILED)
        file = shown.page.get_by_role("link", name=f"{FAILED}/judgment.json").get_attribute("href")
        assert file == f"{FAILED}/judgment.json"
    with opened(browser, f"{address}#cell=no%2F%3Cb%3Esuch") as shown:
        assert "This run has no such cell." in shown.texts("#trial p")


def test_a_trial_says_what_was_scored_and_what_each_step_cost(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#cell={FAILED}") as shown:
        page = shown.page
        expect(page.locator("#trial h2 + pre").first).to_have_text("Say hello.")
        condition = page.locator("details.check", has_text="has-tests")
        expect(condition.locator(".status")).to_contain_text("does not hold")
        assert condition.get_attribute("open") is None
        assert page.locator("details.check", has_text="It greets").count() == 1
        assert "Q1 The code reads well" in shown.texts("#trial tbody th")
        assert shown.texts(".step h3 .cost") == [
            "at 0.00 s, took 3.20 s, 2,000 tokens in (800 cached), 50 out, $0.01",
            "at 7.00 s, took 1.00 s, 2,000 tokens in (800 cached), 50 out, cost unknown",
        ]


def test_a_passed_trial_shows_no_failure(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#cell=001-fix-a-bug--t1-01-skill.cli.m--r02") as shown:
        page = shown.page
        assert shown.texts("#trial h2")[1:3] == ["Checks: 2 of 2 hold", "Conditions: 0 of 1 hold"]
        assert page.locator("details.check[open], details.check .fails").count() == 0


def test_evidence_leads_to_its_line_of_the_diff(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#cell={FAILED}") as shown:
        page = shown.page
        page.get_by_role("link", name="hello.py:1", exact=True).first.click()
        expect(page.locator("pre.diff .target")).to_have_text("+new")
        expect(page.locator("pre.diff .target")).to_be_in_viewport()
        assert page.url == f"{address}#cell={FAILED}&line=hello.py%3A1"
        page.get_by_role("link", name='File "/w/hello.py", line 10').click()
        expect(page.locator("pre.diff .target")).to_have_text("+++ b/odd")
        assert page.get_by_role("link", name="hello.py:5").count() == 0
        numbered = page.eval_on_selector_all("pre.diff [data-line]", "lines => lines.map(line => line.dataset.line)")
        assert numbered == ["hello.py:1", "hello.py:9", "hello.py:10", "hello.py:11"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 390)])
def test_two_arms_stand_side_by_side(browser: Browser, address: str, scheme: ColorScheme, width: int) -> None:
    with opened(browser, address, width=width, scheme=scheme) as shown:
        page = shown.page
        page.get_by_role("link", name="Compare two arms side by side").click()
        page.get_by_label("Right").select_option("001-fix-a-bug--t1-01-skill.cli.m--r02")
        expect(page.locator("#trial .side a").nth(1)).to_have_text("t1-01-skill, repetition 2")
        assert page.url.endswith(f"#compare={FAILED}&with=001-fix-a-bug--t1-01-skill.cli.m--r02")
        names = shown.texts("#trial h2")
        assert names[:2] == ["Task", "Result"]
        assert names[2] == "Checks and rubric: 2 of 6 differ"
        assert shown.texts("#trial .scroll:not(details *) tbody th") == [
            "kept Earlier files are kept",
            "Q1 The code reads well",
        ]
        assert names[3:] == ["Conversations", "Diffs", "Judges"]
        left, right = (page.locator(".pair").first.locator("> div").nth(at).bounding_box() for at in (0, 1))
        assert left
        assert right
        assert (left["x"] < right["x"]) == (width > 390)
        assert (left["y"] < right["y"]) == (width == 390)
        assert page.evaluate(f"{TOP}.scrollWidth") == width
        assert shown.axe() == []
        page.locator("#trial").get_by_label("Scenario").select_option("004-new-module")
        expect(page.locator("#trial-name")).to_have_text("004-new-module: two trials")
        page.get_by_role("link", name="← All trials").click()
        expect(page.locator("#trials")).to_be_in_viewport()


def test_the_keyboard_alone_reaches_a_trial_and_comes_back(browser: Browser, address: str) -> None:
    with opened(browser, address) as shown:
        page = shown.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
        focused = "document.activeElement.closest('#trial-table') && document.activeElement.getAttribute('aria-label')"
        label = None
        for _ in range(60):
            page.keyboard.press("Tab")
            label = page.evaluate(focused)
            if label:
                break
        assert label == "001-fix-a-bug, t0-00-empty, repetition 1: failed"
        page.keyboard.press("Enter")
        expect(page.locator("#trial")).to_be_focused()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "← All trials"
        page.keyboard.press("Enter")
        expect(page.locator("#trials")).to_be_in_viewport()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 360)])
def test_both_views_are_accessible_and_fit(browser: Browser, address: str, scheme: ColorScheme, width: int) -> None:
    with opened(browser, address, width=width, scheme=scheme) as shown:
        page = shown.page
        assert shown.axe() == []
        assert page.evaluate(f"{TOP}.scrollWidth") == width
        page.get_by_label("Layout").select_option("list")
        page.goto(f"{address}#cell={FAILED}")
        expect(page.locator("#trial-name")).to_have_text(FAILED)
        assert shown.axe() == []
        assert page.evaluate(f"{TOP}.scrollWidth") == width


def test_the_switch_changes_colours_against_the_systems_and_is_remembered(browser: Browser, address: str) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, address, scheme="dark") as shown:
        dark = shown.page.evaluate(background)
        switch = shown.page.get_by_role("button", name="Dark")
        expect(switch).to_have_attribute("aria-pressed", "true")
        switch.click()
        light = shown.page.evaluate(background)
        assert (dark, light) == ("rgb(13, 17, 23)", "rgb(255, 255, 255)")
        shown.page.reload()
        shown.page.wait_for_selector("html[data-ready]")
        assert shown.page.evaluate(background) == light


def test_a_missed_anchor_of_readiness_opens_its_trial(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, readiness_run(tmp_path / "readiness").as_uri(), width=360, scheme="dark") as shown:
        page = shown.page
        assert shown.axe() == []
        assert page.evaluate(f"{TOP}.scrollWidth") == 360
        assert page.locator("#report h2").first.inner_text() == "Dimensions"
        page.get_by_role("link", name="src/m0.py::f0").click()
        expect(page.locator("#trial-name")).to_have_text(FAILED)


def test_what_an_agent_wrote_is_text(browser: Browser, tmp_path: Path) -> None:
    address = write_hostile_run(tmp_path / "hostile").as_uri()
    with opened(browser, f"{address}#cell={FAILED}") as shown:
        page = shown.page
        expect(page.locator("#trial-name")).to_have_text(FAILED)
        assert page.locator("#trial").locator("img, script, iframe, object, form, svg[onload]").count() == 0
        assert page.locator("h1:visible").count() == 1
        evidence = page.locator("details pre").first.inner_text()
        assert evidence.startswith("</script><script>document.title='owned'")
        assert "\\u202edrawkcab" in evidence
        long = "() => [performance.now(), evidence('a/'.repeat(5e5), { cell: '', patch: '' }), performance.now()]"
        before, _, after = page.evaluate(long)
        assert after - before < 5_000
        page.get_by_role("link", name="← All trials").click()
        expect(page.locator("#report h1")).to_be_visible()
        assert "owned" in page.locator("#report h1").inner_text()
        assert page.title().endswith(": report")
        links = page.eval_on_selector_all("a", "links => links.map(link => link.protocol)")
        assert set(links) == {"file:"}


def test_ten_thousand_rows_are_filtered_at_once(browser: Browser, tmp_path: Path) -> None:
    address = write_large_run(tmp_path / "large", 10_000).as_uri()
    with opened(browser, address) as shown:
        page = shown.page
        page.get_by_label("Layout").select_option("list")
        assert page.locator("#trial-table tbody tr").count() == 100
        page.get_by_role("button", name="Show more").click()
        assert page.locator("#trial-table tbody tr").count() == 200
        times: list[float] = page.evaluate(
            """() => ["rename", "skill", "0042", "bug", ""].map((words) => {
              const input = document.getElementById("filter-text");
              const start = performance.now();
              input.value = words;
              input.dispatchEvent(new Event("input", { bubbles: true }));
              document.body.getBoundingClientRect();
              return performance.now() - start;
            })"""
        )
        assert min(times) < 100
        assert re.fullmatch(r"10,001 of 10,001 trials, .*", page.locator("#trial-count").inner_text())
