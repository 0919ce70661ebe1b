"""Where configuration is found: a user's repository first, then what travels with the toolkit.

```
<root>/config/experiments/<id>.yaml  config/tiers/<tier>.yaml  config/models/<file>.yaml  config/prices/<name>.yaml
<root>/config/images/<id>.yaml       scenarios/<suite>/<id>/  fixtures/<name>/
```
"""

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config.crosscheck import check_rubric, check_scenario
from scylla_gha.config.links import contained
from scylla_gha.config.load import did_you_mean, load
from scylla_gha.config.materials import materials
from scylla_gha.errors import ConfigError
from scylla_gha.model.delivery import Inventory
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.image import Recipe
from scylla_gha.model.pricing import Model, PriceList
from scylla_gha.model.record import digest
from scylla_gha.model.rubric import Rubric
from scylla_gha.model.scenario import Scenario
from scylla_gha.model.variant import SubTest, Tier, Variant

_PACKAGE: Final = Path(__file__).resolve().parent.parent


def toolkit_root() -> Path:
    """The folder that holds the toolkit's own config, scenarios and fixtures: the wheel's, or the checkout's."""
    packed = _PACKAGE / "_data"
    return packed if packed.is_dir() else _PACKAGE.parent


@dataclass(frozen=True)
class ScenarioFolder:
    """A scenario with the files beside it. `solution`, `right` and `wrong` are patches against the fixture."""

    path: Path
    scenario: Scenario
    rubric: Rubric
    prompt: str

    @property
    def checks(self) -> Path:
        """The folder of hidden checks; it need not exist."""
        return self.path / "checks"

    @property
    def solution(self) -> Path:
        """The reference solution."""
        return self.path / "solution" / "solution.patch"

    @property
    def right(self) -> list[Path]:
        """Right solutions that are unlike the reference, by name; there need not be any."""
        return sorted((self.path / "right").glob("*.patch"))

    @property
    def wrong(self) -> list[Path]:
        """Plausible wrong solutions, by name."""
        return sorted((self.path / "wrong").glob("*.patch"))

    @functools.cached_property
    def task_digest(self) -> str:
        """Covers what an agent is given: prompt, start state, tools, container, overrides' contents, and hosts."""
        one = self.scenario
        overrides = {target: (self.path / source).read_bytes().hex() for target, source in one.overrides.items()}
        given = [self.prompt, one.source.hash, one.tools.model_dump(mode="json"), one.container, overrides]
        hosts = sorted(set(one.network.hosts))
        return digest([*given, hosts] if hosts else given)  # so keys of tasks without hosts are as they were

    @functools.cached_property
    def solution_digest(self) -> str:
        """Covers the reference solution, which is what an oracle's trial depends on."""
        return hashlib.sha256(self.solution.read_bytes() if self.solution.is_file() else b"").hexdigest()

    @functools.cached_property
    def judging_digest(self) -> str:
        """Covers what judges: checkpoints, progress steps, rubric, and the contents of the checks."""
        files = {str(path.relative_to(self.checks)): path.read_bytes().hex() for path in _files(self.checks)}
        judged = self.scenario.model_dump(mode="json", include={"validation", "checkpoints", "progress", "tools"})
        return digest([judged, self.rubric.model_dump(mode="json"), files])

    def with_rubric(self, file: Path) -> "ScenarioFolder":
        """The same scenario, judged by the rubric in a file.

        Raises:
            ConfigError: the file is no rubric, or does not fit the scenario.
        """
        rubric = load(file, Rubric)
        check_rubric(file, self.scenario, rubric)
        return dataclasses.replace(self, rubric=rubric)


