"""Command for authors of Agent Skills: `scylla-gha skill`."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from scylla_gha.counting import counted

_PROGRESS_SECONDS: Final = 2.0
_AGENT: Final = "claude-code"


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--only",
    type=click.Choice(["check"]),
    help="Part to do: check reads the files, without a key (default: all parts that can be run).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")
@click.option(
    "--sarif",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to write the findings to as SARIF, for code scanning (default: none).",
)
def skill(path: Path, *, only: str | None, as_json: bool, sarif: Path | None) -> None:
    """Check the skill in PATH, or all skills below it, and read their evals and trigger queries.

    No model is asked, so no key is needed. In GitHub Actions, errors and warnings are shown beside their lines.
    Exit codes: 0 no errors; 3 a file has an error, which is printed.

    \b
    scylla-gha skill .claude/skills
    scylla-gha skill skills/pdf --only check --sarif skill.sarif
    """  # noqa: D301
    from scylla_gha.agents import AGENTS
    from scylla_gha.errors import ConfigError
    from scylla_gha.github_api.actions import escape_command
    from scylla_gha.publish.actions_output import annotate
    from scylla_gha.skills.report import annotations, check_json, check_lines, check_sarif, check_skills
    from scylla_gha.store.records import write_text

    rules = AGENTS[_AGENT].skill_listing
    check = check_skills(path, rules, _progress())
    for line in [check_json(check)] if as_json else check_lines(check, path):
        click.echo(escape_command(line))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for level, finding in annotations(check):
            annotate(level, finding.message, f"skill: {finding.rule}", finding.path, finding.line)
    if sarif is not None:
        write_text(sarif, check_sarif(check))
    if only is None and not as_json:
        click.echo("Triggers and evals cannot be run yet: these are the checks alone.")
    if errors := check.counted_levels()["error"]:
        raise ConfigError(f"{path}: {counted(errors, 'error')}; correct what the lines with `error:` say")


def _progress() -> Callable[[int, int], None]:
    """Return a function that prints a line on standard error every two seconds."""
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last = time.monotonic()
            click.echo(f"checked {done} of {counted(total, 'skill')}", err=True)

    return show
