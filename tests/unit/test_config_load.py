from pathlib import Path

import pytest

from scylla_gha.config import did_you_mean, load_yaml
from scylla_gha.errors import ConfigError
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.scenario import Scenario
from scylla_gha.model.traffic import ModelInfo
from tests.support.library import write, write_yaml
from tests.support.records import make_experiment, make_model, make_scenario

GOOD = "id: demo\nquestion: q\nscenarios: ['*']\nagents: [nop]\nbaseline: nop\n"  # five lines
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{outer}: &{outer} [{', '.join([f'*{inner}'] * 10)}]\n" for inner, outer in ("ab", "bc", "cd", "de", "ef", "fg")
)


def fault(folder: Path, text: str | bytes) -> str:
    """Return what is said of a file, without its folder."""
    file = write(folder / "x.yaml", text)
    with pytest.raises(ConfigError) as caught:
        load_yaml(file, Experiment)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_file_becomes_its_record(tmp_path: Path) -> None:
    scenario = make_scenario()
    assert load_yaml(write_yaml(tmp_path / "scenario.yaml", scenario), Scenario) == scenario


def test_lists_become_tuples_and_a_whole_number_may_be_a_float(tmp_path: Path) -> None:
    loaded = load_yaml(write(tmp_path / "x.yaml", GOOD + "budget_usd: 5\n"), Experiment)
    assert (loaded.agents, loaded.budget_usd) == (("nop",), 5.0)


def test_a_date_is_read_as_a_date(tmp_path: Path) -> None:
    model = make_model()
    assert load_yaml(write_yaml(tmp_path / "m.yaml", model), ModelInfo) == model


def test_anchors_and_merges_are_not_keys_given_twice(tmp_path: Path) -> None:
    text = GOOD + "limits: {turns: 1, <<: {usd: 3.0, turns: 5}}\n"
    limits = load_yaml(write(tmp_path / "x.yaml", text), Experiment).limits
    assert (limits.turns, limits.usd) == (1, 3.0)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("sede: 1", 'x.yaml:6: sede: unknown key; did you mean "seed"?'),
        ("zzz: 1", "x.yaml:6: zzz: unknown key"),
        ("limits:\n  turn: 1", 'x.yaml:7: limits.turn: unknown key; did you mean "turns"?'),
        ("retry:\n  turns: 1", "x.yaml:7: retry.turns: unknown key"),  # a key of another mapping is no suggestion
        ("seed: '1'", 'x.yaml:6: seed: input should be a valid integer, not "1"'),
        ("limits: {turn: who?, usd: 1}", 'x.yaml:6: limits.turn: unknown key; did you mean "turns"?'),
        ("seed: 1.5", "x.yaml:6: seed: input should be a valid integer, not 1.5"),
        ("limits:\n\n  turns: -1", "x.yaml:8: limits.turns: input should be greater than 0, not -1"),
        ("models: [a, '']", 'x.yaml:6: models.1: string should have at least 1 character, not ""'),
        ("models:\n- a\n- ''", 'x.yaml:8: models.1: string should have at least 1 character, not ""'),
        ("budget_usd: .nan", "x.yaml:6: budget_usd: input should be a finite number, not NaN"),
        ("budget_usd: .inf", "x.yaml:6: budget_usd: input should be a finite number, not Infinity"),
        (f"seed: {'x' * 58}", f'x.yaml:6: seed: input should be a valid integer, not "{"x" * 58}"'),
        (f"seed: {'x' * 59}", f'x.yaml:6: seed: input should be a valid integer, not "{"x" * 56}...'),
    ],
)
def test_a_fault_names_file_line_and_key_and_what_was_meant(tmp_path: Path, more: str, expected: str) -> None:
    assert fault(tmp_path, GOOD + more) == expected


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    text = "id: Not A Slug\nagents: [nop]\nscenarios: []\nbaseline: nop\n"
    said = fault(tmp_path, text).splitlines()
    assert [line.split(": ")[:2] for line in said] == [
        ["x.yaml:1", "id"],
        ["x.yaml:1", "question"],
        ["x.yaml:3", "scenarios"],
    ]
    assert said[1] == "x.yaml:1: question: missing; add it"


def test_a_missing_key_is_told_at_the_mapping_that_should_hold_it(tmp_path: Path) -> None:
    scenario = write_yaml(tmp_path / "scenario.yaml", make_scenario())
    text = scenario.read_text().replace("  timeout_seconds: 600\n", "")
    line = text.splitlines().index("task:") + 1
    with pytest.raises(ConfigError) as caught:
        load_yaml(write(scenario, text), Scenario)
    assert str(caught.value) == f"{scenario}:{line}: task.timeout_seconds: missing; add it"


