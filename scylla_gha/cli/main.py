"""`scylla-gha`: finds the command's module when it is called, so that help and errors come at once."""

import importlib
import os
import sys
from typing import Final, NoReturn

import click

from scylla_gha import __version__
from scylla_gha.errors import IncompleteError, ScyllaError

# name -> (module, what it does); the order of the journey is the order of the help
_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "evaluate": ("evaluate", "The whole journey on this machine: plan, prepare, run, judge, report."),
    "plan": ("plan", "Unfold an experiment into cells, with keys and an estimate."),
    "prepare": ("prepare", "Make the workspace of a cell, to look at it."),
    "run": ("run", "Let the agents work on a plan's cells, without judging."),
    "judge": ("judge", "Judge a run's trials, or judge them otherwise; control the judges."),
    "cell": ("cell", "One job of a workflow run: the cells of a shard of a stored plan."),
    "collect": ("collect", "Turn a run's records into rows, results.jsonl."),
    "aggregate": ("aggregate", "Turn the rows into the report's data, report.json."),
    "report": ("report", "Render the report: a table here, and report.md."),
    "publish": ("publish", "Put what was found where others look: results branch, comment, check."),
    "results": ("results", "Runs on the results branch: list and show them, fetch their rows."),
    "aa": ("aa", "Hold each arm against itself: does the verdict stay silent?"),
    "power": ("power", "What an experiment can see, by scenarios, repetitions and USD."),
    "history": ("history", "Follow arms over several runs: against a pinned one, changes, drift."),
    "show": ("show", "Show why a cell's trial passed or failed."),
    "shell": ("shell", "Open the box of a cell as its agent had it."),
    "compare": ("compare", "Two sets of results against each other: B against A, scenario by scenario."),
    "import": ("importing", "Take in another tool's rows: CSV, JSON lines, Parquet, Harbor jobs, Inspect logs."),
    "export": ("export", "Give rows to other tools: CSV, Parquet, JUnit, Inspect, ATIF, ProfileRow."),
    "init": ("init", "Set up evaluations in a repository: workflow, experiment, scenario."),
    "doctor": ("doctor", "What is still to be set up, here and on GitHub, and how."),
    "validate": ("validate", "Check configuration and scenarios; --execute proves each scenario."),
    "inventory": ("inventory", "Measure what an agent CLI brings by itself, for the proof of delivery."),
    "image": ("image", "Build, list and remove the images of the Docker sandbox."),
    "slash": ("slash", "Take an order from a comment: /scylla evaluate EXPERIMENT."),
    "next": ("next", "Start the next wave of a campaign."),
    "alert": ("alert", "Open, update or close the issue of a regression."),
    "reverts": ("reverts", "How often a repository's merged pull requests were reverted."),
    "schemas": ("schemas", "Write the JSON Schemas of the YAML files."),
}


class _Lazy(click.Group):
    """A group that imports a command's module only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"scylla_gha.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            if not near:
                raise
            message = f"No such command {args[0]!r}; did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from None


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="scylla-gha")
@click.pass_context
def cli(context: click.Context) -> None:
    """Evaluate coding agents honestly.

    \b
    scylla-gha evaluate                 eight scenarios, proved by a right and by no answer; no key needed
    scylla-gha evaluate hello-claude    Claude Code on a trivial task; needs ANTHROPIC_API_KEY
    """  # noqa: D301 click's mark for lines to keep
    from scylla_gha.cli.credentials import withheld

    context.with_resource(withheld())  # before a command can start a process


def main() -> NoReturn:
    """Run the command line and exit with the code of what happened (see scylla_gha.errors)."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ScyllaError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("scylla-gha: interrupted; what was done is kept, and the same command goes on from there", err=True)
        sys.exit(130)
    except OSError as error:
        _complain(f"{error}; what was done is kept, and the same command goes on when that is mended")
        sys.exit(IncompleteError.exit_code)
    except Exception as error:  # noqa: BLE001 the one place where a defect becomes a message
        _report_defect(error)
        sys.exit(1)
    sys.exit(0)


def _report_defect(error: Exception) -> None:
    import traceback

    click.echo(_printed("".join(traceback.format_exception(error))), err=True, nl=False)
    _complain(f"this is a defect of scylla-gha {__version__}; please report it with the lines above")


def _complain(message: str) -> None:
    colours = False if os.environ.get("NO_COLOR") else None  # None: where there is a terminal
    said = _annotated(message) if _in_actions() and "--github" in sys.argv[1:] else _printed(f"scylla-gha: {message}")
    click.secho(said, err=True, fg="red", color=colours)


def _in_actions() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _printed(text: str) -> str:
    """It may quote strangers, in whose words the runner must find no command."""
    if not _in_actions():
        return text
    from scylla_gha.gha.commands import harmless

    return harmless(text)


def _annotated(message: str) -> str:
    """Shown on the run's page."""
    from scylla_gha.gha.commands import annotation

    return annotation("error", message, "scylla-gha")
