"""`scylla_gha.results`: rows of runs, files and results branches as a pandas table, and the same table as CSV."""

import datetime
import re
import sys
import tracemalloc
from pathlib import Path

import pandas
import pytest

import scylla_gha
from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.rows import write_csv
from scylla_gha.model.publication import RunName
from scylla_gha.model.result import Result
from scylla_gha.results_branch.publish_run import publish_run
from scylla_gha.store import write_lines
from scylla_gha.system import process
from tests.support.branch import BRANCH, a_run, bare, copy_of
from tests.support.git import shell
from tests.support.golden import golden
from tests.support.records import WHEN, make_cell, make_result

ROOT = Path(__file__).parents[2]
HERE = datetime.timezone(datetime.timedelta(hours=2))
ROWS = (
    make_result(usd=None, tools={"Bash": 2}, started_at=WHEN, turns=2**53 + 1, delivered=None),
    make_result(make_cell("oracle"), score=None, started_at=WHEN.astimezone(HERE), experiment="other"),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_lines(tmp_path / "runs/demo/results.jsonl", ROWS)
    return tmp_path / "runs/demo"


def published(tmp_path: Path) -> Path:
    """A repository with two runs on its results branch, of two branches of the code."""
    server = bare(tmp_path)
    for number, code in (("7", "main"), ("8", "topic")):
        name = RunName(experiment="quickstart", run=number, attempt=1)
        rows = [make_result(cell, experiment="quickstart") for cell in (make_cell("oracle"), make_cell("nop"))]
        publish_run(copy_of(tmp_path, server), a_run(tmp_path / number, *rows, name=name, branch=code))
    return server


def test_columns_have_types_and_unknown_is_missing(run: Path) -> None:
    table = scylla_gha.results(run)
    assert list(table.columns) == ["run", *Result.model_fields]
    names = ("run", "arm", "outcome", "passed", "turns", "usd", "started_at", "tools", "github")
    types = ["string", "string", "string", "boolean", "Int64", "Float64", "datetime64[us, UTC]", "object", "string"]
    assert [str(table[name].dtype) for name in names] == types
    first = table.iloc[0]
    assert (first["run"], first["turns"], first["tools"], first["outcome"]) == (
        "demo", 2**53 + 1, {"Bash": 2}, "completed",
    )  # fmt: skip
    assert [name for name in ("usd", "delivered", "github", "agent_files") if not pandas.isna(first[name])] == []
    assert list(table["started_at"]) == [WHEN, WHEN]


def test_a_file_is_read_as_its_folder_is_and_an_experiment_can_be_chosen(run: Path) -> None:
    assert scylla_gha.results(str(run / "results.jsonl")).equals(scylla_gha.results(run))
    assert list(scylla_gha.results(run, experiment="other")["arm"]) == ["oracle"]
    empty = scylla_gha.results(run, experiment="none")
    assert (len(empty), str(empty["turns"].dtype)) == (0, "Int64")


def test_a_results_branch_has_the_rows_of_all_its_runs(tmp_path: Path) -> None:
    server = str(published(tmp_path))
    table = scylla_gha.results(BRANCH, repository=server)
    assert list(table["run"]) == ["quickstart/7-1"] * 2 + ["quickstart/8-1"] * 2
    assert list(scylla_gha.results(BRANCH, repository=server, on="topic")["arm"]) == ["oracle", "nop"]
    with pytest.raises(ConfigError, match=rf"^{BRANCH}: neither a file or folder, nor a results branch with such"):
        scylla_gha.results(BRANCH, repository=server, experiment="other")


def test_rows_are_not_kept_as_records(run: Path) -> None:
    scylla_gha.results(run)
    write_lines(run / "results.jsonl", [make_result(make_cell("nop", number)) for number in range(1, 1_001)])
    tracemalloc.start()
    table = scylla_gha.results(run)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(table) == 1_000
    assert peak < 6_000 * 1_000, "a row takes over 10,000 bytes as a record"


def test_what_is_no_result_is_named_with_what_to_do(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"runs: has no results.jsonl; name .*results\('scylla-results', repository="):
        scylla_gha.results(run.parent)
    with pytest.raises(ConfigError, match=r"on='main': selects runs of a results branch, and .*demo is a file or"):
        scylla_gha.results(run, on="main")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^run/demo: no such file or folder; as a results branch: repository=: name"):
        scylla_gha.results("run/demo")
    write_lines(run / "results.jsonl", [make_result(turns=2**70)])
    with pytest.raises(ConfigError, match="column turns: a value has more than 64 bits; correct it in"):
        scylla_gha.results(run)


def test_the_example_of_the_docs(run: Path, tmp_path: Path) -> None:
    run.rename(run.parent / "quickstart")
    shell(tmp_path, f"git init -q; git remote add origin {published(tmp_path)}")
    (code,) = re.findall(r"```python\n(import scylla_gha\n.*?)```", (ROOT / "docs/running.md").read_text(), re.DOTALL)
    done = process.capture([sys.executable, "-c", code], cwd=tmp_path)
    assert (done.code, done.stderr.decode()) == (0, "")
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert ["nop", "1.0", "1.0", "<NA>"] in lines
    assert ["quickstart/7-1", "1.0", "1.0"] in lines
    assert not any("8-1" in line[0] for line in lines)


def test_the_package_is_imported_without_pandas() -> None:
    code = "import sys; before = set(sys.modules); import scylla_gha; print(*sorted(set(sys.modules) - before))"
    assert process.capture([sys.executable, "-c", code]).stdout.decode().split() == ["scylla_gha"]


def test_csv_is_what_its_readers_had_before(tmp_path: Path) -> None:
    """Byte for byte: quotes, formulas as they are, numbers with all digits, times with all digits or none."""
    rows = [
        make_result(reason='=1+1, "so"', epoch="@a", seconds=1e-07, usd=0.1 + 0.2, score=None, agent_files=("a", "ü")),
        make_result(started_at=WHEN.replace(microsecond=120_000), excuse="line\nbreak", turns=2**63 - 1),
        make_result(category="NA", size="", started_at=WHEN, judge_scores={"m": None, "n": 1.0}),
    ]
    write_csv(rows, tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert text == golden("results.csv", text)
