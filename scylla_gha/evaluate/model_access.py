"""Access of a run to paid models: the gateway, the only holder of the provider's key, and the checks before the start.

A sandbox in which untrusted code could read a real key is refused unless the user allows it. A key is real if requests
go to a provider. A key for a loopback address is not real (a scripted provider of a test, or the user's own proxy), and
a recording needs no key.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from scylla_gha.agents import AGENTS, InstalledAgent
from scylla_gha.config.library import Library
from scylla_gha.config.model_names import LOCAL_PROVIDER
from scylla_gha.counting import counted, dollars
from scylla_gha.egress_proxy import is_loopback
from scylla_gha.errors import RefusedError, ToolError
from scylla_gha.evaluate.context import RunContext, RunServices, RunSettings, RunState
from scylla_gha.evaluate.model_lists import require_listed
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess
from scylla_gha.github_com import fixture_environment
from scylla_gha.hub.client import HubProcess
from scylla_gha.model.experiment import Experiment, agent_name
from scylla_gha.model.plan import Cell, Estimate, Plan
from scylla_gha.model.traffic import ModelInfo, Role
from scylla_gha.plan import past_costs
from scylla_gha.plan.budget import CellBudget
from scylla_gha.plan.checks import with_model_ids
from scylla_gha.plan.estimate import DueCells, estimate_cells, is_for_judges
from scylla_gha.providers import (
    CREDENTIAL_VARIABLES,
    PROVIDERS,
    missing_key,
    missing_key_text,
    provider_environment,
    provider_name,
    shared_style,
)
from scylla_gha.providers.local_servers import TOOLS_ADVICE, ModelNeed, ModelServer, address_advice, require_served
from scylla_gha.providers.openai import LocalServer
from scylla_gha.redaction import Redactor
from scylla_gha.redaction.patterns import secrets_in
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import Sandbox
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, RunFolder, require_log_digests, traffic_of

_NO_LIMIT = float("inf")
_PANEL: Final = "the judge panel"


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """Folders of recorded model traffic: one to write, or one that replaces the provider."""

    record: Path | None = None
    replay: Path | None = None


def require_safe_sandbox(
    settings: RunSettings, recording: RecordingOptions, sandbox: Sandbox, *, allowed: bool
) -> None:
    """Refuse a sandbox in which agents with a model can read a real key.

    Raises:
        RefusedError: the sandbox exposes keys and `allowed` is false; or, in GitHub Actions, it is not Docker's.
    """
    agents = [name for name, installed in settings.agents.items() if installed.agent.uses_model]
    _guard(", ".join(agents), recording, sandbox, allowed=allowed)


def guard_checks(plan: Plan, recording: RecordingOptions, sandbox: Sandbox, *, allowed: bool) -> None:
    """Refuse a sandbox in which checks, which execute agents' code, can read a real key.

    Raises:
        RefusedError: as in `require_safe_sandbox`.
    """
    agents = sorted({plan.arm(cell.arm).agent for cell in plan.cells if plan.arm(cell.arm).model is not None})
    _guard(f"checks of the work of {', '.join(agents)}" if agents else "", recording, sandbox, allowed=allowed)


def _guard(who: str, recording: RecordingOptions, sandbox: Sandbox, *, allowed: bool) -> None:
    if not who or not has_real_key(recording, provider_environment()):
        return
    if os.environ.get("GITHUB_ACTIONS") == "true" and not sandbox.allows_keys_in_actions:
        allowing = " or ".join(name for name, other in SANDBOXES.items() if other.allows_keys_in_actions)
        raise RefusedError(
            f"{who}: in GitHub Actions, agents with a real key work only in {allowing}, and the sandbox "
            f"is {sandbox.name}; use a runner with a container engine, or --replay"
        )
    if sandbox.isolates_keys:
        return
    if not allowed:
        missing = SANDBOXES["bubblewrap"].missing_reason()
        raise RefusedError(
            f"{who}: in the sandbox {sandbox.name}, an agent could read the provider's key from this "
            "user's processes and files (keys: exposed). Start a container engine (on Debian and "
            "Ubuntu: apt-get install docker.io), or use the sandbox bubblewrap"
            f"{f' ({missing})' if missing else ', which works here'}; or, if the agent may have "
            "the key, give --allow-exposed-keys"
        )
    click.echo(f"{who}: keys are exposed in the sandbox {sandbox.name}, and --allow-exposed-keys allows it", err=True)


def has_real_key(recording: RecordingOptions, environ: Mapping[str, str]) -> bool:
    """Return whether requests go to a provider with a key of this environment."""
    if recording.replay is not None:
        return False
    return any(
        not is_loopback(urlsplit(access.base_url).hostname or "")
        for access in _accesses(environ)
        if access.secrets or access.federation
    )


def _accesses(environ: Mapping[str, str]) -> tuple[ProviderAccess, ...]:
    """Return the access to each provider that has credentials in this environment."""
    return tuple(access for name in PROVIDERS if (access := ProviderAccess.of(name, environ)))


def require_credentials(
    agents: Mapping[str, InstalledAgent], experiment: Experiment, library: Library, recording: RecordingOptions
) -> None:
    """Check that there is a key for each provider whose models the agents or the judges of an experiment use.

    Servers are asked for their lists of models, which costs nothing.

    Raises:
        ToolError: there is neither a key nor a recording, or a server lacks a model.
        ConfigError: a model has no provider.
    """
    if recording.replay is not None:
        return
    models, experiment, environ = library.models(), with_model_ids(experiment, library), provider_environment()
    asking = [name for name, installed in agents.items() if installed.agent.uses_model]
    users = {name: experiment.models_of(agent_name(name)[0]) for name in asking}
    users |= {_PANEL: experiment.judges} if experiment.judges else {}
    uses = [(who, model, provider_name(model, models)) for who, names in users.items() for model in names]
    faults = [
        missing_key_text(
            {who: None for who, _, used in uses if used == provider},
            {model: None for _, model, used in uses if used == provider},
            provider,
            variable,
        )
        for provider in dict.fromkeys(provider for _, _, provider in uses)
        if (variable := missing_key(provider, environ))
    ]
    if faults:
        advice = f"; {address_advice()}" if any(LocalServer.base_url_variable in fault for fault in faults) else ""
        raise ToolError("\n".join(f"{fault}, or give --replay" for fault in faults) + advice)
    _require_local_models(uses, models, environ)
    for provider in dict.fromkeys(provider for _, _, provider in uses):
        if provider != LOCAL_PROVIDER:
            require_listed(provider, [model for _, model, used in uses if used == provider], environ)


def _require_local_models(
    uses: list[tuple[str, str, str]], models: Mapping[str, ModelInfo], environ: Mapping[str, str]
) -> None:
    """Check the user's own server, which is asked for its list of models: `uses` are user, model and provider.

    Raises:
        ToolError: it does not answer, lacks a model, or does not serve the API of an agent or of judges.
    """
    styles: dict[str, dict[str, None]] = {}
    for who, model, provider in uses:
        if provider == LOCAL_PROVIDER:
            agent = AGENTS.get(agent_name(who)[0])  # None: the judge panel, which speaks every API
            spoken = agent.api_styles if agent else PROVIDERS[provider].styles
            style = shared_style(spoken, provider)  # planning refuses a model that its agent cannot ask
            styles.setdefault(model, {}).update({style: None} if style else {})
    access = ProviderAccess.of(LOCAL_PROVIDER, environ) if styles else None
    if access:
        needs = [ModelNeed(model, models[model].context_tokens, tuple(used)) for model, used in styles.items()]
        server = ModelServer(access.base_url, access.bearer)
        require_served(server, needs)
        if server.drops_tools():
            click.echo(f"warning: {access.base_url}: {TOOLS_ADVICE}", err=True)


@contextmanager
def open_services(
    settings: RunSettings, recording: RecordingOptions, state: RunState | None = None
) -> Iterator[RunContext]:
    """Start the gateway and the hub, if the run needs them; yield the context of its cells.

    Agents and judges with a model need the gateway; scenarios with GitHub state need the hub. The gateway enforces the
    budgets, and all traffic in the run's folder counts as spent.
    """
    found_secrets, unfit = secrets_in(fixture_environment(provider_environment()), CREDENTIAL_VARIABLES)
    for name, reason in unfit.items():
        click.echo(f"{name} is not redacted in stored files, because it is {reason}", err=True)
    secrets = tuple(found_secrets.values())
    services = RunServices(redactor=Redactor(secrets))
    agents = any(installed.agent.uses_model for installed in settings.agents.values())
    with ExitStack() as stack:
        scenarios = {cell.scenario for cell in settings.plan.cells}
        if settings.plan.experiment.github == "hub" and any(settings.scenario(name).github for name in scenarios):
            services = replace(services, hub=stack.enter_context(HubProcess.start()))
        if agents or settings.judges:
            gateway = stack.enter_context(GatewayProcess.start(_gateway_settings(settings, recording, secrets)))
            budget = CellBudget(settings.plan.experiment, gateway)
            services = replace(services, gateway=gateway, budget=budget)
        yield RunContext(settings, services, state or RunState())


def _gateway_settings(settings: RunSettings, recording: RecordingOptions, secrets: tuple[str, ...]) -> GatewaySettings:
    experiment = settings.plan.experiment
    return GatewaySettings(
        access=_accesses(provider_environment()),
        models=tuple(settings.library.priced_models(experiment.prices).values()),
        knobs={"agent": experiment.model_settings.agent, "judge": experiment.model_settings.judge},
        experiment_usd=experiment.budget_usd,
        role_usd=experiment.role_budget_usd.by_role(),
        spent_usd=spent_usd(settings.folder),
        rate_limit_seconds=experiment.limits.rate_limit_seconds,
        retries=experiment.limits.provider_retries,
        hidden=secrets,
        record=recording.record,
        replay=recording.replay,
    )


def spent_usd(folder: RunFolder) -> dict[Role, float]:
    """Return the cost of a run's folder in USD by role, including archived trials.

    Raises:
        ConfigError: a request log was changed, so the cost is unknown.
    """
    if unsealed := require_log_digests(folder):
        attempts = counted(unsealed, "stored attempt")
        click.echo(
            f"{attempts} written by an older version without digests: the cost is read from unverified files", err=True
        )
    controls = [traffic_of(path) for path in folder.probes()]
    return {
        "agent": sum(summarise_traffic(path).charged_usd for path in folder.journals("traffic.jsonl")),
        "judge": sum(summarise_traffic(path).charged_usd for path in [*folder.journals(JUDGE_TRAFFIC), *controls]),
    }


def confirm_spending(settings: RunSettings, recording: RecordingOptions, *, yes: bool, controls: int = 0) -> None:
    """Ask the user to confirm the cost of the work that is not stored yet; if no work is due, do not ask.

    Args:
        settings: settings of the run; `judging` and `fresh` change which work is due.
        recording: recorded traffic; a replay costs nothing.
        yes: True if the user gave --yes.
        controls: number of control questions to judges, in addition to the trials.

    Raises:
        RefusedError: the user declines, standard input is not a terminal, or a budget is spent.
    """
    due = due_work(settings)
    if recording.replay is not None or not (due.trials or due.judgments or controls):
        return
    plan = settings.plan
    experiment = plan.experiment.model_copy(update={"judges": settings.judges})
    estimate = estimate_cells(experiment, settings.library, plan.arms, due, past_costs(settings.folder))
    limit_usd = _limit(settings, due)
    controls_text = f", and {counted(controls, 'control')} of judges" if controls else ""
    work_text = f"{counted(len(due.trials), 'trial')} to run and {len(due.judgments)} to judge with paid models"
    question = f"{work_text}{controls_text}: spend {_amount(estimate, limit_usd)}?"
    confirm_amount(question, yes=yes)


def confirm_amount(question: str, *, yes: bool) -> None:
    """Ask a question about spending, unless the user gave --yes.

    Raises:
        RefusedError: the user declines, or standard input is not a terminal.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise RefusedError(f"{question} Standard input is not a terminal; give --yes to confirm")
    if not confirm(question):
        raise RefusedError("not confirmed; nothing was run")


