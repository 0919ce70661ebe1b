"""The quickstart as jobs of a workflow do it: planned once, worked on by two jobs, each with its own rows."""

from pathlib import Path

from tests.support.actions import step_in
from tests.support.command import scylla
from tests.support.repository import environment
from tests.support.shards import rows_in

ONLY = ("--only", "001-*", "--only", "031-*")


def test_the_quickstart_is_done_by_two_jobs_as_by_one_machine(tmp_path: Path) -> None:
    env = environment(tmp_path)
    step = step_in(tmp_path / "plan")
    said = scylla("plan", "quickstart", "--github", "--most-shards", "2", *ONLY, cwd=tmp_path,
                  env=env | step.environment())  # fmt: skip
    assert said.code == 0, said.err
    assert (step.given()["shards"], step.given()["cells"]) == ("[0,1]", "4")
    rows = []
    for number in (0, 1):
        step = step_in(tmp_path / f"cell-{number}")
        said = scylla(
            "cell", "quickstart", "--shard", str(number), "--github", cwd=tmp_path, env=env | step.environment()
        )
        assert said.code == 0, said.err
        rows += rows_in(Path(step.given()["rows"]) / "results.jsonl")
    (tmp_path / "runs").rename(tmp_path / "in-shards")
    assert scylla("evaluate", "quickstart", *ONLY, "--yes", cwd=tmp_path, env=env).code == 0
    alone = rows_in(tmp_path / "runs/quickstart/results.jsonl")
    same = ("cell", "key", "outcome", "judged", "passed", "score", "workspace_digest", "sandbox")
    assert _columns(rows, same) == _columns(alone, same)
    assert sorted(row["cell"] for row in rows if row["passed"]) == [
        "001-hello-world--oracle--r01", "031-ledger-rounding-bug--oracle--r01",
    ]  # fmt: skip


def _columns(rows: list[dict[str, object]], names: tuple[str, ...]) -> list[list[object]]:
    return sorted([row[name] for name in names] for row in rows)
