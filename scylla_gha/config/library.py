"""Lookup of configuration: in a user's repository first, then in the toolkit.

```
<root>/config/experiments/<id>.yaml  config/tiers/           config/models/<file>.yaml  config/prices/<name>.yaml
<root>/config/images/<id>.yaml       config/modes/<id>.yaml  config/agent-clis/<name>.yaml
<root>/scenarios/<suite>/<id>/       fixtures/<name>/
```
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config import did_you_mean, load_named, load_yaml
from scylla_gha.config.materials import resolve_inside
from scylla_gha.config.model_names import LOCAL_PROVIDER, nearest_models, resolved_model, sdk_models
from scylla_gha.config.scenario_folder import ScenarioFolder, read_scenario_folder
from scylla_gha.config.tiers import Tiers, mode_paths, read_mode
from scylla_gha.errors import ConfigError
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.github_fixture import REPOSITORIES_FILE, GitHubRepositories
from scylla_gha.model.mode import Mode
from scylla_gha.model.plan import Arm
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.model.traffic import FREE, ModelInfo, PriceList, Rates
from scylla_gha.model.trial import Inventory, SessionFacts
from scylla_gha.model.variant import Variant

_CONFIG_FOLDERS: Final = (
    "agent-clis",
    "experiments",
    "images",
    "inventories",
    "mcp",
    "models",
    "modes",
    "prices",
    "tiers",
)
_PACKAGE: Final = Path(__file__).resolve().parent.parent


def project_root(start: Path) -> Path:
    """Return the folder whose `config/` and `scenarios/` apply in `start`.

    It is the nearest folder with scenarios or configuration, from `start` up to the root of the git repository of
    `start`. Outside of a repository it is `start` itself, so no other user's parent folder is trusted.
    """
    folders = [start, *start.parents]
    depth = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    for folder in folders[: depth + 1]:
        has_configuration = any((folder / "config" / name).is_dir() for name in _CONFIG_FOLDERS)
        if has_configuration or any((folder / "scenarios").glob("*/*/scenario.yaml")):
            return folder
    return start


def toolkit_root() -> Path:
    """Return the folder of the toolkit's own config, scenarios and fixtures: in the wheel, or the checkout."""
    packed = _PACKAGE / "_data"
    return packed if packed.is_dir() else _PACKAGE.parent


