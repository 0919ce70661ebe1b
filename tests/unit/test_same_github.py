"""Trials on the hub and trials on github.com are never compared, followed, imported or counted together."""

from pathlib import Path
from typing import Any, Literal

import pytest

from scylla_gha.aggregate import aggregate
from scylla_gha.errors import ConfigError
from scylla_gha.report import markdown
from scylla_gha.store import write_lines
from scylla_gha.store.rows import reports_of_same_github
from tests.support.command import scylla
from tests.support.foreign import csv_file
from tests.support.records import make_cell, make_plan, make_report, make_result

GitHub = Literal["hub", "github.com"]
CELLS = [make_cell(scenario=f"00{number}-s") for number in range(3)]
NEVER = "Trials of the two are never compared or counted together; choose runs with one value of `github`"


def rows_file(path: Path, *githubs: GitHub | None) -> Path:
    write_lines(path, [make_result(cell, github=github) for cell, github in zip(CELLS, githubs, strict=True)])
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    githubs: dict[str, list[GitHub | None]] = {
        "hub": ["hub", "hub", None],
        "com": [None, "github.com", "github.com"],
        "none": [None] * 3,
        "mixed": ["hub", None, "github.com"],
    }
    return {name: str(rows_file(tmp_path / f"{name}.jsonl", *values)) for name, values in githubs.items()}


@pytest.mark.parametrize("command", ["compare {hub} {com}", "history {hub} {com}", "history {com} --baseline {hub}",
                                     "aa-test {mixed}"])  # fmt: skip
def test_commands_refuse_rows_of_both(files: dict[str, str], command: str, tmp_path: Path) -> None:
    said = scylla(*command.format(**files).split(), cwd=tmp_path)
    assert said.code == 3
    assert "001-s" in said.err or "002-s" in said.err
    assert "ran on the hub" in said.err
    assert "ran on github.com" in said.err
    assert NEVER in " ".join(said.err.split())


@pytest.mark.parametrize("command", ["compare {hub} {none}", "compare {com} {com}", "history {hub} {hub} {none}"])
def test_rows_without_github_go_with_either(files: dict[str, str], command: str, tmp_path: Path) -> None:
    assert scylla(*command.format(**files).split(), cwd=tmp_path).code == 0


def test_an_import_of_both_is_refused_and_one_of_github_com_says_so(tmp_path: Path) -> None:
    table = "scenario,arm,passed,github\n1,a,1,github.com\n2,a,0,{}\n"
    said = scylla("import", str(csv_file(tmp_path / "a.csv", table.format("hub"))), cwd=tmp_path)
    assert (said.code, NEVER in " ".join(said.err.split())) == (3, True)
    said = scylla("import", str(csv_file(tmp_path / "a.csv", table.format("elsewhere"))), cwd=tmp_path)
    assert said.code == 3
    said = scylla("import", str(csv_file(tmp_path / "a.csv", table.format("github.com"))), cwd=tmp_path)
    assert said.code == 0
    assert "; GitHub: github.com)" in (tmp_path / "runs/a/report.md").read_text()


def test_a_report_is_of_one_github_and_names_it() -> None:
    plan = make_plan(*CELLS)

    def report(*githubs: GitHub | None) -> Any:
        return aggregate(plan, [make_result(cell, github=github) for cell, github in zip(CELLS, githubs, strict=True)])

    assert report(None, None, None).github is None
    assert "; GitHub: the hub)" in markdown(report("hub", None, "hub"))
    with pytest.raises(ConfigError, match=r"^demo: .* ran on the hub, .* ran on github\.com\."):
        report("hub", None, "github.com")


def test_the_history_of_published_runs_has_those_of_the_newest_ones_github() -> None:
    githubs: dict[str, GitHub | None] = {"a": "hub", "b": "github.com", "c": None, "d": "hub"}
    reports = [(name, make_report(github=github)) for name, github in githubs.items()]
    assert [name for name, _ in reports_of_same_github(reports)] == ["a", "c", "d"]
    assert [name for name, _ in reports_of_same_github(reports[:3])] == ["b", "c"]
