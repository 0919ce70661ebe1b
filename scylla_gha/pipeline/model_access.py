"""Access of a run to models: its gateway, which alone holds the provider's key, and the sandboxes that protect the key.

A sandbox in which untrusted code could read a real key is refused unless the user allows it. A key is real if requests
go to a provider. A key for a loopback address is not (a scripted provider of a test, or the user's own proxy), and a
recording needs none.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import click

from scylla_gha.counting import counted
from scylla_gha.egress_proxy.addresses import is_loopback
from scylla_gha.errors import RefusedError, ToolError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.model.plan import Plan
from scylla_gha.model.traffic import Role
from scylla_gha.pipeline.cell_budget import CellBudget
from scylla_gha.pipeline.context import ProviderRoute, RunContext
from scylla_gha.plan.build import InstalledAgent
from scylla_gha.providers import DEFAULT_PROVIDER, PROVIDERS, has_access, provider_environment
from scylla_gha.redaction.patterns import secrets_in
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import Sandbox
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, RunFolder, require_log_digests, traffic_of


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """Folders of recorded model traffic: one to write to, or one to answer from instead of a provider."""

    record: Path | None = None
    replay: Path | None = None


def require_safe_sandbox(context: RunContext, recording: RecordingOptions, sandbox: Sandbox, *, allowed: bool) -> None:
    """Refuse a sandbox in which agents with a model could read a real key.

    Raises:
        RefusedError: the sandbox exposes keys and `allowed` is false; or it is not Docker's, in GitHub Actions.
    """
    agents = [name for name, installed in context.agents.items() if installed.agent.uses_model]
    _guard(", ".join(agents), recording, sandbox, allowed=allowed)


def guard_checks(plan: Plan, recording: RecordingOptions, sandbox: Sandbox, *, allowed: bool) -> None:
    """Refuse a sandbox in which checks, which execute code that agents wrote, could read a real key.

    Raises:
        RefusedError: as above.
    """
    agents = sorted({plan.arm(cell.arm).agent for cell in plan.cells if plan.arm(cell.arm).model is not None})
    _guard(f"checks of what {', '.join(agents)} wrote" if agents else "", recording, sandbox, allowed=allowed)


def _guard(who: str, recording: RecordingOptions, sandbox: Sandbox, *, allowed: bool) -> None:
    if not who or not has_real_key(recording, provider_environment()):
        return
    if os.environ.get("GITHUB_ACTIONS") == "true" and not sandbox.allows_keys_in_actions:
        allowing = " or ".join(name for name, other in SANDBOXES.items() if other.allows_keys_in_actions)
        raise RefusedError(f"{who}: in GitHub Actions, agents with a real key work only in {allowing}, and the sandbox "
                           f"is {sandbox.name}; use a runner with a container engine, or --replay")  # fmt: skip
    if sandbox.isolates_keys:
        return
    if not allowed:
        raise RefusedError(f"{who}: in the sandbox {sandbox.name}, an agent could read the provider's key from this "
                           f"user's processes and files (keys: exposed). {_alternatives()}; or, if the agent may have "
                           "the key, give --allow-exposed-keys")  # fmt: skip
    click.echo(f"{who}: keys are exposed in the sandbox {sandbox.name}, and --allow-exposed-keys allows it", err=True)


def _alternatives() -> str:
    """Return safer choices, depending on what this machine has."""
    missing = SANDBOXES["bubblewrap"].missing_reason()
    return ("Start a container engine (on Debian and Ubuntu: apt-get install docker.io), or take the sandbox bubblewrap"
            f"{f' ({missing})' if missing else ', which works here'}")  # fmt: skip


def has_real_key(recording: RecordingOptions, environ: Mapping[str, str]) -> bool:
    """Return whether requests go to a provider with a key of this environment."""
    if recording.replay is not None or not has_access(environ):
        return False
    provider = PROVIDERS[DEFAULT_PROVIDER]
    address = environ.get(provider.base_url_variable) or provider.base_url
    return not is_loopback(urlsplit(address).hostname or "")


def require_credentials(agents: dict[str, InstalledAgent], judges: Sequence[str], recording: RecordingOptions) -> None:
    """Check that there is a key if agents or judges need one.

    Raises:
        ToolError: there is neither a key nor a recording.
    """
    users = [name for name, installed in agents.items() if installed.agent.uses_model]
    users += ["the judge panel"] if judges else []
    if users and recording.replay is None and not has_access(provider_environment()):
        who = " and ".join(", ".join(users).rsplit(", ", 1))
        raise ToolError(f"{who} need{'s' if len(users) == 1 else ''} a key to reach a model; set ANTHROPIC_API_KEY, or "
                        "give --replay")  # fmt: skip


@contextmanager
def gateway_for_run(context: RunContext, recording: RecordingOptions) -> Iterator[None]:
    """Start the gateway if the run has agents or judges that need a model, and set the run's redactor.

    The gateway enforces the budgets; the cost of all traffic in the run's folder counts as spent.
    """
    experiment = context.plan.experiment
    secrets = _secrets()
    context.redactor = Redactor(secrets)
    agents = any(installed.agent.uses_model for installed in context.agents.values())
    if not agents and not context.judges:
        yield
        return
    with GatewayProcess.start(_settings(context, recording, secrets)) as gateway:
        context.gateway = gateway
        context.route = None if recording.replay else ProviderRoute.of(provider_environment())
        context.budget = CellBudget(experiment, gateway)
        yield


def _settings(context: RunContext, recording: RecordingOptions, secrets: tuple[str, ...]) -> GatewaySettings:
    experiment, environ = context.plan.experiment, provider_environment()
    provider = PROVIDERS[DEFAULT_PROVIDER]
    credentials = provider.credentials(environ)
    return GatewaySettings(
        upstream=environ.get(provider.base_url_variable) or provider.base_url,
        api_key=credentials.api_key,
        bearer=credentials.bearer,
        federation=credentials.federation,
        models=tuple(context.library.priced_models(experiment.prices).values()),
        knobs={"agent": experiment.model_settings.agent, "judge": experiment.model_settings.judge},
        experiment_usd=experiment.budget_usd,
        role_usd=experiment.role_budget_usd.by_role(),
        spent_usd=spent_usd(context.folder),
        rate_limit_seconds=experiment.limits.rate_limit_seconds,
        retries=experiment.limits.provider_retries,
        hidden=secrets,
        record=recording.record,
        replay=recording.replay,
    )


def _secrets() -> tuple[str, ...]:
    """Return the secret values of the environment; warn about those that cannot be redacted."""
    secrets, unfit = secrets_in(provider_environment())
    for name, reason in unfit.items():
        click.echo(f"{name} is not redacted in stored files, because it is {reason}", err=True)
    return tuple(secrets.values())


def spent_usd(folder: RunFolder) -> dict[Role, float]:
    """Return the USD that a run's folder has cost by role, including trials that were archived since.

    Raises:
        ConfigError: a request log was changed, so the cost is not known.
    """
    if unsealed := require_log_digests(folder):
        click.echo(
            f"{counted(unsealed, 'stored attempt')} of an older version: the files are taken as they are", err=True
        )
    controls = [traffic_of(path) for path in folder.probes()]
    return {
        "agent": sum(summarise_traffic(path).charged_usd for path in folder.journals("traffic.jsonl")),
        "judge": sum(summarise_traffic(path).charged_usd for path in [*folder.journals(JUDGE_TRAFFIC), *controls]),
    }
