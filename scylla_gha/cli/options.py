"""Options that several commands share, and the values that they stand for."""

import functools
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scylla_gha.config.library import Library, project_root
from scylla_gha.plan.selection import CellSelection
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.run_folder import RunFolder

if TYPE_CHECKING:
    from scylla_gha.evaluate.model_access import RecordingOptions

_Command = Callable[..., None]
_Decorator = Callable[[_Command], _Command]
_RUNS: Final = Path("runs")


class CommandGroup(click.Group):
    """A group whose help shows the whole first sentence of each command, which click cuts."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line, or several, for each command."""
        longest = formatter.width * 4
        commands = [(name, self.commands[name].get_short_help_str(longest)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(commands)


def library() -> Library:
    """Return the library of the current folder's project, with the toolkit's own behind it."""
    return Library.here(project_root(Path.cwd()))


def _runs(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
    if value is not None:
        return value
    root = project_root(Path.cwd())
    return _RUNS if root == Path.cwd() else root / _RUNS


def _head(context: click.Context, _: click.Parameter, value: str | None) -> Path | None:
    """Return the folder of a change: the value itself, or a checkout of the revision until the command ends."""
    if value is None:
        return None
    if Path(value).is_dir():
        if not any((Path(value) / name).exists() for name in (".git", "config")):
            raise click.BadParameter(
                f"the folder {value!r} is not a checkout of a repository; name a branch, or a checkout"
            )
        return Path(value)
    from scylla_gha.mining.repository import check_out, checkout_of, resolved

    root = project_root(Path.cwd())
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    checkout = checkout_of(top) if top else None
    commit = resolved(checkout, value) if checkout else None
    if checkout is None or top is None or commit is None:
        raise click.BadParameter(f"{value!r} is neither a folder nor a branch, tag or hash of the repository {root}")
    folder = Path(context.with_resource(tempfile.TemporaryDirectory(prefix="scylla-head-")))
    check_out(checkout, commit, folder)
    return folder / root.relative_to(top)


def _finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite amount of USD")
    return value


def owner_and_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Check that the value of an option or argument is the name of a repository on GitHub."""
    from scylla_gha.github_api.access import REPOSITORY

    if value is not None and not REPOSITORY.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not of the form OWNER/REPO")
    return value


experiment = click.argument("experiment", default="quickstart")
runs = click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    callback=_runs,
    show_default="runs, beside config/",
    help="Folder with one folder per run.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")
record = click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder in which all model traffic is recorded (default: no recording).",
)
replay = click.option(
    "--replay", is_flag=True, help="Answer model requests from the experiment's recording, without key or costs."
)
keep = click.option(
    "--keep-workspaces",
    "keep",
    type=click.Choice(["none", "failed", "all"]),
    default="none",
    show_default=True,
    help="Trials whose workspace is kept beside their records.",
)
results_branch = click.option(
    "--results-branch", default="", metavar="NAME", help="Results branch that the text links to (default: no link)."
)
author = click.option(
    "--author",
    metavar="LOGIN",
    envvar="SCYLLA_COMMENT_AUTHOR",
    show_envvar=True,
    help="GitHub login of the token (default: GitHub is asked).",
)
head = click.option(
    "--head",
    callback=_head,
    metavar="BRANCH|FOLDER",
    help="Branch, tag or hash of a change, or a checkout of it: compare the variants and files for "
    "agents that the change alters with those here.",
)
fresh = click.option(
    "--fresh", is_flag=True, help="Run stored trials again, after asking; they are kept in the run's folder old/."
)
globs = click.option(
    "--only", multiple=True, metavar="GLOB", help="Only cells whose id matches, such as '001-*--r01'; may be repeated."
)


shard = click.option(
    "--shard", "number", type=click.IntRange(0), required=True, help="Number of the shard in shards.json."
)
workflow = click.option(
    "--workflow", default="dispatch.yml", show_default=True, help="File name of the workflow to start."
)
agents_at_once = click.option(
    "--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, help="Agents at once (default: cores)."
)
report = functools.partial(click.echo, err=True)  # prints a line of progress on standard error


def event(purpose: str, *, required: bool = False) -> _Decorator:
    """Make the option that names the file in which the runner describes an event."""
    return click.option(
        "--event",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="GITHUB_EVENT_PATH",
        show_envvar=True,
        required=required,
        help=purpose,
    )


def jobs(what: str) -> _Decorator:
    """Make the option for the maximum number of simultaneous tasks."""
    return click.option(
        "--jobs",
        type=click.IntRange(1, 256),
        default=os.cpu_count() or 1,
        show_default="number of cores",
        help=f"Maximum number of {what} at once.",
    )


def yes(what: str) -> _Decorator:
    """Make the option that confirms in advance."""
    return click.option("--yes", is_flag=True, help=f"Do not ask before {what}.")


def exposed(who: str) -> _Decorator:
    """Make the option that allows untrusted code where a key could be read."""
    return click.option(
        "--allow-exposed-keys", is_flag=True, help=f"Let {who} even if they can read the provider's key."
    )


_SELECTION: Final = (
    click.option(
        "--scenario",
        "scenarios",
        multiple=True,
        metavar="GLOB",
        help="Scenarios to use instead of the experiment's; may be repeated.",
    ),
    click.option(
        "--agent",
        "agents",
        multiple=True,
        metavar="NAME[@VERSION]",
        help="Agents to use instead of the experiment's; may be repeated.",
    ),
    click.option(
        "--variant",
        "variants",
        multiple=True,
        metavar="GLOB",
        help="Variants (tier/sub-test) to use instead of the experiment's; may be repeated.",
    ),
    click.option(
        "--mode",
        "modes",
        multiple=True,
        metavar="ID",
        help="Modes (toolsets for GitHub) to use instead of the experiment's; may be repeated.",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="ID",
        help="Models to use instead of the experiment's; may be repeated.",
    ),
    click.option(
        "--repetitions",
        type=click.IntRange(1, 9999),
        show_default="the experiment's",
        help="Number of repetitions of each scenario by each arm.",
    ),
    click.option(
        "--budget-usd",
        type=click.FloatRange(0, min_open=True),
        callback=_finite,
        show_default="the experiment's",
        help="Budget of the whole experiment in USD.",
    ),
    globs,
    head,
    click.option("--epoch", default="", help="Name, such as a date, with which all trials are run again."),
)


def selection(command: _Command) -> _Command:
    """Add the options that select cells or override the experiment; the command gets them as `choice`."""
    names = tuple(name for name in CellSelection.__dataclass_fields__ if name != "best")  # stored rows decide `best`

    @functools.wraps(command)
    def with_choice(**values: object) -> None:
        command(choice=CellSelection(**{name: values.pop(name) for name in names}), **values)  # type: ignore[arg-type]

    for option in reversed(_SELECTION):
        with_choice = option(with_choice)
    return with_choice


def sandbox(default: str, purpose: str) -> _Decorator:
    """Make the option that selects a sandbox for a command without an experiment."""
    kinds = click.Choice(["auto", *SANDBOXES])
    return click.option("--sandbox", type=kinds, default=default, show_default=True, help=purpose)


def recording(experiment: str, record: Path | None, *, replay: bool) -> "RecordingOptions":
    """Return the recording to write, or the recording for a replay: `config/recordings/<experiment>` of the library.

    Raises:
        ConfigError: the experiment has no recording.
    """
    from scylla_gha.evaluate.model_access import RecordingOptions

    source = library().recording(Path(experiment).stem) if replay else None
    return RecordingOptions(record.resolve() if record else None, source)


def run_folder(base: Path, name: str, *, replay: bool = False) -> RunFolder:
    """Return the run folder of an experiment's id or file; a replay has its own folder."""
    return RunFolder(base.resolve() / f"{Path(name).stem}{'-replay' if replay else ''}")
