"""Commands that set up or check a repository and a machine: `init` and `doctor`."""

import contextlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scylla_gha import __version__
from scylla_gha.cli import options
from scylla_gha.errors import ConfigError, GitHubError, RefusedError, SetupError
from scylla_gha.model import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scylla_gha.mining.repository import RepositoryCheckout
    from scylla_gha.onboarding.doctor import Finding
    from scylla_gha.onboarding.init import InitSettings
    from scylla_gha.onboarding.scaffold import FileState, ScaffoldFile
    from scylla_gha.onboarding.toolkit import Toolkit

_COLOURS: Final = {"ok": "green", "optional": "cyan", "problem": "red", "unknown": "yellow"}
_LISTED: Final = 5


def _toolkit(_: click.Context, __: click.Parameter, value: str | None) -> "Toolkit | None":
    from scylla_gha.onboarding.toolkit import toolkit_named

    toolkit = toolkit_named(value) if value else None
    if value and toolkit is None:
        raise click.BadParameter(f"{value!r} is not of the form OWNER/REPO@REF")
    return toolkit


def _name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and (value != slug(value) or not value):
        raise click.BadParameter(f"{value!r} is not a valid name; use small letters, digits and dashes")
    return value


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path())
@click.option(
    "--name",
    callback=_name,
    show_default="the directory's",
    help="Name of the experiment and of the suite of its scenarios.",
)
@click.option(
    "--toolkit",
    callback=_toolkit,
    metavar="OWNER/REPO@REF",
    envvar="SCYLLA_TOOLKIT",
    show_envvar=True,
    show_default="the repository and commit of this installation; asked for if unknown",
    help="Repository of the called reusable workflow; a full SHA as REF is safest.",
)
@click.option(
    "--tasks",
    type=click.IntRange(1, 99),
    default=1,
    show_default=True,
    help="Number of scenarios, each from another commit; a verdict needs at least six.",
)
@click.option(
    "--tests",
    multiple=True,
    metavar="GLOB",
    help="Test files to use instead of those of the project's test runner; may be repeated.",
)
@click.option(
    "--setup",
    "setup_command",
    metavar="CMD",
    help="Command that installs the requirements of the tests, instead of those in the project's files; it is "
    "stored in the scenarios, and runs in a copy of each start state.",
)
@click.option(
    "--skills", is_flag=True, help="Write only the workflows that check and measure the Agent Skills of the repository."
)
@click.option("--example", is_flag=True, help="Write a small example, without reading commits or running tests.")
@click.option("--dry-run", is_flag=True, help="List the files, and write none.")
@click.option("--yes", is_flag=True, help="Do not ask before files are overwritten.")
@options.as_json
def init(
    directory: Path,
    name: str | None,
    toolkit: "Toolkit | None",
    tasks: int,
    tests: tuple[str, ...],
    setup_command: str | None,
    *,
    skills: bool,
    example: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Set up evaluations in a repository: a workflow that calls the toolkit's, an experiment, and a scenario.

    A scenario is made from a commit that changed code and tests: its parent is the start, its tests are the hidden
    check, and the rest of it is the reference solution. The requirements of the project and its tests are installed,
    and the task is proved by running these tests in a sandbox without a network, or as you if there is no sandbox: use
    the command on repositories that you trust. Accepted tasks are kept at once; the same command resumes the search.
    Without such a commit, the scenario is a small example. Existing scenarios are kept.

    \b
    scylla-gha init
    scylla-gha init --skills
    scylla-gha init --tasks 6
    scylla-gha init --setup "uv sync --group test" --tests "checks/**/*.py"
    scylla-gha init ../app --toolkit octo-org/scylla-gha@v1
    """  # noqa: D301
    from scylla_gha.mining.repository import checkout_of
    from scylla_gha.onboarding import init as steps

    checkout = checkout_of(directory)
    chosen = toolkit or steps.toolkit_for(checkout.root, _ask_toolkit)
    if skills:
        _init_skills(checkout.root, chosen, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    suite = name or steps.default_name(checkout.root)
    settings = steps.InitSettings(suite, chosen, 0 if example else tasks, tests, setup_command)
    _init_suite(checkout, settings, dry_run=dry_run, yes=yes, as_json=as_json)


def _init_suite(
    checkout: "RepositoryCheckout", settings: "InitSettings", *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Write a suite and its workflows."""
    from scylla_gha.mining.repository import ignored
    from scylla_gha.onboarding import init as steps
    from scylla_gha.onboarding.scaffold import ScaffoldFile, file_states, write_files

    written: list[ScaffoldFile] = []

    def write_new(files: list[ScaffoldFile]) -> None:
        new = [] if dry_run else file_states(checkout.root, files)["new"]
        write_files(checkout.root, new)
        written.extend(new)

    workflows = file_states(checkout.root, steps.suite_workflows(settings, checkout.root))["overwritten"]
    if not dry_run:  # ask before the search, which takes minutes
        _confirm_overwriting([file.path for file in workflows], yes=yes)
    files = steps.init_files(checkout, settings, options.report, write_new)
    states = file_states(checkout.root, files)
    rest = [*states["new"], *states["overwritten"]]
    _count_as_new(written, states)
    if not dry_run:
        changed = [file.path for file in states["overwritten"] if file not in workflows]
        _confirm_overwriting(changed, yes=yes, written=bool(written))
        write_files(checkout.root, rest)
    text = steps.states_text(states, steps.AFTER_SUITE.format(settings.name), dry_run=dry_run)
    click.echo(steps.states_json(states, settings.name) if as_json else text)
    _warn_of_ignored(ignored(checkout, [file.path for file in states["new"]]) if states["new"] else [])


def _init_skills(root: Path, toolkit: "Toolkit", *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Write the workflows for the Agent Skills of a repository.

    Raises:
        ConfigError: it has none.
    """
    from scylla_gha.onboarding import init as steps
    from scylla_gha.onboarding.scaffold import file_states, write_files
    from scylla_gha.skills.find import find_skills

    folders = [skill.shown(skill.folder) for skill in find_skills(root.resolve())[0]]
    if not folders:
        raise ConfigError(f"{root}: no SKILL.md in it or below it; write a skill first (docs/skills.md)")
    states = file_states(root, steps.skills_workflows(toolkit, folders))
    if not dry_run:
        _confirm_overwriting([file.path for file in states["overwritten"]], yes=yes)
        write_files(root, [*states["new"], *states["overwritten"]])
    text = steps.states_text(states, steps.AFTER_SKILLS, dry_run=dry_run)
    click.echo(steps.states_json(states, "skills") if as_json else text)


def _count_as_new(written: "list[ScaffoldFile]", states: "dict[FileState, list[ScaffoldFile]]") -> None:
    """Move files that were written during the search from the unchanged ones to the new ones."""
    paths = {file.path for file in written}
    states["new"] = [*written, *states["new"]]
    states["unchanged"] = [file for file in states["unchanged"] if file.path not in paths]


def _warn_of_ignored(paths: list[str]) -> None:
    if paths:
        more = " ..." if len(paths) > _LISTED else ""
        click.echo(
            f"warning: a .gitignore keeps {len(paths)} of these files out of a commit; add them by: "
            f"git add --force {' '.join(paths[:_LISTED])}{more}",
            err=True,
        )


def _ask_toolkit(proposal: str | None) -> "Toolkit | None":
    """Ask on the terminal which toolkit the workflows should call; None without a terminal."""
    from scylla_gha.onboarding.toolkit import toolkit_named

    if not sys.stdin.isatty():
        return None
    tag = f"v{__version__}"

    def parse(answer: str) -> "Toolkit":
        toolkit = toolkit_named(answer if "@" in answer else f"{answer}@{tag}")
        if toolkit is None:
            raise click.BadParameter(f"{answer!r} is not of the form OWNER/REPO or OWNER/REPO@REF")
        return toolkit

    question = (
        "The workflows call a repository on GitHub that has scylla-gha. This installation does not name one.\n"
        f"Which one should they call, as OWNER/REPO (its tag {tag}) or OWNER/REPO@REF?"
    )
    chosen: Toolkit = click.prompt(question, default=proposal, value_proc=parse, err=True)
    return chosen


def _confirm_overwriting(paths: list[str], *, yes: bool, written: bool = False) -> None:
    """Ask for consent to overwrite; `written` is True if files of accepted tasks are written already.

    Raises:
        RefusedError: the user declines, or cannot be asked.
    """
    from scylla_gha.evaluate.model_access import confirm

    if not paths or yes:
        return
    names = ", ".join(paths)
    state = "The tasks that were found are written" if written else "Nothing was written"
    if not sys.stdin.isatty():
        raise RefusedError(
            f"{names}: exist, and without a terminal nobody can confirm overwriting. {state}; give --yes to "
            "overwrite, or --dry-run to list what is new"
        )
    if not confirm(f"{names}: overwrite?"):
        raise RefusedError(f"{names}: not overwritten. {state}")


@click.command()
@click.option(
    "--repository",
    callback=options.owner_and_name,
    metavar="OWNER/REPO",
    show_default="GITHUB_REPOSITORY, or origin's",
    help="Repository on GitHub to check.",
)
@click.option(
    "--environment",
    default="scylla-eval",
    show_default=True,
    help="Environment of the repository with the secrets.",
)
@click.option("--branch", default="scylla-results", show_default=True, help="Results branch of the repository.")
@options.as_json
def doctor(repository: str | None, environment: str, branch: str, *, as_json: bool) -> None:
    """Check the setup of this machine, of this folder's workflows, and of the repository on GitHub.

    Reads GitHub with GITHUB_TOKEN or GH_TOKEN, at GITHUB_API_URL if it is set; it changes nothing, and reads only the
    names of secrets. This machine is checked first. `optional` items are needed for some uses only. `unknown` items
    could not be checked: the token has no access to them, or GitHub cannot be reached. Exits with 12 if there is a
    problem, and otherwise with 11 if nothing on GitHub could be checked.

    \b
    GH_TOKEN=$(gh auth token) scylla-gha doctor
    scylla-gha doctor --repository octo-org/app --json
    """  # noqa: D301
    from scylla_gha.onboarding.doctor import repository_of

    name = repository or repository_of(Path.cwd(), os.environ)
    show = (lambda _: None) if as_json else click.echo
    here = _print_findings("this machine, and the workflows here", _here(), show)
    on_github, failure = _on_github(name, environment, branch) if name else ([], None)
    if name is None:
        show("\nno repository on GitHub is known; name one by --repository OWNER/REPO")
    else:
        _print_findings(f"\n{name} on GitHub", on_github, show)
    if as_json:
        parts = {"here": list(map(asdict, here)), "github": list(map(asdict, on_github))}
        click.echo(json.dumps({"repository": name, **parts}))
    problems = [finding.id for finding in (*here, *on_github) if finding.state == "problem"]
    if problems:
        raise SetupError(f"still to correct: {', '.join(problems)}; each item above says how")
    if failure:
        raise failure


def _here() -> "Iterator[Finding]":
    """Yield the findings that need no network beyond this machine and the address of the user's own model server."""
    from scylla_gha.onboarding.doctor import (
        caller_findings,
        machine_findings,
        mode_findings,
        model_server_findings,
        providers_in_use,
        readiness_findings,
        repositories_findings,
        unpassed_key_findings,
    )
    from scylla_gha.providers import provider_environment

    library, environ = options.library(), provider_environment()
    yield from machine_findings()
    yield from model_server_findings(library, environ)
    yield from mode_findings(library)
    yield from repositories_findings(library, environ)
    yield from readiness_findings(environ)
    yield from caller_findings(Path.cwd())
    yield from unpassed_key_findings(Path.cwd(), providers_in_use(library))
    yield from _skills(Path.cwd())


def _skills(root: Path) -> "Iterator[Finding]":
    """Yield one finding about the Agent Skills in a folder; none if it has none."""
    from scylla_gha.agents import AGENTS
    from scylla_gha.onboarding.doctor import Finding
    from scylla_gha.skills.report import check_skills, setup_finding

    with contextlib.suppress(ConfigError):
        is_well, what, mend = setup_finding(check_skills(root, AGENTS["claude-code"].skill_listing, lambda *_: None))
        yield Finding("skills", "ok" if is_well else "optional", what, mend)


def _on_github(name: str, environment: str, branch: str) -> "tuple[list[Finding], GitHubError | None]":
    """Return the findings on GitHub; if GitHub cannot be read, return one `unknown` finding and the error."""
    from scylla_gha.github_api.access import access_from
    from scylla_gha.github_api.client import RetryPolicy
    from scylla_gha.github_api.setup import read_setup
    from scylla_gha.onboarding.doctor import providers_in_use, refused_pins
    from scylla_gha.onboarding.doctor_github import findings, requires_pins, unread_finding

    retries = RetryPolicy(options.report)
    try:
        setup = read_setup(access_from(os.environ), name, retries, environment, branch)
    except GitHubError as error:
        return [unread_finding(error)], error
    refused = refused_pins(Path.cwd()) if requires_pins(setup) else ()
    return [*findings(setup, environment, branch, providers_in_use(options.library())), *refused], None


def _print_findings(title: str, findings: "Iterable[Finding]", show: "Callable[[str], None]") -> "list[Finding]":
    """Print each finding as soon as it is made; return all findings."""
    show(title)
    shown = []
    for finding in findings:
        state = click.style(f"{finding.state:<9}", fg=_COLOURS[finding.state])
        show(f"  {state} {finding.id}: {finding.what}")
        if finding.mend:
            show(f"            -> {finding.mend}")
        shown.append(finding)
    return shown
