"""Real keys and what is not trusted: a run that would put the two beside each other has to be wanted, or is refused.

A key is real where requests go to a provider. One for an address of loopback is none (a scripted provider of a test, a
proxy of one's own, which holds what is worth stealing itself), and a recording needs none at all.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import click

from scylla_gha.cli.credentials import environment, has_access
from scylla_gha.cli.journey import Journey
from scylla_gha.cli.options import Tape
from scylla_gha.errors import RefusedError
from scylla_gha.gateway.settings import ANTHROPIC
from scylla_gha.model.plan import Plan
from scylla_gha.proxy.addresses import is_loopback
from scylla_gha.sandboxes import bubblewrap
from scylla_gha.sandboxes.base import Sandbox


def guard_keys(journey: Journey, tape: Tape, sandbox: Sandbox, *, allowed: bool) -> None:
    """Refuse to let agents with a model work where they could get hold of a real key.

    Raises:
        RefusedError: the sandbox exposes keys and nobody allowed that, or, in GitHub Actions, is not Docker's.
    """
    agents = [name for name, installed in journey.agents.items() if installed.agent.package is not None]
    _guard(", ".join(agents), tape, sandbox, allowed=allowed)


def guard_checks(plan: Plan, tape: Tape, sandbox: Sandbox, *, allowed: bool) -> None:
    """Refuse to run checks, which execute what agents with a model wrote, where that could get hold of a real key.

    Raises:
        RefusedError: as above.
    """
    agents = sorted({plan.arm(cell.arm).agent for cell in plan.cells if plan.arm(cell.arm).model is not None})
    _guard(f"checks of what {', '.join(agents)} wrote" if agents else "", tape, sandbox, allowed=allowed)


def _guard(who: str, tape: Tape, sandbox: Sandbox, *, allowed: bool) -> None:
    if not who or not has_real_key(tape, environment()):
        return
    if os.environ.get("GITHUB_ACTIONS") == "true" and sandbox.name != "docker":
        raise RefusedError(f"{who}: in GitHub Actions, agents with a real key work in Docker only, and the sandbox is "
                           f"{sandbox.name}; use a runner with a container engine, or --replay")  # fmt: skip
    if sandbox.isolation.keys != "exposed":
        return
    if not allowed:
        raise RefusedError(f"{who}: in the sandbox {sandbox.name}, an agent could read the provider's key from this "
                           f"user's processes and files (keys: exposed). {_instead()}; or, where the agent may have "
                           "the key, give --allow-exposed-keys")  # fmt: skip
    click.echo(f"{who}: keys are exposed in the sandbox {sandbox.name}, and --allow-exposed-keys allows it", err=True)


def _instead() -> str:
    """What to do, by what this machine lacks."""
    lack = bubblewrap.lacking()
    return ("Start a container engine (on Debian and Ubuntu: apt-get install docker.io), or take the sandbox bubblewrap"
            f"{f' ({lack})' if lack else ', which works here'}")  # fmt: skip


def has_real_key(tape: Tape, environ: Mapping[str, str]) -> bool:
    """Whether requests will go to a provider with a key of this environment."""
    if tape.replay is not None or not has_access(environ):
        return False
    return not is_loopback(urlsplit(environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC).hostname or "")
