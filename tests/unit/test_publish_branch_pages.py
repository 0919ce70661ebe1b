"""Pages that people see when they open the results branch on GitHub."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scylla_gha.model.publication import RunName
from scylla_gha.publish.push_run import branch_pages
from scylla_gha.report.branch_readme import badge, badges
from scylla_gha.results_branch.clone import BranchClone
from scylla_gha.results_branch.publish_run import PushBackoff, publish_run
from tests.support.branch import BRANCH, a_run, bare, copy_of, paths
from tests.support.git import shell
from tests.support.records import make_report
from tests.support.reports import full_report

AT_ONCE = PushBackoff(sleep=lambda _: None)
BADGES = [f"badges/demo-{kind}.svg" for kind in ("cost-of-pass", "pass-rate", "verdict")]


def push(root: Path, server: Path, run: str, **origin: object) -> None:
    made = a_run(root, name=RunName(experiment="demo", run=run), **origin)
    publish_run(copy_of(root, server), made, AT_ONCE, branch_pages)


def shown(server: Path, path: str = "README.md") -> str:
    return shell(server, f"git show {BRANCH}:{path}")


def table(text: str, heading: str) -> list[str]:
    """The rows of the first table after a heading."""
    rows = re.search(r"(?:^\|.*\n?)+", text[text.index(heading) :], re.MULTILINE)
    assert rows is not None
    return rows[0].splitlines()[2:]


def test_the_page_leads_to_the_latest_run_its_badges_and_its_trend(tmp_path: Path) -> None:
    server = bare(tmp_path)
    for run in ("7", "8"):
        push(tmp_path, server, run, head="c0ffee" + "0" * 34, branch="main")
    text, stored = shown(server), paths(server)
    (latest,) = table(text, "# Evaluation results")
    assert "| main `c0ffee0` |" in latest
    assert latest.endswith("| [8](../../actions/runs/8) |")
    assert ["[7]" in row for row in table(text, "Latest runs")] == [False, True]
    own = [target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("../../")]
    assert {*BADGES, "charts/demo.svg"} <= set(own)
    assert [target for target in own if not any(path.startswith(target) for path in stored)] == []
    ElementTree.fromstring(shown(server, "charts/demo.svg"))


def test_a_run_of_a_pull_request_is_listed_apart_and_changes_no_badge(tmp_path: Path) -> None:
    server = bare(tmp_path)
    push(tmp_path, server, "7", pull=12)
    assert [path for path in paths(server) if not path.startswith("v1/")] == ["README.md"]
    (row,) = table(shown(server), "## Pull requests")
    assert "[pull request 12](../../pull/12)" in row


class Overtaken(BranchClone):
    """A clone whose first push is overtaken by another job's."""

    def __init__(self, clone: BranchClone, other: Callable[[], None]) -> None:
        self.__dict__.update(clone.__dict__)
        self.other: Callable[[], None] | None = other

    def push(self, commit: str) -> None:
        if self.other is not None:
            other, self.other = self.other, None
            other()
        super().push(commit)


def test_if_two_jobs_publish_at_once_the_page_has_both_runs(tmp_path: Path) -> None:
    server = bare(tmp_path)
    push(tmp_path, server, "1")
    mine = a_run(tmp_path, name=RunName(experiment="demo", run="2"))
    copy = Overtaken(copy_of(tmp_path, server), lambda: push(tmp_path, server, "3"))
    published = publish_run(copy, mine, AT_ONCE, branch_pages)
    assert published.tries == 2
    runs = [re.findall(r"actions/runs/(\d)", row) for row in table(shown(server), "Latest runs")]
    assert runs == [["2"], ["3"], ["1"]]
    assert shell(server, f"git rev-list --count {BRANCH}") == "3"


def test_without_the_extra_there_is_a_page_without_a_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    server = bare(tmp_path)
    for run in ("7", "8"):
        push(tmp_path, server, run)
    assert [path for path in paths(server) if not path.startswith("v1/")] == ["README.md", *BADGES]
    assert "charts/" not in shown(server)


def test_badges_say_the_figures_of_the_arm_that_decides() -> None:
    titles = {kind: re.findall("<title>(.*?)</title>", svg) for kind, svg in badges(full_report()).items()}
    assert titles == {
        "verdict": ["demo: ? not enough data"],
        "pass-rate": ["pass rate: 40 %"],
        "cost-of-pass": ["cost of a pass: $0.36"],
    }
    assert "pass rate: -" in badges(make_report())["pass-rate"]


def test_a_badge_is_a_picture_and_nothing_else_whatever_its_text_is() -> None:
    svg = ElementTree.fromstring(badge('"><script>x</script>', "a & b", "#0b5fa5"))
    tags = {element.tag.rpartition("}")[2] for element in svg.iter()}
    assert tags == {"svg", "title", "rect", "g", "text"}
    assert svg.attrib["aria-label"] == '"><script>x</script>: a & b'


@pytest.mark.parametrize("colour", ["#0b5fa5", "#b3400a", "#2b7a5b", "#59636e", "#1f2328"])
def test_white_text_on_a_badge_is_readable(colour: str) -> None:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels)
    assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5
