"""`scylla-gha init`."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.pipeline.confirm import confirm
from scylla_gha.pipeline.progress import ProgressPulse

if TYPE_CHECKING:
    from scylla_gha.onboarding.scaffold import FileChanges
    from scylla_gha.onboarding.select_task import Tried
    from scylla_gha.onboarding.task import ScaffoldFile, ScaffoldTask
    from scylla_gha.onboarding.user_repository import RepositoryCheckout
    from scylla_gha.onboarding.workflow_file import Toolkit


def _toolkit(_: click.Context, __: click.Parameter, value: str | None) -> "Toolkit | None":
    from scylla_gha.onboarding.workflow_file import toolkit_named

    found = toolkit_named(value) if value else None
    if value and found is None:
        raise click.BadParameter(f"{value!r} is not of the form OWNER/REPO@REF")
    return found


def _name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from scylla_gha.model.record import slug

    if value is not None and (value != slug(value) or not value):
        raise click.BadParameter(f"{value!r} is no name in small letters, digits and dashes")
    return value


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path())
@click.option(
    "--name", callback=_name, show_default="the directory's", help="Name of the experiment and its scenarios."
)
@click.option("--toolkit", callback=_toolkit, metavar="OWNER/REPO@REF", envvar="SCYLLA_TOOLKIT", show_envvar=True,
              show_default="the repository and commit that this command runs from",
              help="Repository of the reusable workflow that is called; a full SHA as REF is safest.")  # fmt: skip
@click.option("--tasks", type=click.IntRange(1, 99), default=1, show_default=True,
              help="Scenarios to make, each from another commit; a verdict takes six at least.")  # fmt: skip
@click.option("--example", is_flag=True, help="Write the small example; look at no commit, and run no test of them.")
@click.option("--dry-run", is_flag=True, help="List the files, and write none.")
@click.option("--yes", is_flag=True, help="Overwrite without being asked.")
@options.as_json
def command(
    directory: Path,
    name: str | None,
    toolkit: "Toolkit | None",
    tasks: int,
    *,
    example: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Set up evaluations in a repository: a workflow that calls the toolkit's, an experiment, and a scenario.

    A scenario is made from a commit that changed code and tests, where there is one: its parent is the start, its
    tests are the hidden check, the rest of it is the reference solution. That is proved by running these tests here, so
    use it on repositories that you trust. Without any it is a small example. Scenarios that are there are kept.

    \b
    scylla-gha init
    scylla-gha init --tasks 6
    scylla-gha init ../app --toolkit octo-org/scylla-gha@v1
    """  # noqa: D301
    from scylla_gha.onboarding.scaffold import compare_files, write_files
    from scylla_gha.onboarding.user_repository import checkout_of

    checkout = checkout_of(directory)
    called = name or _named_after(checkout.root)
    files = _files(checkout, called, toolkit or _toolkit_for(checkout.root), 0 if example else tasks)
    changes = compare_files(checkout.root, files)
    if not dry_run:
        _ask(changes, yes=yes)
        write_files(checkout.root, [file for file in files if file not in changes.same])
    click.echo(_json(changes, called) if as_json else _text(changes, called, dry_run=dry_run))
    if changes.new:
        _warn_of_ignored(checkout, changes.new)


def _toolkit_for(root: Path) -> "Toolkit":
    """The toolkit that the repository calls already, or else the one that runs now.

    Raises:
        ConfigError: nothing names a repository on GitHub.
    """
    from scylla_gha.onboarding.workflow_file import running_toolkit, toolkit_here

    toolkit = toolkit_here(root) or running_toolkit()
    if toolkit is None:
        raise ConfigError("init: this installation does not name its repository on GitHub, which the workflow has to "
                          "call; give --toolkit OWNER/REPO@SHA, such as your fork at a pushed commit")  # fmt: skip
    return toolkit


def _named_after(root: Path) -> str:
    from scylla_gha.model.record import slug

    return slug(root.name.replace("_", "-"))[:60].strip("-.") or "mine"


def _files(checkout: "RepositoryCheckout", name: str, toolkit: "Toolkit", tasks: int) -> list["ScaffoldFile"]:
    """All files of the scaffold; those of a scenario that is there are not made again."""
    from scylla_gha.onboarding.scaffold import (
        beside_files,
        experiment_file,
        ignored_runs,
        scenario_files,
        scenarios_here,
    )
    from scylla_gha.onboarding.workflow_file import workflow_files

    there = scenarios_here(checkout.root, name)
    made: list[ScaffoldFile] = []
    for scenario in there:
        click.echo(f"scenarios/{name}/{scenario}: is there, and is kept", err=True)
    if not there or len(there) < tasks:
        found = _find(checkout, name, toolkit, tasks - len(there), there)
        made = [file for task in found for file in scenario_files(task, name, toolkit.schemas)]
        _refuse_strays(checkout.root, [task.id for task in found], name, made)
        made = [*beside_files(found, checkout.root), *made]
        there += [task.id for task in found]
    return [*made, experiment_file(name, there, toolkit.schemas), ignored_runs(), *workflow_files(name, toolkit)]


