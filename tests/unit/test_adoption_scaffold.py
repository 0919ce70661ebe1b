from dataclasses import replace
from pathlib import Path

import yaml

from scylla_gha.adoption.example import example
from scylla_gha.adoption.repository import checkout_of
from scylla_gha.adoption.scaffold import (
    beside_files,
    experiment_file,
    ignored_runs,
    scenario_files,
    scenarios_here,
)
from scylla_gha.adoption.task import Start, Task
from scylla_gha.adoption.writing import write
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.model.experiment import Experiment
from scylla_gha.plan import Known, plan
from tests.support.adopters import empty

SCHEMAS = "https://example.com/schemas/"


def task(tmp_path: Path) -> Task:
    return example(checkout_of(empty(tmp_path / "repo")), ())


def test_what_is_written_is_read_by_the_toolkit(tmp_path: Path) -> None:
    one = task(tmp_path)
    hard = replace(one, title='A "quoted": title # with\tsigns')
    write(tmp_path, [*scenario_files(hard, "app", SCHEMAS), experiment_file("app", [one.id], SCHEMAS)])
    library = Library((tmp_path, toolkit_root()))
    folder = library.scenario(one.id)
    assert folder.scenario.title == hard.title
    assert len(folder.wrong) == 2
    made = plan(library.experiment("app"), library, {name: Known("1", uses_model=False) for name in ("oracle", "nop")})
    assert {cell.id for cell in made.cells} == {f"{one.id}--{arm}--r01" for arm in ("nop", "oracle")}


def test_every_line_of_an_experiment_that_is_commented_out_is_valid() -> None:
    text = experiment_file("app", ["101-a"], SCHEMAS).content.decode()
    paid = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and ": " in line)
    told = yaml.safe_load("\n".join(line for line in paid.splitlines() if not line.startswith(("yaml-", "A question"))))
    assert told.keys() <= Experiment.model_fields.keys()
    assert told["baseline"] == "t0-01-vanilla.claude-code.claude-sonnet-5"


def test_the_scenario_comes_last(tmp_path: Path) -> None:
    files = scenario_files(task(tmp_path), "app", SCHEMAS)
    assert files[-1].path == "scenarios/app/101-list-the-files/scenario.yaml"
    write(tmp_path, files[:-1])
    assert scenarios_here(tmp_path, "app") == []
    write(tmp_path, files)
    assert scenarios_here(tmp_path, "app") == ["101-list-the-files"]


def test_a_start_that_is_fetched_has_no_fixture(tmp_path: Path) -> None:
    one = replace(task(tmp_path), start=Start(repo="https://github.com/o/r", commit="ab" * 20))
    files = scenario_files(one, "app", SCHEMAS)
    assert not any(file.path.startswith("fixtures/") for file in files)
    assert yaml.safe_load(files[-1].content)["source"] == {"repo": "https://github.com/o/r", "hash": "ab" * 20}


def test_beside_it_lie_an_image_with_node_and_a_word_to_pytest(tmp_path: Path) -> None:
    one = task(tmp_path)
    assert list(beside_files([one], tmp_path)) == []
    (image,) = beside_files([replace(one, system=("node",))], tmp_path)
    recipe = yaml.safe_load((toolkit_root() / "config/images/base.yaml").read_text())
    assert set(yaml.safe_load(image.content)["packages"]) == {*recipe["packages"], "nodejs"}
    python = replace(one, python={"pytest": "9.2.0"})
    assert [file.path for file in beside_files([python], tmp_path)] == ["fixtures/conftest.py"]
    (tmp_path / "fixtures").mkdir()
    assert list(beside_files([python], tmp_path)) == [], "a folder of theirs is theirs"


def test_runs_are_not_committed() -> None:
    assert ignored_runs().path == "runs/.gitignore"
    assert b"\n*\n" in ignored_runs().content
