"""Checks of a plan and notes on it: its models and their providers, its budgets, its power, and its gate.

Keys, prices and records name models by id; an alias is replaced first. Agents must speak the API of each model's
provider.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scylla_gha.agents import AGENTS
from scylla_gha.analysis import has_statistics
from scylla_gha.config.installed_packages import installation, require_extra
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.config.model_names import LOCAL_PROVIDER, SDK_PROVIDER, nearest_models, sdk_models
from scylla_gha.counting import dollars
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model import slug
from scylla_gha.model.experiment import Experiment, agent_name
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.plan.estimate import is_for_judges, panel_worst, request_worst
from scylla_gha.plan.selection import CellSelection
from scylla_gha.providers import PROVIDERS, provider_name, shared_style
from scylla_gha.store import read_lines
from scylla_gha.store.run_folder import RunFolder

if TYPE_CHECKING:
    from scylla_gha.model.report import PairVariance


_PILOT: Final = "the variances of stored rows"
_REQUESTS: Final = 3  # requests at their highest cost that a trial's budget should cover
_SMALL_SHARE: Final = 0.01  # share of a budget that needs no note
_SOON: Final = datetime.timedelta(days=30)


def with_model_ids(experiment: Experiment, library: Library) -> Experiment:
    """Replace aliases by ids in the models, judges and baseline of an experiment.

    Raises:
        ConfigError: two judges are the same model.
    """
    named = experiment.all_models
    ids = library.model_ids((*named, *experiment.judges))
    alias = next((name for name in named if experiment.baseline.endswith(f".{slug(name)}")), None)
    baseline = experiment.baseline
    if alias is not None:
        baseline = baseline.removesuffix(slug(alias)) + slug(ids[alias])
    judges = tuple(ids[name] for name in experiment.judges)
    for judge in set(judges):
        if len(names := [name for name in experiment.judges if ids[name] == judge]) > 1:
            raise ConfigError(
                f"experiment {experiment.id}: judges: {' and '.join(names)} are the same model, {judge}; "
                "name different models"
            )
    return experiment.model_copy(
        update={
            "models": tuple(ids[name] for name in experiment.models),
            "agent_models": {
                agent: tuple(ids[name] for name in names) for agent, names in experiment.agent_models.items()
            },
            "judges": judges,
            "baseline": baseline,
        }
    )


def alias_notes(experiment: Experiment, library: Library) -> Iterator[str]:
    """Yield a note with the model id of each alias in an experiment's models and judges."""
    for name, id_ in library.model_ids((*experiment.all_models, *experiment.judges)).items():
        if id_ != name:
            yield f"{name}: stands for {id_}; requests, keys, prices and records use that id"


def require_known_models(names: Iterable[str], models: Mapping[str, ModelInfo], source: str) -> None:
    """Check that all models are known.

    Args:
        names: model ids to check.
        models: those of `config/models/`.
        source: option or file that names them, for the message.

    Raises:
        ConfigError: a model is neither in `models` nor in the SDK.
    """
    known = {*models, *sdk_models()}
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{source}: the model {name!r} is in neither config/models/ nor the anthropic SDK"
                f"{nearest_models(name, known)}; write an id in full, or add a file to config/models/"
            )


def used_providers(experiment: Experiment, library: Library) -> list[str]:
    """Return the names of the providers of an experiment's models and judges; built-in agents use no model.

    Raises:
        ConfigError: a model has no provider.
    """
    models, experiment = library.models(), with_model_ids(experiment, library)
    agents = [agent_name(name)[0] for name in experiment.agents]
    asking = [name for name in agents if name in AGENTS and AGENTS[name].uses_model]
    names = [model for name in asking for model in experiment.models_of(name)]
    return list(dict.fromkeys(provider_name(name, models) for name in (*names, *experiment.judges)))


def require_spoken_models(arms: Iterable[Arm], experiment: Experiment, models: Mapping[str, ModelInfo]) -> None:
    """Check that the agent of each arm speaks the API of its model's provider; judges may have any provider.

    Raises:
        ConfigError: an agent does not speak the API, or there is no such provider.
    """
    source = f"experiment {experiment.id}"
    for agent, model in dict.fromkeys((arm.agent, arm.model) for arm in arms if arm.model):
        provider = provider_name(model, models)
        spoken = AGENTS[agent].api_styles if agent in AGENTS else None
        if spoken is not None and shared_style(spoken, provider) is None:
            styles = " and ".join(PROVIDERS[provider].styles)
            names = [name for name, other in AGENTS.items() if shared_style(other.api_styles, provider)]
            raise ConfigError(
                f"{source}: {agent} cannot use the model {model}: its provider {provider} speaks {styles}, and {agent} "
                f"speaks {' and '.join(spoken)}; choose another model, or an agent that can ask {provider} "
                f"({', '.join(names) or 'none yet'})"
            )
    for judge in experiment.judges:
        provider_name(judge, models)