def test_a_wrong_choice_lists_the_choices_and_the_nearest(tmp_path: Path) -> None:
    file = write_yaml(tmp_path / "scenario.yaml", make_scenario())
    with pytest.raises(ConfigError) as caught:
        load_yaml(write(file, file.read_text().replace("size: small", "size: smal")), Scenario)
    assert "size: must be one of 'small', 'medium' or 'large', not 'smal'; did you mean \"small\"?" in str(caught.value)


def test_a_rule_between_keys_is_told_in_its_own_words(tmp_path: Path) -> None:
    file = write_yaml(tmp_path / "scenario.yaml", make_scenario())
    with pytest.raises(ConfigError, match=r"source: give exactly one of fixture and repo$"):
        load_yaml(write(file, file.read_text().replace("  fixture: one\n", "")), Scenario)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x.yaml:1: the file: input should be an object, not null"),
        ("- a\n", 'x.yaml:1: the file: input should be an object, not ["a"]'),
        (GOOD + "seed: [1\n", "x.yaml:7: not valid YAML: "),
        (GOOD + BOMB, "x.yaml: not valid YAML: line 10: its aliases stand for more than 100,000 values"),
        (GOOD + f"seed: {'[' * 100_000}\n", "x.yaml: not valid YAML: line 6 nests more than 100 lists and mappings"),
        (GOOD + "- " * 100_000, "x.yaml:6: not valid YAML: "),
        (GOOD + "seed: 1\nseed: 2\n", 'x.yaml:7: not valid YAML: key "seed" is given twice'),
        (GOOD + "limits: {turns: 1, turns: 2}\n", 'x.yaml:6: not valid YAML: key "turns" is given twice'),
        (GOOD + "? [a, b]\n: 1\n", "x.yaml:6: not valid YAML: a key must be a single word, not a list or a mapping"),
        (GOOD + "limits: {2026-01-01: 3}\n", "x.yaml: not valid YAML: keys must be str"),
        (GOOD + "---\na: 1\n", "x.yaml:6: not valid YAML: but found another document"),
        (GOOD + "seed: \x01\n", "x.yaml: not valid YAML: unacceptable character"),
        (GOOD + "seed: *nobody\n", "x.yaml:6: not valid YAML: found undefined alias"),
        (GOOD + "seed: 2026-13-45\n", "x.yaml: not valid YAML: month must be in 1..12"),
        (GOOD + "seed: !!int abc\n", "x.yaml: not valid YAML: invalid literal"),
        (GOOD + "seed: !!bool abc\n", "x.yaml: not valid YAML: "),
        (GOOD + "seed: &a [*a]\n", "x.yaml: not valid YAML: Circular reference"),
        (GOOD + f"seed: {'[' * 100}{']' * 100}\n", "x.yaml: not valid YAML: line 6 nests more than 100 lists"),
        (GOOD + "seed: !!python/object/apply:os.abort []\n", "x.yaml:6: not valid YAML: could not determine"),
        (b"\xff\xfe\x00", "x.yaml: cannot be read: "),
    ],
    ids=lambda text: repr(text)[-30:],
)
def test_what_is_no_mapping_of_plain_yaml_is_refused(tmp_path: Path, text: str | bytes, expected: str) -> None:
    assert fault(tmp_path, text).startswith(expected)


def test_a_file_that_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone.yaml: there is no such file$"):
        load_yaml(tmp_path / "gone.yaml", Experiment)


def test_a_folder_in_place_of_a_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_yaml(tmp_path, Experiment)


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        ("oracel", ["oracle", "nop"], '; did you mean "oracle"?'),
        ("x", ["oracle", "nop"], ""),
        ("nop", [], ""),
        ("T0/00-emty", {"T0/01-vanilla", "T0/00-empty"}, '; did you mean "T0/00-empty"?'),
    ],
)
def test_the_nearest_option_is_suggested_if_one_is_near(given: str, options: list[str], expected: str) -> None:
    assert did_you_mean(given, options) == expected


def test_what_is_written_is_what_is_loaded(tmp_path: Path) -> None:
    experiment = make_experiment(seed=7, budget_usd=1.5)
    assert load_yaml(write_yaml(tmp_path / "demo.yaml", experiment), Experiment) == experiment
