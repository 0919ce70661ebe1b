"""Models of an experiment by their ids: keys, prices and records hold the id that an alias stands for."""

from collections.abc import Iterable, Iterator, Mapping

from scylla_gha.config.library import Library
from scylla_gha.config.model_names import nearest_models, sdk_models
from scylla_gha.errors import ConfigError
from scylla_gha.model import slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.traffic import ModelInfo


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