@dataclass(frozen=True)
class Library:
    """All configuration under `roots`; an earlier root hides the same name in a later one."""

    roots: tuple[Path, ...]

    @classmethod
    def here(cls, start: Path) -> "Library":
        """Return the library of a user's repository, followed by the toolkit's own."""
        return cls(tuple(dict.fromkeys((start.resolve(), toolkit_root()))))

    def experiment(self, name: str) -> Experiment:
        """Read an experiment, by its id or by the path of its file."""
        if name.endswith((".yaml", ".yml")):
            return load_yaml(Path(name), Experiment)
        path = _pick(self._by_stem("experiments"), name, "experiment", "config/experiments/")
        return load_named(path, Experiment)

    @functools.cached_property
    def scenarios(self) -> dict[str, Path]:
        """Folders of the scenarios by id, sorted."""
        folders: dict[str, Path] = {}
        for root in reversed(self.roots):
            in_root: dict[str, Path] = {}
            for file in sorted((root / "scenarios").glob("*/*/scenario.yaml")):
                folder = file.parent
                if folder.name in in_root:
                    raise ConfigError(
                        f"{folder}: the id {folder.name!r} is taken by {in_root[folder.name]}; rename one"
                    )
                in_root[folder.name] = folder
            folders.update(in_root)
        return dict(sorted(folders.items()))

    def scenario(self, scenario: str) -> ScenarioFolder:
        """Read and check the scenario with that id."""
        path = _pick(self.scenarios, scenario, "scenario", "scenarios/<suite>/")
        return read_scenario_folder(path, self.roots)

    def fixture(self, name: str) -> Path:
        """Return a fixture's folder."""
        folders = {path.name: path for root in reversed(self.roots) for path in (root / "fixtures").glob("*/")}
        return resolve_inside(_pick(folders, name, "fixture", "fixtures/"), self.roots)

    def repositories_file(self) -> Path:
        """Return the path of the list of repositories on github.com; by default it is in the user's repository."""
        paths = [root / "config" / REPOSITORIES_FILE for root in self.roots]
        return next((path for path in paths if path.is_file()), paths[0])

    def repositories(self) -> GitHubRepositories:
        """Read the repositories on github.com that fixtures may change; only a user's repository has such a list."""
        path = self.repositories_file()
        if not path.is_file():
            raise ConfigError(
                f"{path}: there is no such file; create it, and list the repositories that may be changed and "
                "their accounts (docs/github-com.md)"
            )
        return load_yaml(resolve_inside(path, self.roots), GitHubRepositories)

    @functools.cached_property
    def tiers(self) -> Tiers:
        """Tiers with their sub-tests."""
        return Tiers(self.roots)

    def variants(self) -> dict[str, Variant]:
        """Read and resolve all variants of all tiers, by id, sorted."""
        return {name: self.tiers.variant(name) for name in self.tiers.names}

    def mode(self, name: str) -> Mode:
        """Read and resolve the mode with that id."""
        return read_mode(name, self.roots)

    def mode_names(self) -> list[str]:
        """Return the ids of all modes."""
        return sorted(mode_paths(self.roots))

    def models(self) -> dict[str, ModelInfo]:
        """Read all models, by id."""
        models: dict[str, ModelInfo] = {}
        for root in reversed(self.roots):
            in_root: dict[str, ModelInfo] = {}
            for path in sorted((root / "config" / "models").glob("*.yaml")):
                model = load_yaml(path, ModelInfo)
                if model.id in in_root:
                    raise ConfigError(f"{path}: the model {model.id!r} has another file already; remove one")
                in_root[model.id] = _with_free_price(model)
            models.update(in_root)
        return models

    def model_ids(self, names: Iterable[str]) -> dict[str, str]:
        """Return the model id of each name, from `config/models/` or from the SDK; otherwise the name itself."""
        models = self.models()
        return {name: resolved_model(name, models) or resolved_model(name, sdk_models()) or name for name in names}

    def inventory(self, agent: str, version: str | None) -> Inventory | None:
        """Read the inventory of an agent CLI at a version; None if it was not measured."""
        path = self._by_stem("inventories").get(f"{agent}-{version}")
        return _inventory(path) if path else None

    def agent_names(self) -> list[str]:
        """Return the names of the agent CLIs that have a manifest."""
        return sorted(self._by_stem("agent-clis"))

    def agent_manifest(self, name: str) -> AgentManifest:
        """Read the manifest of an agent CLI."""
        path = _pick(self._by_stem("agent-clis"), name, "agent", "config/agent-clis/")
        return load_named(path, AgentManifest, "name")

    def agent_sessions(self) -> list[SessionFacts]:
        """Read the stored facts about agent CLIs' sessions with a scripted model."""
        return [load_yaml(path, SessionFacts) for path in self._by_stem("agent-sessions").values()]

    def inventories(self) -> list[Inventory]:
        """Read all measured inventories."""
        return [_inventory(path) for path in self._by_stem("inventories").values()]

    def price_list(self, name: str) -> PriceList:
        """Read a price list; each model in it needs a file of its own."""
        path = _pick(self._by_stem("prices"), name, "price list", "config/prices/")
        prices = load_named(path, PriceList, "name")
        known, rates = self.models(), dict[str, Rates]()
        for listed, rate in prices.prices.items():
            model = resolved_model(listed, known)
            if model is None:
                near = nearest_models(listed, known)
                raise ConfigError(
                    f"{path}: prices: {listed!r} is not in config/models/{near}; add a file for the model there"
                )
            if model in rates:
                raise ConfigError(f"{path}: prices: {listed!r} is {model!r}, which has a price already; remove one")
            rates[model] = rate
        return prices.model_copy(update={"prices": rates})

    def priced_models(self, prices: str | None) -> dict[str, ModelInfo]:
        """Read all models with the prices of a list; a model that is not in the list has no known price."""
        models = self.models()
        if prices is None:
            return models
        listed = self.price_list(prices)
        prices_of = ((name, model, listed.of(name)) for name, model in models.items())
        return {name: _with_free_price(model.model_copy(update={"price": price})) for name, model, price in prices_of}

    def recording(self, experiment: str) -> Path:
        """Return the folder of an experiment's recorded traffic."""
        folders = {p.name: p for root in reversed(self.roots) for p in (root / "config" / "recordings").glob("*/")}
        if experiment not in folders:
            names = ", ".join(sorted(folders)) or "none"
            raise ConfigError(
                f"recording {experiment!r}: not found in config/recordings/ of this repository or of the toolkit; "
                f"there are: {names}; make one with a key and --record config/recordings/{experiment}"
            )
        return folders[experiment]

    def price_list_names(self) -> list[str]:
        """Return the names of all price lists."""
        return sorted(self._by_stem("prices"))

    def image(self, name: str = "base") -> ImageRecipe:
        """Read an image recipe."""
        return load_yaml(_pick(self._by_stem("images"), name, "image", "config/images/"), ImageRecipe)

    def experiment_names(self) -> list[str]:
        """Return the ids of all experiments."""
        return sorted(self._by_stem("experiments"))

    def _by_stem(self, kind: str) -> dict[str, Path]:
        paths = {path.stem: path for root in reversed(self.roots) for path in (root / "config" / kind).glob("*.yaml")}
        return {stem: resolve_inside(path, self.roots) for stem, path in paths.items()}


def _inventory(path: Path) -> Inventory:
    inventory = load_yaml(path, Inventory)
    if (name := f"{inventory.agent}-{inventory.version}") != path.stem:
        raise ConfigError(f"{path}: describes {name}, but the file is named {path.stem!r}; make them equal")
    return inventory


def _pick(paths: dict[str, Path], name: str, kind: str, where: str) -> Path:
    if name not in paths:
        hint = did_you_mean(name, list(paths)) or f"; there are: {', '.join(sorted(paths)) or 'none'}"
        raise ConfigError(f"{kind} {name!r}: not found in {where} of this repository or of the toolkit{hint}")
    return paths[name]


@dataclass(frozen=True, slots=True)
class ConfigSources:
    """Sources of configuration: `here`, and the checkout `head` for variants that a change alters."""

    here: Library
    head: Library | None = None

    @classmethod
    def of(cls, here: Library, head: Path | None) -> "ConfigSources":
        """Return the sources, with the checkout of a change if there is one."""
        return cls(here, Library.here(head) if head else None)

    def variant(self, arm: Arm) -> Library:
        """Return the library with the materials of an arm's variant.

        Raises:
            ConfigError: the variant comes from a change whose checkout is not given.
        """
        if arm.side is None:
            return self.here
        if self.head is None:
            raise ConfigError(
                f"{arm.id}: its variant comes from a change whose checkout is not given; name the checkout with --head"
            )
        return self.head


def _with_free_price(model: ModelInfo) -> ModelInfo:
    """Return the model; on the user's own server it costs nothing, unless its file states a price."""
    return model.model_copy(update={"price": FREE}) if model.provider == LOCAL_PROVIDER and not model.price else model
