"""Commands on single scenarios: `scenario new`."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import RefusedError

if TYPE_CHECKING:
    from scylla_gha.mining.repository import RepositoryCheckout
    from scylla_gha.onboarding.scaffold import ScaffoldTask


@click.group()
def scenario() -> None:
    """Make scenarios one by one."""


@scenario.command()
@click.argument("suite", required=False)
@click.option("--from-issue", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
              help="Text of an issue: its first line is the title, and the rest is what the agent reads.")
@click.option("--from-session", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
              help="Session of Claude Code (~/.claude/projects/*/*.jsonl): the task is the user's first message.")
@click.option("--from-commits", metavar="A..B", help="Range of commits, taken as one change with its tests.")
@click.option("--from-pull-request", type=click.IntRange(1), metavar="N",
              help="Commits of a pull request, which git fetched before: `git fetch origin pull/N/head:pr-N`.")
@options.as_json
def new(
    suite: str | None,
    from_issue: Path | None,
    from_session: Path | None,
    from_commits: str | None,
    from_pull_request: int | None,
    *,
    as_json: bool,
) -> None:
    """Make one scenario of SUITE (default: the suite of `init`) in the repository of this folder.

    Commits make a whole scenario, with the same proof as those of `init`. An issue or a session makes a skeleton: its
    start is the last commit, and you write the check, the solution and two wrong solutions. `validate` refuses it until
    then, and says what is missing.

    \b
    gh issue view 12 --json title,body --jq '.title, "", .body' >issue.md
    scylla-gha scenario new --from-issue issue.md
    scylla-gha scenario new --from-commits main..fix-rounding
    """  # noqa: D301
    import json

    from scylla_gha.mining.project_states import ProjectStates
    from scylla_gha.mining.repository import checkout_of
    from scylla_gha.onboarding.init import default_name, proving, suite_scenarios
    from scylla_gha.onboarding.new_scenario import (
        first_message,
        next_number,
        range_of,
        range_of_pull_request,
        skeleton,
        task_of_range,
    )

    sources = {"--from-issue": from_issue, "--from-session": from_session, "--from-commits": from_commits,
               "--from-pull-request": from_pull_request}
    if sum(source is not None for source in sources.values()) != 1:
        raise click.UsageError(f"give one of {', '.join(sources)}")
    checkout = checkout_of(Path())
    name = suite or default_name(checkout.root)
    number, states = next_number(suite_scenarios(checkout.root, name)), ProjectStates(checkout)
    text, origin = "", ""
    if from_issue is not None:
        text, origin = from_issue.read_text(encoding="utf-8", errors="replace"), f"the issue in {from_issue.name}"
    elif from_session is not None:
        text, origin = first_message(from_session), "a session of Claude Code"
    if origin:
        task = skeleton(states, text, origin, name, number)
    else:
        commits = range_of(checkout, from_commits) if from_commits else range_of_pull_request(
            checkout, from_pull_request or 0)
        with proving(name, functools.partial(click.echo, err=True)) as trial:
            task = task_of_range(states, commits, name, number, trial)
    paths = _write(checkout, name, task)
    if as_json:
        click.echo(json.dumps({"scenario": f"scenarios/{name}/{task.id}", "finished": not origin, "new": paths}))
        return
    click.echo(f"new: scenarios/{name}/{task.id}/ and its start state ({counted(len(paths), 'file')})")
    if origin:
        click.echo("Still missing: the check in scenario.yaml (in place of TODO), solution/solution.patch, two of "
                   "wrong/*.patch")
    click.echo(f"Now run: scylla-gha validate scenarios/{name}/{task.id} --execute")


def _write(checkout: "RepositoryCheckout", name: str, task: "ScaffoldTask") -> list[str]:
    """Write the files of a scenario; return their paths.

    Raises:
        RefusedError: one of them exists.
    """
    from scylla_gha.onboarding.scaffold import beside_files, file_states, scenario_files, write_files
    from scylla_gha.onboarding.toolkit import SCHEMAS

    files = scenario_files(task, name, SCHEMAS)
    if taken := file_states(checkout.root, files)["overwritten"]:
        raise RefusedError(f"{taken[0].path}: exists; remove it, or give another SUITE")
    new = [*file_states(checkout.root, beside_files([task], checkout.root))["new"], *files]
    write_files(checkout.root, new)
    return [file.path for file in new]
