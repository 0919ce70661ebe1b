"""`scylla-gha doctor`."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scylla_gha.cli import options
from scylla_gha.errors import FixtureError, SetupError

if TYPE_CHECKING:
    from scylla_gha.onboarding.checks.finding import Finding

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9_.-]+")
_COLOURS: Final = {"ok": "green", "optional": "cyan", "problem": "red", "unknown": "yellow"}


def _repository(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _NAME.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not of the form OWNER/NAME")
    return value


@click.command()
@click.option("--repository", callback=_repository, metavar="OWNER/NAME", show_default="GITHUB_REPOSITORY, or origin's",
              help="The repository on GitHub that is looked at.")  # fmt: skip
@click.option("--environment", default="scylla-eval", show_default=True, help="Its environment with the secrets.")
@click.option("--branch", default="scylla-results", show_default=True, help="Its branch of results.")
@options.as_json
def command(repository: str | None, environment: str, branch: str, *, as_json: bool) -> None:
    """Look what is still to be set up: on this machine, in this folder's workflows, and on GitHub.

    Asks GitHub with GITHUB_TOKEN or GH_TOKEN, at GITHUB_API_URL where that is set; it changes nothing, and reads of
    secrets nothing but their names. `optional` is what only some ways of use want; `unknown` is what the token may not
    see. Exits with 12 where there is a problem.

    \b
    GH_TOKEN=$(gh auth token) scylla-gha doctor
    scylla-gha doctor --repository octo-org/app --json
    """  # noqa: D301
    from scylla_gha.onboarding.checks.local import caller_findings, machine_findings

    name = repository or _found(os.environ)
    there, pins_required = _on_github(name, environment, branch) if name else ([], False)
    here = [*machine_findings(), *caller_findings(Path.cwd(), pins_required=pins_required)]
    if as_json:
        _print_json(here, name, there)
    else:
        _print(here, name, there)
    problems = [each.id for each in (*here, *there) if each.state == "problem"]
    if problems:
        raise SetupError(f"{len(problems)} to mend: {', '.join(problems)}; how is said with each of them")


def _found(environ: Mapping[str, str]) -> str | None:
    """The repository that a workflow runs in, or the one that this folder came from."""
    named = environ.get("GITHUB_REPOSITORY", "")
    if _NAME.fullmatch(named):
        return named
    from scylla_gha.onboarding.user_repository import checkout_of, origin_of
    from scylla_gha.onboarding.workflow_file import host_and_name

    try:
        origin = origin_of(checkout_of(Path.cwd()))
    except FixtureError:
        return None
    host, name = host_and_name(origin or "") or ("", "")
    known = host == "github.com" or bool(environ.get("GITHUB_API_URL"))
    return name if known and _NAME.fullmatch(name) else None


def _on_github(name: str, environment: str, branch: str) -> tuple[list["Finding"], bool]:
    from scylla_gha.github.access import access_from
    from scylla_gha.github.client import RetryPolicy
    from scylla_gha.github.setup import Policy, read_setup
    from scylla_gha.onboarding.checks.repository import findings

    patience = RetryPolicy(lambda text: click.echo(text, err=True))
    setup = read_setup(access_from(os.environ), name, patience, environment, branch)
    pins = isinstance(setup.policy, Policy) and setup.policy.sha_pinning_required
    return findings(setup, environment, branch), pins


def _print_json(here: list["Finding"], name: str | None, there: list["Finding"]) -> None:
    import json

    parts = {"here": here, "github": there}
    told = {part: [each.model_dump(mode="json") for each in found] for part, found in parts.items()}
    click.echo(json.dumps({"repository": name, **told}))


def _print(here: list["Finding"], name: str | None, there: list["Finding"]) -> None:
    _section("this machine, and the workflows here", here)
    if name is None:
        click.echo("\nno repository on GitHub is known; name one by --repository OWNER/NAME")
    else:
        _section(f"\n{name} on GitHub", there)


def _section(title: str, found: list["Finding"]) -> None:
    click.echo(title)
    for each in found:
        state = click.style(f"{each.state:<9}", fg=_COLOURS[each.state])
        click.echo(f"  {state} {each.id}: {each.what}")
        if each.mend:
            click.echo(f"            -> {each.mend}")
