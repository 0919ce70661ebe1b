"""Models of an experiment by their ids: keys, prices and records hold the id that an alias stands for.

Agents and judges must speak the API of each model's provider.
"""

from collections.abc import Iterable, Iterator, Mapping

from scylla_gha.agents import AGENTS
from scylla_gha.config.library import Library
from scylla_gha.config.model_names import nearest_models, sdk_models
from scylla_gha.errors import ConfigError
from scylla_gha.judge.judge_client import API_STYLE
from scylla_gha.model import slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Arm
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers import PROVIDERS, provider_name


def with_model_ids(experiment: Experiment, library: Library) -> Experiment:
    """Return the experiment with the ids of its models and judges, also in its baseline.

    Raises:
        ConfigError: two judges are one model.
    """
    ids = library.model_ids((*experiment.models, *experiment.judges))
    judges = tuple(ids[name] for name in experiment.judges)
    for judge in set(judges):
        if len(names := [name for name in experiment.judges if ids[name] == judge]) > 1:
            raise ConfigError(f"experiment {experiment.id}: judges: {' and '.join(names)} are the same model, {judge}; "
                              "name different models")  # fmt: skip
    return experiment.model_copy(
        update={
            "models": tuple(ids[name] for name in experiment.models),
            "judges": judges,
            "baseline": _baseline(experiment, ids),
        }
    )


def _baseline(experiment: Experiment, ids: Mapping[str, str]) -> str:
    for name in experiment.models:
        if ids[name] != name and experiment.baseline.endswith(f".{slug(name)}"):
            return experiment.baseline.removesuffix(slug(name)) + slug(ids[name])
    return experiment.baseline


def alias_notes(experiment: Experiment, library: Library) -> Iterator[str]:
    """Note which id each alias among an experiment's models and judges stands for."""
    for name, id_ in library.model_ids((*experiment.models, *experiment.judges)).items():
        if id_ != name:
            yield f"{name}: stands for {id_}; requests, keys, prices and records use that id"


def require_known_models(names: Iterable[str], models: Mapping[str, ModelInfo], source: str) -> None:
    """Check that all models are known.

    Args:
        names: ids of models.
        models: those of `config/models/`.
        source: option or file that names them, for the message.

    Raises:
        ConfigError: neither `models` nor the SDK knows one.
    """
    known = {*models, *sdk_models()}
    for name in names:
        if name not in known:
            raise ConfigError(f"{source}: the model {name!r} is in neither config/models/ nor the anthropic SDK"
                              f"{nearest_models(name, known)}; write an id in full, or add a file to config/models/"
                              )  # fmt: skip


def used_providers(experiment: Experiment, library: Library) -> list[str]:
    """Return the names of the providers of an experiment's models and judges; built-in agents use no model.

    Raises:
        ConfigError: a model has no provider.
    """
    models, experiment = library.models(), with_model_ids(experiment, library)
    agents = (AGENTS.get(name.partition("@")[0]) for name in experiment.agents)
    names = experiment.models if any(agent and agent.uses_model for agent in agents) else ()
    return list(dict.fromkeys(provider_name(name, models) for name in (*names, *experiment.judges)))


def require_spoken_models(arms: Iterable[Arm], experiment: Experiment, models: Mapping[str, ModelInfo]) -> None:
    """Check that the agent of each arm speaks the API of its model's provider.

    Raises:
        ConfigError: one does not, or there is no such provider.
    """
    source = f"experiment {experiment.id}"
    for agent, model in dict.fromkeys((arm.agent, arm.model) for arm in arms if arm.model):
        provider = provider_name(model, models)
        style, spoken = PROVIDERS[provider].api_style, AGENTS[agent].api_styles if agent in AGENTS else None
        if spoken is not None and style not in spoken:
            others = ", ".join(name for name, other in AGENTS.items() if style in other.api_styles) or "none yet"
            raise ConfigError(
                f"{source}: {agent} cannot use the model {model}: its provider {provider} speaks {style}, and {agent} "
                f"speaks {' and '.join(spoken)}; choose another model, or an agent that speaks {style} ({others})"
            )
    require_judges(experiment.judges, models, source)


def require_judges(judges: Iterable[str], models: Mapping[str, ModelInfo], source: str) -> None:
    """Check that models can be judges: their provider speaks the API in which judges are asked.

    Args:
        judges: ids of models.
        models: those of `config/models/`.
        source: option or experiment that names them, for the message.

    Raises:
        ConfigError: one cannot, or there is no such provider.
    """
    for judge in judges:
        provider = provider_name(judge, models)
        style = PROVIDERS[provider].api_style
        if style != API_STYLE:
            raise ConfigError(
                f"{source}: {judge} cannot be a judge: its provider {provider} speaks {style}, and judges are asked by "
                f"{API_STYLE}; choose another model"
            )
