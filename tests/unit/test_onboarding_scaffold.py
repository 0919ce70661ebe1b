import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.mining.repository import LINK, checkout_of
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.sandbox import Tools
from scylla_gha.onboarding.find_tasks import example
from scylla_gha.onboarding.init import suite_scenarios
from scylla_gha.onboarding.scaffold import (
    PROGRAM,
    ScaffoldFile,
    ScaffoldTask,
    TaskStart,
    beside_files,
    file_states,
    filled,
    scenario_files,
    suite_files,
    write_files,
)
from scylla_gha.plan.cells import plan_cells
from tests.support.adopters import empty
from tests.support.agents import BUILT_IN

SCHEMAS = "https://example.com/schemas/"


def task(tmp_path: Path) -> ScaffoldTask:
    return example(checkout_of(empty(tmp_path / "repo")), ())


def test_what_is_written_is_read_by_the_toolkit(tmp_path: Path) -> None:
    one = task(tmp_path)
    hard = replace(one, title='A "quoted": title # with\tsigns')
    write_files(tmp_path, [*scenario_files(hard, "app", SCHEMAS), *suite_files("app", [one.id], SCHEMAS)])
    library = Library((tmp_path, toolkit_root()))
    folder = library.scenario(one.id)
    assert folder.scenario.title == hard.title
    assert len(folder.wrong) == 2
    made = plan_cells(library.experiment("app"), library, dict.fromkeys(("oracle", "nop"), BUILT_IN))
    assert {cell.id for cell in made.cells} == {f"{one.id}--{arm}--r01" for arm in ("nop", "oracle")}


def test_every_line_of_an_experiment_that_is_commented_out_is_valid() -> None:
    text = suite_files("app", ["101-a"], SCHEMAS)[0].content.decode()
    paid = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and ": " in line)
    lines = (line for line in paid.splitlines() if not line.startswith(("yaml-", "An experiment")))
    told = yaml.safe_load("\n".join(lines))
    assert told.keys() <= Experiment.model_fields.keys()
    assert told["baseline"] == "t0-01-vanilla.claude-code.claude-sonnet-5"


def test_the_scenario_comes_last(tmp_path: Path) -> None:
    files = scenario_files(task(tmp_path), "app", SCHEMAS)
    assert files[-1].path == "scenarios/app/101-list-the-files/scenario.yaml"
    write_files(tmp_path, files[:-1])
    assert suite_scenarios(tmp_path, "app") == []
    write_files(tmp_path, files)
    assert suite_scenarios(tmp_path, "app") == ["101-list-the-files"]


def test_a_start_that_is_fetched_has_no_fixture(tmp_path: Path) -> None:
    one = replace(task(tmp_path), start=TaskStart(repo="https://github.com/o/r", commit="ab" * 20))
    files = scenario_files(one, "app", SCHEMAS)
    assert not any(file.path.startswith("fixtures/") for file in files)
    assert yaml.safe_load(files[-1].content)["source"] == {"repo": "https://github.com/o/r", "hash": "ab" * 20}


def test_beside_it_lie_an_image_with_node_and_a_word_to_pytest(tmp_path: Path) -> None:
    one = task(tmp_path)
    assert list(beside_files(one, tmp_path)) == []
    (image,) = beside_files(replace(one, tools=Tools(system=("node",))), tmp_path)
    recipe = yaml.safe_load((toolkit_root() / "config/images/base.yaml").read_text())
    assert set(yaml.safe_load(image.content)["packages"]) == {*recipe["packages"], "nodejs"}
    python = replace(one, tools=Tools(python={"pytest": "9.2.0"}))
    assert [file.path for file in beside_files(python, tmp_path)] == ["fixtures/conftest.py"]
    (tmp_path / "fixtures").mkdir()
    assert list(beside_files(python, tmp_path)) == [], "a folder of theirs is theirs"


def test_runs_are_not_committed() -> None:
    file = suite_files("app", ["101-a"], SCHEMAS)[1]
    assert file.path == "runs/.gitignore"
    assert b"\n*\n" in file.content


FILES = [
    ScaffoldFile("a/b.txt", b"b\n"),
    ScaffoldFile("run.sh", b"true\n", PROGRAM),
    ScaffoldFile("here", b"a/b.txt", LINK),
]


def test_what_is_written_is_the_same_afterwards(tmp_path: Path) -> None:
    assert file_states(tmp_path, FILES)["new"] == FILES
    write_files(tmp_path, FILES)
    assert file_states(tmp_path, FILES)["unchanged"] == FILES
    assert (tmp_path / "here").read_text() == "b\n"
    assert os.access(tmp_path / "run.sh", os.X_OK)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b.txt", "here", "run.sh"]


def test_other_content_rights_and_kinds_are_other_files(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    (tmp_path / "a/b.txt").write_text("c\n")
    (tmp_path / "run.sh").chmod(0o644)
    (tmp_path / "here").unlink()
    (tmp_path / "here").write_text("a/b.txt")
    assert file_states(tmp_path, FILES)["overwritten"] == FILES


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept\n")
    (tmp_path / "repo/a").mkdir(parents=True)
    (tmp_path / "repo/a/b.txt").symlink_to(outside)
    write_files(tmp_path / "repo", FILES[:1])
    assert outside.read_text() == "kept\n"
    assert not (tmp_path / "repo/a/b.txt").is_symlink()


def test_every_gap_is_filled() -> None:
    assert filled("run.sh", before="", run="xargs pytest").endswith("\nxargs pytest\n")
    assert "<<" not in filled("experiment.yaml", name="a", scenario="b", schema="c", model="d", key="e")


def test_a_word_that_is_not_given_is_a_fault() -> None:
    with pytest.raises(KeyError, match="before"):
        filled("run.sh", run="pytest")
