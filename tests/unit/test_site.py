"""The site of a results branch as files: what is in it, and what hostile, broken and missing runs do to it."""

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.site import SiteOptions, site_files, write_site
from scylla_gha.model.readiness import REPORT_FILE
from scylla_gha.report.document import Markdown, Table, escape
from scylla_gha.report.page.html import blocks_html, inline_html, markdown_html
from scylla_gha.report.site import ExperimentPaths, SiteFile, file_name
from scylla_gha.report.site.site_data import report_fault
from tests.support.branch import bare, copy_of
from tests.support.command import scylla
from tests.support.readiness_reports import changed_report, readiness_report
from tests.support.records import make_report
from tests.support.report_pages import HOSTILE
from tests.support.reports import hostile_rows_report
from tests.support.sites import SiteBranch, broken_links, failing_from, site_plan, site_rows

PATHS = ExperimentPaths("house-style")
NAMES = ("../../etc/passwd", "..", ".", "", "a/b", "A", "a", "con fig", "\u202eevil", HOSTILE, "x" * 5000, "a-0123abcd",
         "index", "-rf", "a..b", "a\x00b", "\ud800")  # fmt: skip


def built(server: Path, root: Path, **options: Any) -> dict[str, str]:
    """Text of all files, by path."""
    files = list(site_files(copy_of(root, server), SiteOptions(**options)))
    assert len({file.path for file in files}) == len(files)
    return {file.path: file.content.decode() for file in files}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Two runs of main, one of a pull request, a replay, and one whose files were changed."""
    root = tmp_path_factory.mktemp("small")
    branch = SiteBranch(root)
    branch.add(site_plan(), site_rows())
    latest = branch.add(site_plan(), site_rows())
    branch.add(site_plan(), site_rows(change=failing_from(0, 1)), pull=12, branch=None)
    replayed = make_report(experiment="house-style", replayed=True)
    branch.add(site_plan(), site_rows(arms=1), replayed)
    forged = branch.add(site_plan(), site_rows(arms=1), make_report(experiment="house-style"))
    path = next(path for path in branch.files if f"{forged.run}-1/report.json" in path)
    branch.files[path] = branch.files[path].replace(b"house-style", b"other-style")
    server = branch.push()
    assert latest.run == "9002"
    return server, built(server, root)


def test_file_names_are_safe_and_differ() -> None:
    made = [file_name(name) for name in NAMES]
    assert len({name.casefold() for name in made}) == len(NAMES)
    assert all(re.fullmatch(r"[a-z0-9]+([._-][a-z0-9]+)*", name) and len(name) <= 80 for name in made)
    assert file_name("001-fix-a-bug") == "001-fix-a-bug"


def test_escaped_text_stays_text_in_html() -> None:
    text = "<img src=x onerror=1> &lt;b&gt; R&D | a\\b `c` *d* [x](javascript:1) @octo </table> ~~x~~"
    html = markdown_html(f"x {escape(text)} y")
    assert html == ("<p>x &lt;img src=x onerror=1&gt; &amp;lt;b&amp;gt; R&amp;D | a\\b `c` *d* [x](javascript:1) @octo "
                    "&lt;/table&gt; ~~x~~ y</p>")  # fmt: skip
    table = blocks_html([Table(("a", "b"), [(text, "2")])], '"><script>')
    assert table.count("<table>") == 1
    assert 'aria-label="&quot;&gt;&lt;script>' not in table
    assert "<script" not in table
    assert "<td>2</td>" in table


@pytest.mark.parametrize(
    "text", [*NAMES, "a`b`c", "**x** *y* _z_", "\\\\*", "[x](http://y)", "a&lt;b & c", "www.x.org #1 @me GH-2"]
)
def test_text_in_markdown_is_the_same_in_the_base_and_by_the_library(text: str) -> None:
    for pattern in ("x {} y", "**{}**: *{}.* {}", "[{}](https://example.org/a?b=c&d) `code`", "[{}](#cell=a--b)"):
        markdown = Markdown(pattern).fill(*[f"<{text}>"] * pattern.count("{}"))
        by_library = re.sub(' rel="[^"]*"', "", markdown_html(markdown)).removeprefix("<p>").removesuffix("</p>")
        assert unescape(re.sub(' rel="[^"]*"', "", inline_html(markdown))) == unescape(by_library)


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "//example.org", "JAVASCRIPT:x", "vbscript:x"]
)
def test_links_of_other_schemes_are_text(address: str) -> None:
    assert "<a" not in inline_html(Markdown(f"[words]({address})"))


def test_raw_html_and_other_schemes_are_not_let_through() -> None:
    html = markdown_html("[a](javascript:alert(1)) <b onclick=x>b</b>\n\n<script>alert(1)</script>\n")
    assert re.findall(r"<(\w+)[^>]*>", html) == ["p", "a", "p"]
    assert "javascript" not in html


def test_all_pages_are_there_and_all_links_lead_to_files(small: tuple[Path, dict[str, str]]) -> None:
    files = small[1]
    assert {"index.html", "glossary.html", PATHS.home, PATHS.arms, PATHS.tiers, PATHS.judges,
            PATHS.scenario("008-close-a-leak"), "experiments/house-style/runs/9002-1.html"} <= files.keys()  # fmt: skip
    assert len([path for path in files if "/scenarios/" in path and path.endswith(".html")]) == 8
    assert broken_links(files) == []


def test_the_overview_shows_the_latest_measured_run_of_the_branch(small: tuple[Path, dict[str, str]]) -> None:
    text = small[1]["index.html"]
    assert "<strong>t1-01-skill is better than t0-00-empty</strong>" in text
    assert "1 experiment, 4 runs, and 1 run of pull requests" in text
    assert "From run house-style/9002-1" in text
    assert text.count('id="part-2-chart-history"') == 1
    assert "replay: nothing was measured" in text
    reason = "report.json: does not match its manifest (SHA-256 differs); it was changed"
    assert f"not shown in full: house-style/9005-1: {reason}" in text


def test_runs_of_pull_requests_and_replays_stand_apart(small: tuple[Path, dict[str, str]]) -> None:
    home = small[1][PATHS.home]
    runs, _, pulls = home.partition("Pull requests</h2>")
    assert "runs/9003-1.html" in pulls
    assert "runs/9003-1.html" not in runs
    (alternative,) = re.findall(r"<p>(Pass rate over [^<]*)</p>", home)
    assert alternative.startswith("Pass rate over 2 result sets")
    assert "REPLAY of recorded answers" in small[1]["experiments/house-style/runs/9004-1.html"]
    assert "pull request 12, not part of the history" in small[1]["experiments/house-style/runs/9003-1.html"]


def test_pages_allow_their_own_scripts_only(small: tuple[Path, dict[str, str]]) -> None:
    for path, text in small[1].items():
        if path.endswith(".html"):
            (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
            assert policy.startswith("default-src 'none'; script-src 'sha256-"), path
            assert "unsafe" not in policy
            nonces = re.findall(r'<script src="[^"]*" nonce="([^"]*)">', text)
            assert all(f"'nonce-{nonce}'" in policy for nonce in nonces)
            assert re.findall(r"(?:src|href)=\"(?!https://github.com/acme/app/actions/runs/\d+\")\w+:", text) in (
                [],
                ['href="data:'],
            )


def test_an_option_names_the_branch_of_the_history(small: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    text = built(small[0], tmp_path, on="release")["index.html"]
    assert "Not enough data: none of the runs of release has a readable report" in text
    assert "better than" not in text


def test_an_empty_branch_has_a_page_that_says_so(tmp_path: Path) -> None:
    done = scylla("site", "--remote", str(bare(tmp_path)), "--into", "out", cwd=tmp_path)
    assert (done.code, done.out) == (0, "out/index.html\n")
    assert "There is no run on the branch scylla-results yet." in (tmp_path / "out" / "index.html").read_text()


def test_hostile_names_and_texts_are_inert(tmp_path: Path) -> None:
    branch = SiteBranch(tmp_path)
    report = hostile_rows_report().model_copy(update={"experiment": HOSTILE, "question": HOSTILE})

    def hostile(row: Any) -> Any:
        return row.model_copy(update={"arm": HOSTILE, "scenario": "../../x", "cell": HOSTILE, "reason": HOSTILE})

    branch.add(site_plan(), site_rows(change=hostile, arms=1), report, branch=HOSTILE, repository="evil.example/x")
    files = built(branch.push(), tmp_path)
    pages = {path: text for path, text in files.items() if path.endswith(".html")}
    assert broken_links(files) == []
    assert all(".." not in path for path in files)
    for path, text in pages.items():
        assert set(re.findall(r"<(script|img|iframe|object|svg onload)\b", text)) <= {"script"}, path
        assert len(re.findall(r"<script", text)) == 1 + text.count("<script src="), path
        assert "\u202e" not in text
        assert "evil.example/x/actions" not in text


def test_reports_that_contradict_themselves_are_named() -> None:
    report = hostile_rows_report()
    assert report_fault(report) == ""
    row = report.scenarios[0].model_copy(update={"passed": {"other": (0, 1)}})
    twice = report.model_copy(update={"arms": (*report.arms, report.arms[0])})
    assert report_fault(twice) == "the report has an arm twice"
    assert "other arms" in report_fault(report.model_copy(update={"scenarios": (row, *report.scenarios[1:])}))
    lost = report.failures[0].model_copy(update={"cells": ()})
    assert "no trial" in report_fault(report.model_copy(update={"failures": (lost,)}))
    unknown = report.comparisons[0].model_copy(update={"baseline": "x"})
    assert "compares arms" in report_fault(report.model_copy(update={"comparisons": (unknown,)}))


def test_rows_of_another_version_leave_the_report(tmp_path: Path) -> None:
    branch = SiteBranch(tmp_path)
    branch.add(site_plan(), site_rows(change=lambda row: row.model_copy(update={"schema_version": 2})))
    branch.old_rows()
    files = built(branch.push(), tmp_path)
    assert "The results of this run cannot be read, so its trials are not shown." in files[PATHS.scenario("003-rename")]
    assert "t1-01-skill is better than t0-00-empty" in files["index.html"]
    assert broken_links(files) == []


def test_a_second_build_writes_equal_bytes_and_removes_only_its_own_stale_pages(tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = [SiteFile("index.html", b"1"), SiteFile("a/b/c.html", b"2"), SiteFile("a/d.html", b"3")]
    write_site(out, files)
    before = tree(out)
    write_site(out, files)
    assert tree(out) == before
    (out / "mine.txt").write_text("of a person")
    (out / "a" / "d.html").write_text("changed by a person")
    write_site(out, files[:1])
    assert set(tree(out)) == {"index.html", "mine.txt", "a/d.html", "site.json"}
    assert json.loads((out / "site.json").read_text())["files"].keys() == {"index.html"}


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("of a person")
    with pytest.raises(ConfigError, match=r"index.html: was not written by an earlier build"):
        write_site(tmp_path, [SiteFile("index.html", b"1")])
    assert (tmp_path / "index.html").read_text() == "of a person"


def test_builds_into_one_folder_at_once_write_one_after_the_other(tmp_path: Path) -> None:
    began, may_go_on, late_began = threading.Event(), threading.Event(), threading.Event()

    def slow_build() -> Iterator[SiteFile]:
        yield SiteFile("index.html", b"first")
        began.set()
        assert may_go_on.wait(60)
        yield SiteFile("first.html", b"first")

    def late_build() -> Iterator[SiteFile]:
        late_began.set()
        yield from (SiteFile("index.html", b"second"), SiteFile("second.html", b"second"))

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(write_site, tmp_path, slow_build())
        assert began.wait(60)
        second = pool.submit(write_site, tmp_path, late_build())
        assert not late_began.wait(0.2)
        may_go_on.set()
        assert [sorted(build.result(60).files) for build in (first, second)] == [
            ["first.html", "index.html"], ["index.html", "second.html"],
        ]  # fmt: skip
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.html")} == {
        "index.html": b"second", "second.html": b"second",
    }  # fmt: skip


def test_a_build_that_failed_is_replaced_by_the_next(tmp_path: Path) -> None:
    def failing_build() -> Iterator[SiteFile]:
        yield from (SiteFile("index.html", b"1"), SiteFile("old.html", b"1"))
        raise ConfigError("a run cannot be read")

    with pytest.raises(ConfigError, match="a run cannot be read"):
        write_site(tmp_path, failing_build())
    write_site(tmp_path, [SiteFile("index.html", b"2")])
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.html")} == {"index.html": b"2"}


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x"])
def test_a_forged_list_removes_nothing_outside(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_text("of a person")
    out = tmp_path / "out"
    out.mkdir()
    (out / "site.json").write_text(json.dumps({"schema_version": 1, "files": {path: "0" * 64}}))
    with pytest.raises(ConfigError, match=r"site.json: lists .*outside of the site"):
        write_site(out, [])
    assert (tmp_path / "x").exists()


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_readiness_has_its_scores_over_time_and_begins_the_page_of_its_run(tmp_path: Path) -> None:
    branch = SiteBranch(tmp_path)
    for report in (readiness_report(), changed_report()):
        pages = {REPORT_FILE: report.model_dump_json().encode()}
        branch.add(site_plan("readiness"), site_rows("readiness", arms=1), make_report(experiment="readiness"), pages)
    files, paths = built(branch.push(), tmp_path), ExperimentPaths("readiness")
    home = files[paths.home]
    assert re.findall(r"readiness (\d+) \[", home.partition("</table>")[0]) == ["83", "67"]
    assert "Readiness over 2 runs, oldest first, with its 95 % interval" in home
    assert "readiness 83 [" in files["index.html"]
    (newest,) = (text for path, text in files.items() if "9002" in path and path.endswith(".html"))
    assert newest.index("How well can an agent work in demo?") < newest.index("lost: src/m0.py")
    assert broken_links(files) == []
