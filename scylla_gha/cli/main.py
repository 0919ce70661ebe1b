"""The command line `scylla-gha`: a command's module is imported only when the command or its help is called."""

import difflib
import gc
import importlib
import os
import sys
from types import ModuleType
from typing import Final, NoReturn

import click

from scylla_gha import __version__
from scylla_gha.errors import IncompleteError, ScyllaError

# heading -> command -> one line of help
_GROUPS: Final[dict[str, dict[str, str]]] = {
    "Everyday": {
        "evaluate": "Run a whole experiment on this machine, from plan to report.",
        "show": "Show why a trial passed or failed.",
        "view": "Open the page of a run in a browser, or serve all runs with live progress.",
        "report": "Print the report of a run, and write report.md and report.html.",
        "compare": "Compare two sets of results, scenario by scenario.",
        "validate": "Check configuration and scenarios.",
        "readiness": "Measure how well an agent can work in your code, by tasks made from it.",
        "init": "Set up evaluations in a repository: workflow, experiment, scenario.",
        "scenario": "Make a scenario from an issue, a range of commits, a pull request or a session.",
        "doctor": "List what is still to be set up, on this machine and on GitHub.",
    },
    "Analysis": {
        "power": "Compute the smallest effect that an experiment can detect, and its cost.",
        "history": "Follow arms over several runs, and find changes and drift.",
        "aa-test": "Compare each arm with itself to estimate the false-positive rate.",
        "tiers": "List, show, compare and measure the sub-tests of the tiers.",
        "hub": "Serve the GitHub of a fixture on this machine, for gh, git and MCP servers.",
        "fixture": "Seed, reset and check repositories on github.com that have a fixture's state.",
        "judge": "Judge the trials of a run, or judge them again with other judges.",
        "shell": "Open the sandbox of a cell as its agent had it.",
        "results": "List, show and fetch the runs on the results branch.",
        "site": "Write the pages of all runs on the results branch.",
        "import": "Import rows of another tool: CSV, JSON lines, Parquet, Harbor, Inspect.",
        "export": "Export rows to other tools: CSV, Parquet, JUnit, Inspect, ATIF, ProfileRow.",
        "reverts": "Compute how often merged pull requests of a repository were reverted.",
    },
    "Building blocks for Actions": {
        "plan": "Expand an experiment into cells, with keys and an estimate of the cost.",
        "prepare": "Make the workspace of a scenario.",
        "run": "Run the agents on the cells of an experiment, without judging.",
        "cell": "Run and judge the cells of one shard of a stored plan.",
        "collect": "Write results.jsonl from the records or artifacts of a run.",
        "aggregate": "Write report.json from results.jsonl.",
        "publish": "Publish a report: results branch, pull request comment, check run.",
        "next-wave": "Start the next wave of a campaign.",
        "regression-alert": "Open, update or close the issue of a regression.",
        "slash": "Start the evaluation that a pull request comment asks for.",
        "agent-baseline": "Record the tools and prompts that an agent CLI has by default.",
        "agent-updates": "Compare the newest version of each agent CLI with the stored facts.",
        "image": "Build, list and remove the images of the Docker sandbox.",
        "schemas": "Write the JSON Schemas of the YAML files.",
    },
}
_COMMANDS: Final = [name for commands in _GROUPS.values() for name in commands]
_MODULES: Final[dict[str, str]] = {
    command: module
    for module, commands in {
        "agent_updates": "agent-updates",
        "cells": "show shell view",
        "compare": "compare history aa-test import export",
        "evaluate": "evaluate run judge",
        "fixture": "fixture hub",
        "github": "slash reverts",
        "image": "image agent-baseline",
        "plan": "plan power next-wave",
        "publish": "publish regression-alert",
        "readiness": "readiness",
        "results": "results site",
        "scenario": "scenario validate schemas",
        "setup": "init doctor",
        "steps": "prepare cell collect aggregate report",
        "tiers": "tiers",
    }.items()
    for command in commands.split()
}


def _imported(name: str) -> ModuleType:
    """Import a module without searches for garbage, which is never found and takes a tenth of the time."""
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


_STORING: Final = frozenset({"evaluate", "run", "judge", "cell", "init", "validate", "readiness"})
_RESUMES: Final = "finished work is stored, and the same command resumes it"


class _LazyGroup(click.Group):
    """A group that imports a command's module when the command or its help is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = _imported(f"scylla_gha.cli.{_MODULES[cmd_name]}")
        function = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        command: click.Command = getattr(module, function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for heading, commands in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(list(commands.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            similar = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            if not similar:
                raise
            message = f"No such command {args[0]!r}; did you mean {similar[0]!r}?"
            raise click.UsageError(message, ctx) from None


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="scylla-gha")
@click.pass_context
def cli(context: click.Context) -> None:
    """Evaluate coding agents.

    \b
    scylla-gha evaluate                 Run eight scenarios with two built-in agents; needs no key.
    scylla-gha evaluate hello-claude    Run Claude Code on one small task; needs its model's key.
    """  # noqa: D301 click's mark for lines to keep
    from scylla_gha.providers import hide_credentials

    context.with_resource(hide_credentials())  # before a command can start a process


def main() -> NoReturn:
    """Run the command line and exit with the code of its result (see scylla_gha.errors)."""
    _keep_docstrings()
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as finished:
        sys.exit(finished.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ScyllaError as error:
        _print_error(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"scylla-gha: interrupted{f'; {_RESUMES}' if _stores_work() else ''}", err=True)
        sys.exit(130)
    except OSError as error:
        resumes = f"; {_RESUMES}" if _stores_work() else ""
        _print_error(f"{error}; correct this, and run the same command again{resumes}")
        sys.exit(IncompleteError.exit_code)
    except Exception as error:  # noqa: BLE001 the one place where a defect becomes a message
        import traceback

        click.echo(_escaped("".join(traceback.format_exception(error))), err=True, nl=False)
        _print_error(f"this is a defect of scylla-gha {__version__}; please report it with the lines above")
        sys.exit(1)
    sys.exit(0)


def _stores_work() -> bool:
    """Return True if the command keeps what it has finished when it ends early."""
    return sys.argv[1:2] != [] and sys.argv[1] in _STORING


def _keep_docstrings() -> None:
    """Start anew if Python left docstrings out (`-OO`): help texts are docstrings, and Altair is built from its own."""
    if sys.flags.optimize > 1:
        arguments = [sys.executable, "-m", "scylla_gha", *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, "PYTHONOPTIMIZE": "1"})  # noqa: S606 it is this program


def _print_error(message: str) -> None:
    colours = False if os.environ.get("NO_COLOR") else None  # None: click colours a terminal only
    text = _escaped(f"scylla-gha: {message}")
    if _is_in_actions() and "--github" in sys.argv[1:]:
        from scylla_gha.github_api.actions import annotation

        text = annotation("error", message, "scylla-gha")
    click.secho(text, err=True, fg="red", color=colours)


def _is_in_actions() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _escaped(text: str) -> str:
    """Escape the runner's commands, which untrusted text that a message quotes could contain."""
    if not _is_in_actions():
        return text
    from scylla_gha.github_api.actions import escape_command

    return escape_command(text)