def _refuse_strays(root: Path, scenarios: list[str], name: str, files: list["ScaffoldFile"]) -> None:
    """Refuse a folder of a fixture's name that holds something else: its files would be part of the start state.

    Raises:
        RefusedError: there is one.
    """
    from scylla_gha.onboarding.task_from_history import fixture_of

    ours = {file.path for file in files}
    folders = [root / "fixtures" / fixture_of(scenario, name) for scenario in scenarios]
    here = (path for each in folders for path in each.rglob("*") if path.is_symlink() or not path.is_dir())
    strays = sorted(path for path in (str(each.relative_to(root)) for each in here) if path not in ours)
    if strays:
        folder = "/".join(strays[0].split("/")[:2])
        raise RefusedError(f"{folder}/ holds files that are not the scaffold's, such as {strays[0]}; "
                           "remove that folder, or give another --name")  # fmt: skip


def _find(
    checkout: "RepositoryCheckout", name: str, toolkit: "Toolkit", wanted: int, there: list[str]
) -> list["ScaffoldTask"]:
    """Tasks of the history, proved one by one; what goes on is told on standard error."""
    from scylla_gha.config.library import Library, toolkit_root
    from scylla_gha.onboarding.scaffold import scenario_files, write_files
    from scylla_gha.onboarding.select_task import TaskTrial, find_tasks
    from scylla_gha.pipeline.validate_scenario import validate_scenario
    from scylla_gha.prepare.workspace import scratch

    def proved(task: "ScaffoldTask") -> "Tried":
        with scratch() as root:
            write_files(root, scenario_files(task, name, toolkit.schemas))
            library = Library((root, toolkit_root()))
            return validate_scenario(library.scenario(task.id), library).tried

    with ProgressPulse(lambda text: click.echo(text, err=True)) as pulse:
        pulse.say("looking for commits that changed code and its tests" if wanted > 0 else "taking the example")
        found = find_tasks(checkout, name, TaskTrial(proved, pulse.say), max(wanted, 0), there)
        if any(task.is_example for task in found):
            asked = "as --example asks" if wanted <= 0 else "since no commit made a task"
            pulse.say(f"the small example is taken, {asked}: it shows the parts of a scenario, and measures little")
    return found


def _ask(changes: "FileChanges", *, yes: bool) -> None:
    """Ask before anything is overwritten.

    Raises:
        RefusedError: nobody is there to say so, or does not want it.
    """
    if not changes.other or yes:
        return
    names = ", ".join(file.path for file in changes.other)
    if not sys.stdin.isatty():
        raise RefusedError(f"{names}: would be overwritten, and nobody is at a terminal to say so. Nothing was "
                           "written; give --yes to overwrite, or --dry-run to see what is new")  # fmt: skip
    if not confirm(f"{names}: overwrite?"):
        raise RefusedError("not confirmed; nothing was written")


def _json(changes: "FileChanges", name: str) -> str:
    kinds = {"new": changes.new, "overwritten": changes.other, "unchanged": changes.same}
    return json.dumps({"experiment": name, **{kind: [file.path for file in files] for kind, files in kinds.items()}})


def _text(changes: "FileChanges", name: str, *, dry_run: bool) -> str:
    if not (changes.new or changes.other):
        return "nothing to do: all is there already"
    verb = "would be " if dry_run else ""
    fixtures = Counter(file.path.split("/")[1] for file in changes.new if _in_fixture(file, name))
    lines = [f"{verb}new: {file.path}" for file in changes.new if not _in_fixture(file, name)]
    lines += [f"{verb}new: fixtures/{each}/ ({counted(count, 'file')})" for each, count in fixtures.items()]
    lines += [f"{verb}overwritten: {file.path}" for file in changes.other]
    then = f"\nNow run: scylla-gha evaluate {name}\nThen commit it, push it, and see: scylla-gha doctor"
    return "\n".join(lines) + ("" if dry_run else then)


def _in_fixture(file: "ScaffoldFile", name: str) -> bool:
    from scylla_gha.onboarding.task_from_history import folders_of

    return file.path.startswith(tuple(each for each in folders_of(name) if each.startswith("fixtures/")))


def _warn_of_ignored(checkout: "RepositoryCheckout", files: tuple["ScaffoldFile", ...]) -> None:
    from scylla_gha.onboarding.user_repository import ignored

    lost = ignored(checkout, [file.path for file in files])
    if lost:
        click.echo(f"warning: a .gitignore keeps {len(lost)} of these files out of a commit; add them by: "
                   f"git add --force {' '.join(lost[:5])}{' ...' if len(lost) > 5 else ''}", err=True)  # noqa: PLR2004  # fmt: skip
