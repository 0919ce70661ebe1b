"""The site in a real browser, from files: navigation, tables, colours, narrow screens, keyboard, hostile texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import ColorScheme, chromium, opened
from tests.support.command import scylla
from tests.support.report_pages import HOSTILE
from tests.support.reports import hostile_rows_report
from tests.support.sites import SiteBranch, broken_links, realistic_branch, site_plan, site_rows

HOME = "experiments/house-style/index.html"
SCENARIO = "experiments/house-style/scenarios/001-fix-a-bug.html"
PAGES = ["index.html", HOME, "experiments/house-style/arms.html", "experiments/house-style/tiers.html",
         "experiments/house-style/judges.html", SCENARIO, "experiments/house-style/runs/9010-1.html",
         "glossary.html"]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as program:
        yield program


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of ten runs of main, one of a pull request, one of another branch, and another experiment."""
    root = tmp_path_factory.mktemp("site")
    branch = realistic_branch(root)
    done = scylla("site", "--remote", str(branch.server), "--into", "out", cwd=root)
    assert done.code == 0, done.err
    return root / "out"


def uri(site: Path, page: str) -> str:
    return (site / page).as_uri()


def test_every_link_of_every_page_leads_to_a_file(site: Path) -> None:
    files = {str(path.relative_to(site)): path.read_text() for path in site.rglob("*") if path.is_file()}
    assert broken_links(files) == []
    assert set(PAGES) < files.keys()


def test_a_second_build_of_the_command_has_equal_bytes(site: Path) -> None:
    def tree(root: Path) -> dict[str, bytes]:
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    again = scylla("site", "--remote", str(site.parent / "server.git"), "--into", "again", cwd=site.parent)
    assert again.code == 0
    assert tree(site.parent / "again") == tree(site)


def test_a_reader_goes_from_the_verdict_to_a_trial_and_back(browser: Browser, site: Path) -> None:
    with opened(browser, uri(site, "index.html"), further=site) as shown:
        page = shown.page
        expect(page.locator("#part-2-chart-history")).to_be_visible()
        page.get_by_role("link", name="house-style", exact=True).nth(1).click()
        page.wait_for_selector("html[data-ready]")
        assert page.url == uri(site, HOME)
        assert any("pass rate falls at" in text for text in shown.texts("li"))
        page.get_by_role("link", name="001-fix-a-bug").click()
        page.wait_for_selector("html[data-ready]")
        expect(page.locator("#trial-count")).to_contain_text("9 of 9 trials")
        page.get_by_label("Result").select_option("failed")
        page.locator("#trial-table a").first.click()
        expect(page.locator("#trial-name")).to_contain_text("001-fix-a-bug--")
        expect(page.locator("#trial")).to_contain_text("The results branch keeps rows only.")
        page.get_by_role("link", name="Results").click()
        page.wait_for_selector("html[data-ready]")
        assert page.url == uri(site, "index.html")


def test_any_two_arms_are_compared_without_a_verdict(browser: Browser, site: Path) -> None:
    with opened(browser, uri(site, PAGES[2]), further=site) as shown:
        page = shown.page
        assert page.locator("#pair-table tbody tr").count() == 8
        page.get_by_label("First arm").select_option(label="t0-01-vanilla")
        page.get_by_label("Second arm").select_option(label="t0-00-empty")
        expect(page.locator("#pair-summary")).to_have_text(
            "8 scenarios of both: the second arm wins 2, ties 2, loses 4; mean change -8.3 points"
        )
        assert "They are not a verdict" in page.locator("main").inner_text()


def test_a_run_has_all_its_trials(browser: Browser, site: Path) -> None:
    with opened(browser, uri(site, PAGES[6]), further=site) as shown:
        page = shown.page
        expect(page.locator("#trial-count")).to_contain_text("72 of 72 trials")
        page.locator("#filter-text").fill("005-speed skill")
        expect(page.locator("#trial-count")).to_contain_text("3 of 72 trials")
        links = page.eval_on_selector_all("a[href^=https]", "links => links.map(link => link.href)")
        assert links == ["https://github.com/acme/app/actions/runs/9010"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 360)])
def test_pages_are_accessible_and_fit(browser: Browser, site: Path, scheme: ColorScheme, width: int) -> None:
    for path in PAGES:
        with opened(browser, uri(site, path), width=width, scheme=scheme, further=site) as shown:
            assert shown.axe() == [], path
            assert shown.page.evaluate("document.documentElement.scrollWidth") == width, path


def test_colours_are_switched_for_all_pages(browser: Browser, site: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, uri(site, "index.html"), further=site) as shown:
        shown.page.get_by_role("button", name="Dark").click()
        dark = shown.page.evaluate(background)
        shown.page.goto(uri(site, HOME))
        shown.page.wait_for_selector("html[data-ready]")
        assert shown.page.evaluate(background) == dark == "rgb(13, 17, 23)"


def test_the_keyboard_alone_reaches_a_scenario(browser: Browser, site: Path) -> None:
    with opened(browser, uri(site, HOME), further=site) as shown:
        page = shown.page
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "001-fix-a-bug":
                break
        page.keyboard.press("Enter")
        page.wait_for_url(uri(site, SCENARIO))
        page.wait_for_selector("html[data-ready]")
        expect(page.locator("h1").first).to_have_text("001-fix-a-bug")


def test_hostile_runs_are_inert(browser: Browser, tmp_path: Path) -> None:
    branch = SiteBranch(tmp_path)
    report = hostile_rows_report().model_copy(update={"question": HOSTILE, "experiment": HOSTILE})
    change = {"arm": HOSTILE, "scenario": HOSTILE, "cell": HOSTILE, "reason": HOSTILE, "passed": False}
    rows = site_rows(change=lambda row: row.model_copy(update=change), arms=1)
    branch.add(site_plan(), rows, report, branch=HOSTILE)
    done = scylla("site", "--remote", str(branch.push()), "--into", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    out = tmp_path / "out"
    for path in sorted(out.rglob("*.html")):
        with opened(browser, path.as_uri(), further=out) as shown:
            page = shown.page
            assert page.title() != "owned"
            assert page.locator("img, iframe, object, svg[onload]").count() == 0
            links = page.eval_on_selector_all("a", "links => links.map(link => link.protocol)")
            assert set(links) <= {"file:", "https:"}
