"""The command line `scylla-gha`: a command's module is imported only when the command or its help is called."""

import difflib
import gc
import importlib
import itertools
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple, NoReturn

import click

from scylla_gha import __version__
from scylla_gha.errors import IncompleteError, ScyllaError

_STORING: Final = frozenset({"evaluate", "run", "judge", "cell", "init", "validate", "readiness"})
_RESUMES: Final = "finished work is stored; run the same command to resume"


class _CommandRow(NamedTuple):
    """Row of commands.tsv, in the order of the help."""

    group: str
    name: str
    module: str
    help: str


_LINES: Final = Path(__file__).with_name("commands.tsv").read_text(encoding="utf-8").splitlines()[1:]
_COMMANDS: Final = {row.name: row for row in (_CommandRow(*line.split("\t")) for line in _LINES)}


def _imported(name: str) -> ModuleType:
    """Import a module without garbage collection, which would free nothing and take a tenth of the time."""
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


class _LazyGroup(click.Group):
    """A group that imports a command's module when the command or its help is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = _imported(f"scylla_gha.cli.{_COMMANDS[cmd_name].module}")
        function = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        command: click.Command = getattr(module, function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for group, rows in itertools.groupby(_COMMANDS.values(), lambda row: row.group):
            with formatter.section(group):
                formatter.write_dl([(row.name, row.help) for row in rows])

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
    """Return True if the command stores its finished work when it ends early."""
    return sys.argv[1:2] != [] and sys.argv[1] in _STORING


def _keep_docstrings() -> None:
    """Restart without `-OO`, which removes docstrings: help texts are docstrings, and Altair needs its own."""
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
    """Escape commands of the Actions runner: a message may quote untrusted text that contains some."""
    if not _is_in_actions():
        return text
    from scylla_gha.github_api.actions import escape_command

    return escape_command(text)
