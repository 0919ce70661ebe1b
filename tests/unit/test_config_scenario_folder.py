from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.scenario_folder import check_scenario, check_variants
from scylla_gha.errors import ConfigError
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.scenario import DiffCondition, ProgressStep
from scylla_gha.model.variant import SystemPrompt, Treatment, Variant
from tests.support.library import write
from tests.support.records import make_category, make_checkpoint, make_item, make_rubric, make_scenario


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "001-one" / "prompt.md", "Do one thing.\n").parent


def faults(folder: Path, **given: Any) -> list[str]:
    """Return what is said of a scenario, without its folder; `rubric` may be given as well."""
    rubric = given.pop("rubric", make_rubric())
    try:
        check_scenario(folder, make_scenario(**given), rubric)
    except ConfigError as error:
        return str(error).replace(f"{folder}/", "").splitlines() or ["nothing is said"]
    return []


def test_a_good_scenario_is_good(folder: Path) -> None:
    write(folder / "settings.json", "{}")
    given: dict[str, Any] = {
        "overrides": {".cli/settings.json": "settings.json"},
        "tools": Tools(python={"pytest": "9.2.0", "x": "1.0.post1+cpu"}),
        "checkpoints": (
            make_checkpoint(),
            make_checkpoint(id="scope", changes=DiffCondition(only=("src/**",), never=("*.pyc",)), required=False),
            make_checkpoint(id="says", run="true", stdout_matches="^ok$"),
        ),
        "progress": (ProgressStep(step="a", checkpoint="says"), ProgressStep(step="b", item="F1")),
    }
    assert faults(folder, **given) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"id": "002-two"}, "id: is '002-two', but the folder is named '001-one'; make them equal"),
        (
            {"tools": Tools(python={"ruff": ">=1"})},
            "tools.python.ruff: pin one version, such as 1.2.3, not '>=1'",
        ),
        ({"tools": Tools(python={"ruff": "1.2\n"})}, "tools.python.ruff: pin one version"),
        ({"tools": Tools(python={"ruff": "1 @ https://x"})}, "tools.python.ruff: pin one version"),
        ({"checkpoints": (make_checkpoint(),) * 2}, "checkpoints: the id 'done' is given twice"),
        (
            {"checkpoints": (make_checkpoint(run="true", stdout_matches="("),)},
            "checkpoints.done: '(' is not a regular expression of RE2: ",
        ),
        (
            {"checkpoints": (make_checkpoint(matches="["),)},
            "checkpoints.done: '[' is not a regular expression",
        ),
        (
            {"checkpoints": (make_checkpoint(changes=DiffCondition(only=("a", "!"))),)},
            "checkpoints.done: '!' is not a gitignore pattern: ",
        ),
        (
            {"checkpoints": (make_checkpoint(changes=DiffCondition(never=("\\",))),)},
            "checkpoints.done: '\\\\' is not a gitignore pattern: ",
        ),
        (
            {"checkpoints": (make_checkpoint(required=False),)},
            "checkpoints: only guards are required, so a trial that changes nothing could pass; require another",
        ),
        ({"checkpoints": (make_checkpoint(guard=True),)}, "checkpoints: only guards are required"),
        (
            {"progress": (ProgressStep(step="End", checkpoint="don"),)},
            "progress: 'End' is bound to 'don', but no checkpoint has this id; did you mean \"done\"?",
        ),
        (
            {"progress": (ProgressStep(step="End", item="Q1"),)},
            "progress: 'End' is bound to 'Q1', but no checkpoint has this id",
        ),
        ({"overrides": {"a": "gone"}}, "overrides: gone is missing"),
    ],
)
def test_a_fault_of_the_scenario_names_file_and_key(folder: Path, given: dict[str, Any], expected: str) -> None:
    said = faults(folder, **given)
    assert len(said) == 1
    assert said[0].startswith(f"scenario.yaml: {expected}")


@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "a/../../x"])
def test_an_override_stays_in_the_home_folder(folder: Path, target: str) -> None:
    write(folder / "file", "")
    assert faults(folder, overrides={target: "file"}) == [
        f"scenario.yaml: overrides: {target!r} must be a path inside HOME"
    ]


@pytest.mark.parametrize("prompt", [None, b"", b" \n", b"caf\xe9"], ids=["missing", "empty", "blank", "not utf-8"])
def test_the_prompt_says_something(folder: Path, prompt: bytes | None) -> None:
    (folder / "prompt.md").unlink()
    if prompt is not None:
        write(folder / "prompt.md", prompt)
    assert faults(folder) == [
        "scenario.yaml: task.prompt_file: prompt.md is missing, empty, or not UTF-8; write the task there"
    ]


@pytest.mark.parametrize(
    ("rubric", "expected"),
    [
        (make_rubric(make_category(weight=0.9)), "categories: the weights sum to 0.9, not 1"),
        (make_rubric(make_category(weight=1.0 - 1e-6)), "categories: the weights sum to 0.999999, not 1"),
        (
            make_rubric(make_category(weight=0.5), make_category(make_item(id="F2"), weight=0.5)),
            "categories: 'all' is given twice",
        ),
        (make_rubric(make_category(make_item(), make_item())), "items: the id 'F1' is given twice"),
        (
            make_rubric(make_category(make_item(checks=("donne",)))),
            "item F1: there is no checkpoint 'donne'; did you mean \"done\"?",
        ),
        (
            make_rubric(make_category(make_item(applies_if="x"))),
            "item F1: there is no checkpoint 'x'",
        ),
    ],
)
def test_a_fault_of_the_rubric_is_told_of_the_rubric(folder: Path, rubric: object, expected: str) -> None:
    assert faults(folder, rubric=rubric) == [f"rubric.yaml: {expected}"]


def test_weights_that_floats_cannot_sum_to_one_exactly_do(folder: Path) -> None:
    weights = (0.35, 0.20, 0.15, 0.10, 0.20)
    assert sum((0.1,) * 10) != 1
    for shares in (weights, (0.1,) * 10):
        parts = [make_category(make_item(id=f"F{n}"), id="abcdefghij"[n], weight=w) for n, w in enumerate(shares)]
        assert faults(folder, rubric=make_rubric(*parts)) == []


def test_all_faults_are_told_at_once(folder: Path) -> None:
    said = faults(folder, id="002-two", overrides={"../a": "gone"}, rubric=make_rubric(make_category(weight=0.5)))
    assert [line.split(":")[0:2] for line in said] == [
        ["scenario.yaml", " id"],
        ["scenario.yaml", " overrides"],
        ["scenario.yaml", " overrides"],
        ["rubric.yaml", " categories"],
    ]


def test_two_names_for_one_configuration_are_refused_but_not_one_name_twice() -> None:
    bare = Treatment(system_prompt=SystemPrompt(replace=""), setting_sources=())
    one, same = Variant(id="T0/00-empty", treatment=bare), Variant(id="T1/05-bare", treatment=bare.model_copy())
    other = Variant(id="T0/01-vanilla", treatment=Treatment())
    with pytest.raises(ConfigError) as caught:
        check_variants([one, other, one, same])
    assert str(caught.value) == (
        f"variants T0/00-empty and T1/05-bare have the same configuration (digest {one.digest[:12]}); "
        "change or remove one in config/tiers/"
    )
