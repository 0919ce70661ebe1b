"""A repository of configuration, written to disk."""

from pathlib import Path

import yaml

from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.model import Record
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.scenario import Rubric, Scenario
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.model.variant import SubTest, Tier, Treatment
from tests.support.records import make_rubric, make_scenario


def write(path: Path, content: str | bytes) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_yaml(path: Path, record: Record) -> Path:
    """A record as the YAML file that a user would write."""
    return write(path, yaml.safe_dump(record.model_dump(mode="json", exclude_none=True)))


def write_scenario(
    root: Path,
    scenario: Scenario | None = None,
    rubric: Rubric | None = None,
    files: dict[str, str | bytes] | None = None,
) -> Path:
    """A scenario's folder in the suite `core`; `files` are laid over the default ones."""
    one = scenario or make_scenario()
    folder = root / "scenarios" / "core" / one.id
    write_yaml(folder / "scenario.yaml", one)
    write_yaml(folder / "rubric.yaml", rubric or make_rubric())
    for name, content in {"prompt.md": "Do one thing.\n", **(files or {})}.items():
        write(folder / name, content)
    return folder


def scenario_folder(
    path: Path = Path("001-one"), scenario: Scenario | None = None, prompt: str = "Do one thing.\n"
) -> ScenarioFolder:
    """A scenario as the library would have read it."""
    return ScenarioFolder(path, scenario or make_scenario(), make_rubric(), prompt)


def write_experiment(root: Path, experiment: Experiment) -> Path:
    """An experiment under its id."""
    return write_yaml(root / "config" / "experiments" / f"{experiment.id}.yaml", experiment)


def write_tier(root: Path, **treatments: Treatment) -> Path:
    """Tier T0, with a sub-test for each treatment: `empty=...` becomes `00-empty`."""
    sub_tests = tuple(
        SubTest(id=f"{number:02d}-{name}", description=name, treatment=treatment)
        for number, (name, treatment) in enumerate(treatments.items())
    )
    tier = Tier(id="T0", name="Prompts", focus="Prompts", sub_tests=sub_tests)
    return write_yaml(root / "config" / "tiers" / "T0.yaml", tier)


def write_model(root: Path, model: ModelInfo) -> Path:
    """A model under its id."""
    return write_yaml(root / "config" / "models" / f"{model.id}.yaml", model)


def write_prices(root: Path, name: str, *models: str, file: str | None = None, cache: str = "null") -> Path:
    """A list under a name, in which each model costs 7 and 8 USD, and `cache` for all uses of the cache."""
    rates = f"{{input: 7.0, output: 8.0, cache_read: {cache}, cache_write_5m: {cache}, cache_write_1h: {cache}}}"
    rows = "".join(f"  {model}: {rates}\n" for model in models)
    text = f"name: {name}\ndate: 2026-01-02\nsource: a table\nprices:\n{rows}"
    return write(root / "config" / "prices" / f"{file or name}.yaml", text)