def panel_providers(plan: Plan, library: Library) -> dict[str, str]:
    """Return who made each model of judges and arms: its provider, or the first part of an id such as `qwen/qwen3`.

    It is empty without judges.

    Raises:
        ConfigError: a model has no provider.
    """
    models, judges = library.models(), plan.experiment.judges
    names = dict.fromkeys((*judges, *(arm.model for arm in plan.arms if arm.model))) if judges else {}
    return {name: name.partition("/")[0] if "/" in name else provider_name(name, models) for name in names}


def safety_net_notes(plan: Plan) -> Iterator[str]:
    """Yield a note for each agent whose calls the safety net cannot judge, if it is not turned off."""
    if not plan.experiment.limits.safety_net:
        return
    for name in dict.fromkeys(arm.agent for arm in plan.arms):
        tools = AGENTS[name].guarded_tools if name in AGENTS else None
        if tools is not None and not tools:
            yield (
                f"{name} has no safety net (limits.safety_net): it has no hook, and its manifest names no tools under "
                "safety_net, so destructive commands are neither blocked nor counted"
            )


def require_supported_parts(arms: Iterable[Arm], sources: ConfigSources, source: str) -> None:
    """Check that each agent can take all parts of its arms' treatments.

    Raises:
        ConfigError: it cannot take some parts, which would be ignored.
    """
    faults: dict[str, None] = {}
    for arm in arms:
        agent, variant = AGENTS.get(arm.agent), arm.variant.id if arm.variant else arm.id
        parts = list(agent.unsupported(arm, sources.variant(arm).roots)) if agent else []
        if parts:
            faults[f"{source}: {arm.agent} cannot take {', '.join(parts)} of {variant}"] = None
    if faults:
        raise ConfigError(
            "\n".join(f"{fault}; use another agent or variant, or add the part to its manifest" for fault in faults)
        )


def model_notes(plan: Plan, library: Library, today: datetime.date) -> tuple[str, ...]:
    """Return notes on the models of a plan's arms and judges: unknown prices, retirement, small budgets.

    Raises:
        ConfigError: neither config/models/ nor the SDK knows a model, or an agent cannot speak its API.
    """
    names = check_models(plan.arms, plan.experiment, library)
    if not names:
        return ()
    models, listed = library.priced_models(plan.experiment.prices), sdk_models()
    notes = (f"{name}: {note}" for name in names for note in _notes_on(name, models, listed, today))
    return (*notes, *_budget_notes(plan, models), *_reserve_notes(plan, library, models))


def check_models(arms: Sequence[Arm], experiment: Experiment, library: Library) -> list[str]:
    """Return the models of arms and judges.

    Raises:
        ConfigError: neither config/models/ nor the SDK knows one of them, or an agent cannot speak its API.
    """
    names = list(dict.fromkeys([*(arm.model for arm in arms if arm.model), *experiment.judges]))
    if names:
        models = library.priced_models(experiment.prices)
        require_known_models(names, models, f"experiment {experiment.id}")
        require_spoken_models(arms, experiment, models)
    return names


def choice_notes(plan: Plan, best: Mapping[str, str]) -> Iterator[str]:
    """Note the sub-test that each `best of` a tier stands for, and variants that equal another sub-test.

    Args:
        plan: plan whose variants record the chosen sub-tests.
        best: sub-tests that stored rows chose; other sub-tests represent their tiers.
    """
    variants = {arm.variant.id: arm.variant for arm in plan.arms if arm.variant and arm.variant.chosen}
    for name, variant in variants.items():
        for tier, sub_test in variant.chosen.items():
            why = "by stored rows" if tier in best else "the tier's representative, since stored rows do not decide"
            yield f"{name}: best of {tier} is {sub_test} ({why})"
        if variant.alias_of:
            yield f"{name}: is the same configuration as {variant.alias_of}, but gets its own trials"