@dataclass(frozen=True)
class Library:
    """All configuration under `roots`; what an earlier root has hides the same name in a later one."""

    roots: tuple[Path, ...]

    @classmethod
    def here(cls, start: Path) -> "Library":
        """The library of a user's repository and the toolkit's own behind it."""
        return cls(tuple(dict.fromkeys((start.resolve(), toolkit_root()))))

    def experiment(self, name: str) -> Experiment:
        """The experiment of that id, or in that file."""
        if name.endswith((".yaml", ".yml")):
            return load(Path(name), Experiment)
        found = self._by_stem("experiments")
        path = _pick(found, name, "experiment", "config/experiments/")
        experiment = load(path, Experiment)
        if experiment.id != path.stem:
            raise ConfigError(f"{path}: id: is {experiment.id!r}, but the file is named {path.stem!r}; make them equal")
        return experiment

    @functools.cached_property
    def scenarios(self) -> dict[str, Path]:
        """The scenarios' folders by id, in order of the id."""
        found: dict[str, Path] = {}
        for root in reversed(self.roots):
            here: dict[str, Path] = {}
            for file in sorted((root / "scenarios").glob("*/*/scenario.yaml")):
                folder = file.parent
                if folder.name in here:
                    raise ConfigError(f"{folder}: the id {folder.name!r} is taken by {here[folder.name]}; rename one")
                here[folder.name] = folder
            found.update(here)
        return dict(sorted(found.items()))

    def scenario(self, scenario: str) -> ScenarioFolder:
        """The scenario of that id, read and checked against itself."""
        path = _pick(self.scenarios, scenario, "scenario", "scenarios/<suite>/")
        return _scenario_folder(path, self.roots)

    def fixture(self, name: str) -> Path:
        """A fixture's folder."""
        found = {path.name: path for root in reversed(self.roots) for path in (root / "fixtures").glob("*/")}
        return contained(_pick(found, name, "fixture", "fixtures/"), self.roots)

    def variants(self) -> dict[str, Variant]:
        """All variants of all tiers by id, in order."""
        found: dict[str, Variant] = {}
        for path in self._by_stem("tiers").values():
            tier = load(path, Tier)
            for sub_test in tier.sub_tests:
                variant = self._variant(path, tier, sub_test)
                if variant.id in found:
                    raise ConfigError(f"{path}: sub-test {variant.id} is given twice; rename one")
                found[variant.id] = variant
        return dict(sorted(found.items()))

    def _variant(self, path: Path, tier: Tier, sub_test: SubTest) -> Variant:
        name = f"{tier.id}/{sub_test.id}"
        try:
            found = materials(sub_test.treatment, self.roots)
        except ConfigError as error:
            lines = str(error).splitlines()
            raise ConfigError("\n".join(f"{path}: {name}: {line}" for line in lines)) from None
        return Variant(id=name, treatment=sub_test.treatment, materials=found)

    def models(self) -> dict[str, Model]:
        """All models by id."""
        found: dict[str, Model] = {}
        for root in reversed(self.roots):
            here: dict[str, Model] = {}
            for path in sorted((root / "config" / "models").glob("*.yaml")):
                model = load(path, Model)
                if model.id in here:
                    raise ConfigError(f"{path}: the model {model.id!r} has another file already; remove one")
                here[model.id] = model
            found.update(here)
        return found

    def inventory(self, agent: str, version: str | None) -> Inventory | None:
        """What the agent CLI brings by itself at this version, where that was measured."""
        path = self._by_stem("inventories").get(f"{agent}-{version}")
        return _inventory(path) if path else None

    def inventories(self) -> list[Inventory]:
        """All that were measured."""
        return [_inventory(path) for path in self._by_stem("inventories").values()]

    def price_list(self, name: str) -> PriceList:
        """The named list of prices; each model that it prices has a file of its own."""
        path = _pick(self._by_stem("prices"), name, "price list", "config/prices/")
        found = load(path, PriceList)
        if found.name != path.stem:
            raise ConfigError(f"{path}: name: is {found.name!r}, but the file is named {path.stem!r}; make them equal")
        known = list(self.models())
        for model in found.prices:
            if model not in known:
                hint = did_you_mean(model, known)
                raise ConfigError(f"{path}: prices: {model!r} is no model of config/models/{hint}; add it there")
        return found

    def priced_models(self, prices: str | None) -> dict[str, Model]:
        """All models by id, at the prices of that list; a model that it does not name has no known price then."""
        models = self.models()
        if prices is None:
            return models
        listed = self.price_list(prices)
        return {name: model.model_copy(update={"price": listed.of(name)}) for name, model in models.items()}

    def recording(self, experiment: str) -> Path:
        """The folder of an experiment's recorded traffic."""
        found = {p.name: p for root in reversed(self.roots) for p in (root / "config" / "recordings").glob("*/")}
        return _pick(found, experiment, "recording", "config/recordings/")

    def price_list_names(self) -> list[str]:
        """All price lists' names."""
        return sorted(self._by_stem("prices"))

    def image(self, name: str = "base") -> Recipe:
        """An image's recipe."""
        return load(_pick(self._by_stem("images"), name, "image", "config/images/"), Recipe)

    def experiment_names(self) -> list[str]:
        """All experiments' ids."""
        return sorted(self._by_stem("experiments"))

    def _by_stem(self, kind: str) -> dict[str, Path]:
        found = {path.stem: path for root in reversed(self.roots) for path in (root / "config" / kind).glob("*.yaml")}
        return {stem: contained(path, self.roots) for stem, path in found.items()}


@functools.cache
def _scenario_folder(path: Path, roots: tuple[Path, ...]) -> ScenarioFolder:
    """Read once a process: planning, running and judging ask for the same scenario again and again."""
    contained(path, roots)
    scenario = load(path / "scenario.yaml", Scenario)
    rubric = load(path / scenario.validation.rubric_file, Rubric)
    check_scenario(path, scenario, rubric)
    return ScenarioFolder(path, scenario, rubric, (path / scenario.task.prompt_file).read_text(encoding="utf-8"))


def _inventory(path: Path) -> Inventory:
    inventory = load(path, Inventory)
    if (name := f"{inventory.agent}-{inventory.version}") != path.stem:
        raise ConfigError(f"{path}: is of {name}, but the file is named {path.stem!r}; make them equal")
    return inventory


def _pick(found: dict[str, Path], name: str, kind: str, where: str) -> Path:
    if name not in found:
        hint = did_you_mean(name, list(found)) or f"; there are: {', '.join(sorted(found)) or 'none'}"
        raise ConfigError(f"{kind} {name!r}: not found in {where} of this repository or of the toolkit{hint}")
    return found[name]


def _files(folder: Path) -> Iterator[Path]:
    paths: Iterable[Path] = sorted(folder.rglob("*")) if folder.is_dir() else ()
    return (path for path in paths if path.is_file() and "__pycache__" not in path.parts)
