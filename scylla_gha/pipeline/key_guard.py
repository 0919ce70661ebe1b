"""Protection of real keys: a sandbox in which untrusted code could read one is refused unless the user allows it.

A key is real if requests go to a provider. A key for a loopback address is not (a scripted provider of a test, or the
user's own proxy), and a recording needs none.
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

import click

from scylla_gha.egress_proxy.addresses import is_loopback
from scylla_gha.errors import RefusedError
from scylla_gha.gateway.credentials import has_access, provider_environment
from scylla_gha.model.plan import Plan
from scylla_gha.pipeline.context import RunContext
from scylla_gha.pipeline.stored_run import RecordingOptions
from scylla_gha.providers import DEFAULT_PROVIDER, PROVIDERS
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import Sandbox


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
        raise RefusedError(f"{who}: in GitHub Actions, agents with a real key work in Docker only, and the sandbox is "
                           f"{sandbox.name}; use a runner with a container engine, or --replay")  # fmt: skip
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