def _budget_notes(plan: Plan, models: Mapping[str, ModelInfo]) -> Iterator[str]:
    """Yield notes on models for which a trial's budget may be too small for the agent's requests."""
    usd = plan.experiment.limits.usd
    for name in dict.fromkeys(arm.model for arm in plan.arms if arm.model):
        worst = request_worst(models[name]) if name in models else None
        if usd is not None and worst is not None and usd < _REQUESTS * worst:
            yield (
                f"{name}: a request may cost up to {dollars(worst)}, and limits.usd of {dollars(usd)} buys fewer "
                "than three; answers may be cut at fewer tokens than asked for"
            )
        if name in models and models[name].provider == LOCAL_PROVIDER and plan.experiment.limits.tokens is None:
            yield f"{name}: it costs nothing on your own server, so no budget in USD limits it; set limits.tokens"


def _reserve_notes(plan: Plan, library: Library, models: Mapping[str, ModelInfo]) -> Iterator[str]:
    """Yield a note on the budget reserved for the judges of a running cell, unless it is small."""
    experiment = plan.experiment
    usd = panel_worst(experiment.judges, models)
    if experiment.budget_usd is None or not usd or usd < _SMALL_SHARE * experiment.budget_usd:
        return
    if any(is_for_judges(library.scenario(name).rubric) for name in {cell.scenario for cell in plan.cells}):
        yield (
            f"{dollars(usd)} of the {dollars(experiment.budget_usd)} of budget_usd is reserved for the judges "
            "of each running cell; the unused part is released"
        )


def _notes_on(name: str, models: Mapping[str, ModelInfo], listed: frozenset[str], today: datetime.date) -> list[str]:
    model = models.get(name)
    if model is None:
        return ["has no file in config/models/, so its cost is unknown"]
    notes = []
    if model.provider == SDK_PROVIDER and listed and name not in listed:
        notes.append("is not in the anthropic SDK's list of models; check the id")
    if model.price is None:
        notes.append("has no known price, so its cost is unknown")
    elif model.price.cache_read is None or model.price.cache_write_5m is None or model.price.cache_write_1h is None:
        notes.append("has no known cache price, so the cost of requests that use the cache is unknown")
    if model.retires is not None and model.retires < today:
        notes.append(f"was retired on {model.retires}; requests to it will fail")
    elif model.retires is not None and model.retires - today <= _SOON:
        notes.append(f"retires on {model.retires}; its measurements cannot be repeated after that day")
    return notes


def require_statistics() -> None:
    """Check that the statistics are installed, for commands that need them.

    Raises:
        ToolError: the `report` extra is not installed.
    """
    require_extra("numpy", "scipy", what="this command")


def power_notes(plan: Plan, folder: RunFolder) -> tuple[str, ...]:
    """Return notes on the smallest effect that a plan can detect; none without the `report` extra."""
    if not has_statistics():
        return ()
    from scylla_gha.analysis.design import plan_notes

    variances, basis = _pilot(folder.results, plan.pairs)
    return tuple(plan_notes(plan, variances, basis))


def reject_impossible_gate(plan: Plan, folder: RunFolder, choice: CellSelection) -> None:
    """Refuse a plan whose gate no result can pass; a part of an experiment has no gate.

    Without the `report` extra, the simple verdict is enough for the gate `better`, but not for `not_worse`.

    Raises:
        RefusedError: the gate cannot be passed, or its test needs statistics that are not installed.
    """
    gate = plan.experiment.gate
    if gate == "none" or choice.only:
        return
    if not has_statistics():
        if gate == "better":
            return
        raise RefusedError(
            f"gate {gate}: its test needs the statistics; run `{installation('report')}`, or set gate: better or none"
        )

    from scylla_gha.analysis.design import why_gate_impossible

    why = why_gate_impossible(plan, *_pilot(folder.results, plan.pairs))
    if why:
        raise RefusedError(why)


def _pilot(results: Path, pairs: Mapping[str, str]) -> tuple[tuple["PairVariance", ...], str]:
    """Return the variances of the stored rows, and their source."""
    from scylla_gha.analysis.design import USUAL_BASIS, pair_variances
    from scylla_gha.analysis.frame import build_frame

    try:
        variances = pair_variances(build_frame(read_lines(results, Result)), pairs) if results.exists() else ()
    except ConfigError:  # rows of another version; planning reports them already
        variances = ()
    return variances, _PILOT if variances else USUAL_BASIS
