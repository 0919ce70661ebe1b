"""The gateway of a run, the only process that holds the provider's key."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from scylla_gha.counting import counted
from scylla_gha.errors import ToolError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.credentials import has_access, provider_environment
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import SessionSettings
from scylla_gha.model.traffic import Role
from scylla_gha.pipeline.cell_budget import CellBudget
from scylla_gha.pipeline.context import ProviderRoute, RunContext
from scylla_gha.pipeline.stored_run import RecordingOptions
from scylla_gha.plan.build import InstalledAgent
from scylla_gha.providers import DEFAULT_PROVIDER, PROVIDERS
from scylla_gha.redaction.patterns import secrets_in
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.store.digests import require_log_digests
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, RunFolder, traffic_of


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


def _settings(context: RunContext, recording: RecordingOptions, secrets: tuple[str, ...]) -> SessionSettings:
    experiment, environ = context.plan.experiment, provider_environment()
    provider = PROVIDERS[DEFAULT_PROVIDER]
    credentials = provider.credentials(environ)
    return SessionSettings(
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
