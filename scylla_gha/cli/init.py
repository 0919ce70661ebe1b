"""`scylla-gha init`."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError, RefusedError

if TYPE_CHECKING:
    from scylla_gha.adoption.caller import Toolkit
    from scylla_gha.adoption.repository import Checkout
    from scylla_gha.adoption.task import File, Task
    from scylla_gha.adoption.trying import Tried
    from scylla_gha.adoption.writing import Changes


def _toolkit(_: click.Context, __: click.Parameter, value: str | None) -> "Toolkit | None":
    from scylla_gha.adoption.caller import toolkit_named

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
@click.option("--example", is_flag=True, help="Write the small example; look at no commit, and run no test of them.")
@click.option("--dry-run", is_flag=True, help="List the files, and write none.")
@click.option("--yes", is_flag=True, help="Overwrite without being asked.")
@options.as_json
def command(
    directory: Path,
    name: str | None,
    toolkit: "Toolkit | None",
    *,
    example: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Set up evaluations in a repository: a workflow that calls the toolkit's, an experiment, and a scenario.

    The scenario is made from a commit that changed code and tests, where there is one: its parent is the start, its
    tests are the hidden check, the rest of it is the reference solution. That is proved by running these tests here, so
    use it on repositories that you trust. Otherwise it is a small example. A scenario that is there is kept.

    \b
    scylla-gha init
    scylla-gha init ../app --toolkit octo-org/scylla-gha@v1
    """  # noqa: D301
    from scylla_gha.adoption.repository import checkout_of
    from scylla_gha.adoption.writing import compare, write

    checkout = checkout_of(directory)
    called = name or _named_after(checkout.root)
    files = _files(checkout, called, toolkit or _toolkit_for(checkout.root), look=not example)
    changes = compare(checkout.root, files)
    if not dry_run:
        _ask(changes, yes=yes)
        write(checkout.root, [file for file in files if file not in changes.same])
    click.echo(_json(changes, called) if as_json else _text(changes, called, dry_run=dry_run))
    if changes.new:
        _warn_of_ignored(checkout, changes.new)


def _toolkit_for(root: Path) -> "Toolkit":
    """The toolkit that the repository calls already, or else the one that runs now.

    Raises:
        ConfigError: nothing names a repository on GitHub.
    """
    from scylla_gha.adoption.caller import toolkit_here
    from scylla_gha.adoption.running import running_toolkit

    toolkit = toolkit_here(root) or running_toolkit()
    if toolkit is None:
        raise ConfigError("init: this installation does not name its repository on GitHub, which the workflow has to "
                          "call; give --toolkit OWNER/REPO@SHA, such as your fork at a pushed commit")  # fmt: skip
    return toolkit


def _named_after(root: Path) -> str:
    from scylla_gha.model.record import slug

    return slug(root.name.replace("_", "-"))[:60].strip("-.") or "mine"


def _files(checkout: "Checkout", name: str, toolkit: "Toolkit", *, look: bool) -> list["File"]:
    """All files of the scaffold; those of a scenario that is there are not made again."""
    from scylla_gha.adoption.caller import workflow_files
    from scylla_gha.adoption.scaffold import beside_files, experiment_file, ignored_runs, scenario_files, scenario_here

    there = scenario_here(checkout.root, name)
    made: list[File] = []
    if there is None:
        task = _find(checkout, name, toolkit, look=look)
        there = task.id
        made = [*beside_files(task, checkout.root), *scenario_files(task, name, toolkit.schemas)]
        _refuse_strays(checkout.root, name, made)
    else:
        click.echo(f"scenarios/{name}/{there}: is there, and is kept", err=True)
    return [*made, experiment_file(name, there, toolkit.schemas), ignored_runs(), *workflow_files(name, toolkit)]


def _refuse_strays(root: Path, name: str, files: list["File"]) -> None:
    """Refuse a folder of the fixture's name that holds something else: its files would be part of the start state.

    Raises:
        RefusedError: there is one.
    """
    ours = {file.path for file in files}
    here = (path for path in (root / "fixtures" / name).rglob("*") if path.is_symlink() or not path.is_dir())
    strays = sorted(path for path in (str(each.relative_to(root)) for each in here) if path not in ours)
    if strays:
        raise RefusedError(f"fixtures/{name}/ holds files that are not the scaffold's, such as {strays[0]}; "
                           "remove that folder, or give another --name")  # fmt: skip


def _find(checkout: "Checkout", name: str, toolkit: "Toolkit", *, look: bool) -> "Task":
    from scylla_gha.adoption.scaffold import scenario_files
    from scylla_gha.adoption.trying import Trying, find_task
    from scylla_gha.adoption.writing import write
    from scylla_gha.cli.proof import prove
    from scylla_gha.config.library import Library, toolkit_root
    from scylla_gha.seeding.workspace import scratch

    def proved(task: "Task") -> "Tried":
        with scratch() as root:
            write(root, scenario_files(task, name, toolkit.schemas))
            library = Library((root, toolkit_root()))
            return prove(library.scenario(task.id), library).tried

    return find_task(checkout, name, Trying(proved, lambda text: click.echo(text, err=True)), look=look)


def _ask(changes: "Changes", *, yes: bool) -> None:
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
    if not options.confirmed(f"{names}: overwrite?"):
        raise RefusedError("not confirmed; nothing was written")


def _json(changes: "Changes", name: str) -> str:
    kinds = {"new": changes.new, "overwritten": changes.other, "unchanged": changes.same}
    return json.dumps({"experiment": name, **{kind: [file.path for file in files] for kind, files in kinds.items()}})


def _text(changes: "Changes", name: str, *, dry_run: bool) -> str:
    if not (changes.new or changes.other):
        return "nothing to do: all is there already"
    verb = "would be " if dry_run else ""
    fixture = [file for file in changes.new if file.path.startswith(f"fixtures/{name}/")]
    lines = [f"{verb}new: {file.path}" for file in changes.new if file not in fixture]
    lines += [f"{verb}new: fixtures/{name}/ ({len(fixture)} files)"] if fixture else []
    lines += [f"{verb}overwritten: {file.path}" for file in changes.other]
    then = f"\nNow run: scylla-gha evaluate {name}\nThen commit it, push it, and see: scylla-gha doctor"
    return "\n".join(lines) + ("" if dry_run else then)


def _warn_of_ignored(checkout: "Checkout", files: tuple["File", ...]) -> None:
    from scylla_gha.adoption.repository import ignored

    lost = ignored(checkout, [file.path for file in files])
    if lost:
        click.echo(f"warning: a .gitignore keeps {len(lost)} of these files out of a commit; add them by: "
                   f"git add --force {' '.join(lost[:5])}{' ...' if len(lost) > 5 else ''}", err=True)  # noqa: PLR2004  # fmt: skip
