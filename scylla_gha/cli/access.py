"""How a run reaches its models: one gateway, which alone holds the key."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from scylla_gha.cli.allowance import Allowance
from scylla_gha.cli.credentials import BEARERS, KEY, environment, has_access
from scylla_gha.cli.journey import Journey
from scylla_gha.cli.options import Tape
from scylla_gha.cli.planning import Installed
from scylla_gha.cli.route import Route
from scylla_gha.errors import ToolError
from scylla_gha.gateway.client import Gateway
from scylla_gha.gateway.federation import Federation
from scylla_gha.gateway.journal import account
from scylla_gha.gateway.settings import ANTHROPIC, Settings
from scylla_gha.model.traffic import Role
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.worth import secrets_in
from scylla_gha.seals import require_journals
from scylla_gha.store import JUDGE_TRAFFIC, RunFolder, traffic_of


def require_access(agents: dict[str, Installed], judges: Sequence[str], tape: Tape) -> None:
    """Look for a key, where agents or judges need one.

    Raises:
        ToolError: there is neither a key nor a recording.
    """
    names = [name for name, installed in agents.items() if installed.agent.package is not None]
    names += ["the judge panel"] if judges else []
    if names and tape.replay is None and not has_access(environment()):
        raise ToolError(f"{', '.join(names)} needs a key to reach a model; set ANTHROPIC_API_KEY, or give --replay")


@contextmanager
def reach(journey: Journey, tape: Tape) -> Iterator[None]:
    """Give the journey the secrets that must not be stored, and a running gateway while it needs one.

    The gateway keeps the budgets; what all traffic in the run's folder cost is spent of them already.
    """
    experiment = journey.plan.experiment
    secrets = _secrets()
    journey.redactor = Redactor(secrets)
    agents = any(installed.agent.package for installed in journey.agents.values())
    if not agents and not journey.judges:
        yield
        return
    with Gateway.start(_settings(journey, tape, secrets)) as running:
        journey.gateway = running
        journey.route = None if tape.replay else Route.of(environment())
        journey.allowance = Allowance(experiment, running)
        yield


def _settings(journey: Journey, tape: Tape, secrets: tuple[str, ...]) -> Settings:
    experiment, environ = journey.plan.experiment, environment()
    return Settings(
        upstream=environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC,
        api_key=environ.get(KEY) or None,
        bearer=next((token for name in BEARERS if (token := environ.get(name))), None),
        federation=None if any(environ.get(name) for name in (KEY, *BEARERS)) else Federation.of(environ),
        models=tuple(journey.library.priced_models(experiment.prices).values()),
        knobs={"agent": experiment.model_settings.agent, "judge": experiment.model_settings.judge},
        experiment_usd=experiment.budget_usd,
        role_usd=experiment.role_budget_usd.by_role(),
        spent_usd=spent_usd(journey.folder),
        rate_limit_seconds=experiment.limits.rate_limit_seconds,
        retries=experiment.limits.provider_retries,
        hidden=secrets,
        record=tape.record,
        replay=tape.replay,
    )


def _secrets() -> tuple[str, ...]:
    """The values of the environment that must not be stored; tells of those that cannot be looked for."""
    secrets, unfit = secrets_in(environment())
    for name, reason in unfit.items():
        click.echo(f"{name} is not looked for in what is stored: it is {reason}", err=True)
    return tuple(secrets.values())


def spent_usd(folder: RunFolder) -> dict[Role, float]:
    """What budgets were charged in a run's folder: its money is gone, also where a trial was put aside since.

    Raises:
        ConfigError: a journal is not what was written, so what was spent is not known.
    """
    if unsealed := require_journals(folder):
        click.echo(f"{unsealed} stored attempts are of an older version: their files are taken as they are", err=True)
    controls = [traffic_of(path) for path in folder.probes()]
    return {
        "agent": sum(account(path).charged_usd for path in folder.journals("traffic.jsonl")),
        "judge": sum(account(path).charged_usd for path in [*folder.journals(JUDGE_TRAFFIC), *controls]),
    }
