"""Pictures of docs/images, made of test data: `.venv/bin/python -m tests.benchmarks.pictures`.

Run it after a change of the page, the site, the comment or the results branch, and look at each picture. It takes about
a minute. Markdown is drawn by the package `markdown` with a style like GitHub's; GitHub's own may differ in details.
"""

import re
import tempfile
from pathlib import Path

from markdown import markdown
from playwright.sync_api import Browser

from scylla_gha.publish.push_run import branch_pages
from scylla_gha.report.charts.arms import forest
from scylla_gha.report.comment import comment
from scylla_gha.report.view import report_view
from scylla_gha.results_branch.stored_runs import index_entries
from tests.support.branch import copy_of
from tests.support.browser import chromium
from tests.support.command import scylla
from tests.support.comments import facts
from tests.support.report_pages import write_run
from tests.support.reports import full_report
from tests.support.sites import SiteBranch, realistic_branch

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH = 1100
EXPERIMENT = "house-style"
FAILED, PASSED = "001-fix-a-bug--t0-00-empty.cli.m--r01", "001-fix-a-bug--t1-01-skill.cli.m--r02"
_CHART = "forest.svg"
_ALERT_COLORS = {"NOTE": "#0969da", "TIP": "#1a7f37", "WARNING": "#9a6700", "CAUTION": "#d1242f"}
_STYLE = """
body { max-width: 54rem; margin: 1.5rem auto; font: 14px/1.5 system-ui, "Liberation Sans", sans-serif; color: #1f2328; }
a { color: #0969da; text-decoration: none; } h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em; }
blockquote { border-left: .25em solid var(--alert); margin: 0 0 1rem; padding: .1rem 1rem; }
blockquote h6 { font-size: 14px; color: var(--alert); margin: .5rem 0; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { border: 1px solid #d1d9e0; padding: .3rem .8rem; }
code { background: #eff1f3; border-radius: 6px; padding: .2em .4em; font-size: 85%; } img { max-width: 100%; }
details { margin: .5rem 0; } sub { color: #59636e; }
"""


def drawn(text: str) -> str:
    """Markdown as a page that looks like GitHub's: alerts have a title, and folded parts are closed."""
    kind = re.search(r"^> \[!(\w+)\]$", text, flags=re.MULTILINE)
    color = _ALERT_COLORS.get(kind[1] if kind else "", "#59636e")
    titled = re.sub(r"^> \[!(\w+)\]$", lambda match: f"> ###### {match[1].capitalize()}\n>", text, flags=re.MULTILINE)
    lists = re.sub(r"^(> \*\*.*)$\n(?=> - )", r"\1\n>\n", titled, flags=re.MULTILINE)
    body = markdown(lists, extensions=["tables"])
    style = f":root {{ --alert: {color}; }} {_STYLE}"
    return f'<!doctype html><html lang="en" data-ready="true"><meta charset="utf-8"><style>{style}</style>{body}</html>'


def take(browser: Browser, page: Path, name: str, height: int, part: str = "") -> None:
    """Write the picture of the first `height` pixels of a page, or of a part of it that its address names after #."""
    shown = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
    shown.goto(f"{page.as_uri()}#{part}")
    shown.wait_for_selector("html[data-ready]")
    shown.screenshot(path=IMAGES / f"{name}.png")
    shown.close()
    print(IMAGES / f"{name}.png")


def comment_page(root: Path) -> Path:
    """The comment on a report of three arms, with its chart."""
    report = full_report()
    chart = forest(report_view(report))
    assert chart
    (root / _CHART).write_text(chart.file, encoding="utf-8")
    text = comment(report, facts(has_chart=True, folder="v1/runs/2026/01/demo/123456789-1"))
    page = root / "comment.html"
    page.write_text(drawn(re.sub(rf"\]\([^)]*{_CHART}\)", f"]({_CHART})", text)), encoding="utf-8")
    return page


def branch_page(root: Path, branch: SiteBranch) -> Path:
    """README.md of a results branch with runs of ten days, its badges and its chart."""
    copy = copy_of(root, branch.server)
    entries = {entry.name: entry for entry in index_entries(copy)}
    run = next(
        run for run in reversed(branch.runs) if run.origin.branch == "main" and run.name.experiment == EXPERIMENT
    )
    earlier = [entry for name, entry in entries.items() if name != run.name]
    for path, content in branch_pages(copy, run, entries[run.name], earlier).items():
        file = root / "branch" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    page = root / "branch" / "README.html"
    page.write_text(drawn((root / "branch" / "README.md").read_text(encoding="utf-8")), encoding="utf-8")
    return page


def site_page(root: Path, branch: SiteBranch) -> Path:
    """The overview of a site of two experiments."""
    done = scylla("site", "--remote", str(branch.server), "--into", "out", cwd=root)
    assert done.code == 0, done.err
    return root / "out" / "index.html"


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        root = Path(temporary)
        branch = realistic_branch(root)
        page = write_run(root / "page")
        take(browser, page, "report-page", 1250)
        take(browser, page, "trial", 1350, f"cell={FAILED}")
        take(browser, page, "side-by-side", 950, f"compare={FAILED}&with={PASSED}")
        take(browser, comment_page(root), "comment", 1050)
        take(browser, branch_page(root, branch), "results-branch", 900)
        take(browser, site_page(root, branch), "site", 1150)


if __name__ == "__main__":
    main()
