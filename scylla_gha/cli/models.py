"""Models and their providers: `scylla-gha models`."""

import dataclasses
import json
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.config import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.providers import PROVIDERS, provider_environment

if TYPE_CHECKING:
    from scylla_gha.evaluate.model_lists import ModelCheck, ModelDifference


@click.command()
@click.option("--provider", "providers", multiple=True, metavar="NAME", help="Check this provider's models only.")
@options.as_json
def models(providers: tuple[str, ...], *, as_json: bool) -> None:
    """Compare the models of config/models/ with the list of each provider to which the environment has a key.

    It prints whether the provider knows the model, and limits and prices that the provider states and the model's file
    has otherwise. It costs nothing. The exit code is 3 if a file is to be corrected, and 5 if a list could not be read.

    \b
    scylla-gha models
    scylla-gha models --provider openrouter --json
    """  # noqa: D301
    from scylla_gha.evaluate.model_lists import check_models

    for name in providers:
        if name not in PROVIDERS:
            raise ConfigError(f"--provider {name}: there is no such provider{did_you_mean(name, list(PROVIDERS))}")
    listed = options.library().models().values()
    checks = []
    for check in check_models([m for m in listed if not providers or m.provider in providers], provider_environment()):
        checks.append(check)
        if not as_json:
            click.echo(_line(check))
    if as_json:
        click.echo(json.dumps({"models": [dataclasses.asdict(check) for check in checks]}))
    _raise_faults(checks)


def _line(check: "ModelCheck") -> str:
    what = {"ok": "as listed", "unchecked": f"not checked: {check.why}", "unlisted": check.why}
    text = what.get(check.state) or "; ".join(map(_difference, check.differences))
    return f"{check.model} ({check.provider}): {text}"


def _difference(difference: "ModelDifference") -> str:
    ours = "unknown" if difference.ours is None else f"{difference.ours:.10g}"
    return f"{difference.what} is {difference.theirs:.10g} in the provider's list, and {ours} in the model's file"


def _raise_faults(checks: "list[ModelCheck]") -> None:
    """Fail if a file is to be corrected, or a list could not be read."""
    wrong = [check.model for check in checks if check.state in {"differs", "unlisted"}]
    if wrong:
        raise ConfigError(f"{counted(len(wrong), 'model')} to correct in config/models/: {', '.join(wrong)}")
    if faults := dict.fromkeys(f"{check.provider}: {check.why}" for check in checks if check.is_fault):
        raise ToolError("\n".join(faults))
