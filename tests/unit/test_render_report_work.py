from collections.abc import Callable, Iterator

import pytest

from scylla_gha.render.page import Page, page_of
from scylla_gha.render.report_work import reliability, times, tools, work
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report

Part = Callable[[Page], Iterator[str]]


@pytest.mark.parametrize(
    ("part", "title", "row"),
    [
        (work, "Checkpoints", "| arm | requirements met | steps made | changes that broke something |"),
        (reliability, "Does it do so again?", "| arm | two repetitions agree | scenarios passed at least once |"),
        (tools, "Tools", "| t1-01-skill | Bash 4.29, Read 2.00, Edit 1.00 |"),
        (times, "Time", "| arm | mean | median | 90th percentile | wait for a first byte |"),
    ],
)
def test_each_part_has_its_table_and_is_left_out_where_nothing_is_known(part: Part, title: str, row: str) -> None:
    lines = list(part(page_of(full_report())))
    assert lines[0] == f"\n## {title}\n"
    assert any(line.startswith(row) for line in lines)
    assert list(part(page_of(make_report(arms=(make_summary(),))))) == []


def test_where_k_differs_it_is_said_for_whom() -> None:
    lines = list(reliability(page_of(full_report())))
    assert "k = 2 for t0-00-empty, t0-01-vanilla; k = 3 for t1-01-skill" in lines[1]