def confirm(question: str) -> bool:
    """Ask on the terminal; return False if the user declines or input ends."""
    with suppress(click.Abort):
        return click.confirm(question, err=True)
    return False


def due_work(settings: RunSettings) -> DueCells:
    """Return the cells whose trial or judgment needs a paid model and is not stored under its key."""
    plan = settings.plan
    trials = [cell for cell in plan.cells if plan.arm(cell.arm).model and not settings.stored_trial(cell)]

    def is_unjudged(cell: Cell) -> bool:
        trial = settings.stored_trial(cell)
        is_due = trial is None or settings.needs_judgment(cell, trial)
        return is_due and is_for_judges(settings.scenario(cell.scenario).rubric)

    return DueCells(
        trials, list(filter(is_unjudged, plan.cells)) if settings.options.judging and settings.judges else []
    )


def _limit(settings: RunSettings, due: DueCells) -> float:
    """Return the USD at which the gateway stops the run; infinite without a budget.

    Raises:
        RefusedError: a budget is spent.
    """
    experiment, spent = settings.plan.experiment, spent_usd(settings.folder)
    roles = experiment.role_budget_usd
    left_usd = _remaining("budget_usd", experiment.budget_usd, sum(spent.values()))
    agents = judges = 0.0
    if due.trials:
        per_trial_usd = (experiment.limits.usd or _NO_LIMIT) * experiment.retry.attempts
        agents = min(_remaining("role_budget_usd.agent", roles.agent, spent["agent"]), per_trial_usd * len(due.trials))
    if due.judgments or not due.trials:
        judges = _remaining("role_budget_usd.judge", roles.judge, spent["judge"])
    return min(left_usd, agents + judges)


def _remaining(field: str, budget: float | None, spent: float) -> float:
    if budget is None:
        return _NO_LIMIT
    if spent >= budget:
        raise RefusedError(
            f"{field} of {dollars(budget)} is spent: all traffic in the run's folder, including old/, "
            f"cost {dollars(spent)}; raise it, or begin another folder with --runs"
        )
    return budget - spent


def _amount(estimate: Estimate, limit_usd: float) -> str:
    usd = estimate.usd
    likely = "an unknown sum" if usd.likely is None else f"likely {dollars(usd.likely)}"
    if limit_usd < _NO_LIMIT:
        return f"up to {dollars(limit_usd)} ({likely})"
    high = "" if usd.high is None else f", perhaps {dollars(usd.high)},"
    return f"{likely}{high} without a budget that limits it"
