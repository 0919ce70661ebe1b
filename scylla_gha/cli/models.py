"""The models that a plan names: known to the provider's own SDK, priced, and still there."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Final

from scylla_gha.config.library import Library
from scylla_gha.config.load import did_you_mean
from scylla_gha.config.sdk import sdk_models
from scylla_gha.errors import ConfigError
from scylla_gha.estimate import request_worst
from scylla_gha.model.plan import Plan
from scylla_gha.model.pricing import Model

_REQUESTS: Final = 3  # that a trial's budget should buy at their worst case
_SOON: Final = datetime.timedelta(days=30)
_PROVIDER: Final = "anthropic"


def model_notes(made: Plan, library: Library, today: datetime.date) -> tuple[str, ...]:
    """What is to be known of the models of a plan's arms and judges; nothing is looked up where there are none.

    Raises:
        ConfigError: neither config/models/ nor the SDK knows a model.
    """
    names = dict.fromkeys([*(arm.model for arm in made.arms if arm.model), *made.experiment.judges])
    if not names:
        return ()
    models, listed = library.priced_models(made.experiment.prices), sdk_models()
    for name in names:
        if name not in models and name not in listed:
            hint = did_you_mean(name, [*models, *listed])
            raise ConfigError(f"experiment {made.experiment.id}: there is no model {name!r}{hint}; "
                              "neither config/models/ nor the anthropic SDK knows it")  # fmt: skip
    notes = [_note(name, models, listed, today) for name in names]
    told = tuple(f"{name}: {note}" for name, found in zip(names, notes, strict=True) for note in found)
    return (*told, *_budget_notes(made, models))


def _budget_notes(made: Plan, models: Mapping[str, Model]) -> Iterator[str]:
    """Where the budget of a trial buys fewer requests than an agent needs to do anything."""
    usd = made.experiment.limits.usd
    for name in dict.fromkeys(arm.model for arm in made.arms if arm.model):
        worst = request_worst(models[name]) if name in models else None
        if usd is not None and worst is not None and usd < _REQUESTS * worst:
            yield (f"{name}: a request may cost up to ${worst:.2f}, and limits.usd of ${usd:g} buys fewer than three; "
                   "answers may be cut at fewer tokens than asked for")  # fmt: skip


def _note(name: str, models: Mapping[str, Model], listed: frozenset[str], today: datetime.date) -> list[str]:
    model = models.get(name)
    if model is None:
        return ["has no file in config/models/, so its cost is unknown"]
    notes = []
    if model.provider == _PROVIDER and listed and name not in listed:
        notes.append("is not in the anthropic SDK's list of models; check the id")
    if model.price is None:
        notes.append("has no known price, so its cost is unknown")
    elif model.price.cache_read is None or model.price.cache_write_5m is None or model.price.cache_write_1h is None:
        notes.append("has no known price of the cache, so the cost of what uses it is unknown")
    if model.retires is not None and model.retires < today:
        notes.append(f"is retired since {model.retires}; requests to it will fail")
    elif model.retires is not None and model.retires - today <= _SOON:
        notes.append(f"retires on {model.retires}; what is measured with it cannot be measured again later")
    return notes
