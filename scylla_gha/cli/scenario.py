"""Commands on scenarios and configuration: `scenario new`, `validate` and `schemas`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.experiment import SandboxWish

if TYPE_CHECKING:
    from scylla_gha.mining.project_tests import ProjectStates
    from scylla_gha.onboarding.scaffold import ScaffoldTask
    from scylla_gha.onboarding.toolkit import Toolkit


@click.group()
def scenario() -> None:
    """Make scenarios one by one.

    \b
    scylla-gha scenario new --from-issue issue.md
    """  # noqa: D301


@scenario.command()
@click.argument("suite", required=False)
@click.option(
    "--from-issue",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Text of an issue: its first line is the title, and the rest is what the agent reads.",
)
@click.option(
    "--from-session",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Session of Claude Code (~/.claude/projects/*/*.jsonl): the task is the user's first message.",
)
@click.option("--from-commits", metavar="A..B", help="Range of commits, taken as one change with its tests.")
@click.option(
    "--from-pull-request",
    type=click.IntRange(1),
    metavar="N",
    help="Commits of a pull request, which git fetched before: `git fetch origin pull/N/head:pr-N`; default: none.",
)
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

    Commits give a complete scenario, with the same proof as in `init`. An issue or a session gives a skeleton: its
    start is the last commit, and you write the check, the solution and two wrong solutions. `validate` refuses it until
    the check is written, and `validate --execute` until its solutions prove it.

    \b
    gh issue view 12 --json title,body --jq '.title, "", .body' >issue.md
    scylla-gha scenario new --from-issue issue.md
    scylla-gha scenario new --from-commits main..fix-rounding
    """  # noqa: D301
    from scylla_gha.mining.project_tests import ProjectStates
    from scylla_gha.mining.repository import checkout_of
    from scylla_gha.onboarding.init import default_name, toolkit_for

    sources = {
        "--from-issue": from_issue,
        "--from-session": from_session,
        "--from-commits": from_commits,
        "--from-pull-request": from_pull_request,
    }
    if sum(source is not None for source in sources.values()) != 1:
        raise click.UsageError(f"give one of {', '.join(sources)}")
    checkout = checkout_of(Path())
    name, states = suite or default_name(checkout.root), ProjectStates(checkout)
    toolkit = toolkit_for(checkout.root, lambda _: None)
    if from_issue or from_session:
        task = _skeleton(states, name, from_issue, from_session)
    else:
        task = _proved_task(states, name, toolkit, from_commits or from_pull_request or 0)
    paths = _write(checkout.root, name, task, toolkit.schemas)
    _report(name, task, paths, as_json=as_json)


def _skeleton(states: "ProjectStates", name: str, issue: Path | None, session: Path | None) -> "ScaffoldTask":
    from scylla_gha.onboarding.init import suite_scenarios
    from scylla_gha.onboarding.new_scenario import first_message, next_number, skeleton

    number = next_number(suite_scenarios(states.checkout.root, name))
    if session is not None:
        text, folder = first_message(session)
        if folder and Path(folder).name != states.checkout.root.name:
            click.echo(
                f"note: the session was in {folder}, and the task starts from the last commit of "
                f"{states.checkout.root}",
                err=True,
            )
        return skeleton(states, text, "a session of Claude Code", name, number)
    text = issue.read_text(encoding="utf-8", errors="replace") if issue else ""
    return skeleton(states, text, "the text of an issue", name, number)


def _proved_task(states: "ProjectStates", name: str, toolkit: "Toolkit", source: str | int) -> "ScaffoldTask":
    """Return the task of a range of commits (a text), or of a pull request (its number)."""
    from scylla_gha.onboarding.init import proving, suite_scenarios
    from scylla_gha.onboarding.new_scenario import next_number, range_of, range_of_pull_request, task_of_range

    checkout = states.checkout
    commits = range_of(checkout, source) if isinstance(source, str) else range_of_pull_request(checkout, source)
    with proving(name, toolkit, options.report) as trial:
        return task_of_range(states, commits, name, next_number(suite_scenarios(checkout.root, name)), trial)


def _report(name: str, task: "ScaffoldTask", paths: list[str], *, as_json: bool) -> None:
    import json

    folder, is_finished = f"scenarios/{name}/{task.id}", bool(task.solution)
    if as_json:
        click.echo(json.dumps({"scenario": folder, "finished": is_finished, "new": paths}))
        return
    click.echo(f"new: {folder}/ and its start state ({counted(len(paths), 'file')})")
    if not is_finished:
        click.echo(
            "Still missing: the check in scenario.yaml (in place of TODO), solution/solution.patch, two of "
            "wrong/*.patch"
        )
    click.echo(f"Now add {task.id} to `scenarios` of config/experiments/{name}.yaml, and run:")
    click.echo(f"  scylla-gha validate {folder} --execute")


def _write(root: Path, name: str, task: "ScaffoldTask", schemas: str) -> list[str]:
    """Write the files of a scenario; return their paths.

    Raises:
        RefusedError: a file exists already.
    """
    from scylla_gha.onboarding.scaffold import beside_files, file_states, scenario_files, write_files

    files = scenario_files(task, name, schemas)
    if existing := file_states(root, files)["overwritten"]:
        raise RefusedError(f"{existing[0].path}: exists already; remove the file, or give another SUITE")
    new = [*file_states(root, beside_files(task, root))["new"], *files]
    write_files(root, new)
    return [file.path for file in new]


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True), default=Path())
@click.option(
    "--execute", is_flag=True, help="Prove each scenario: no-op and wrong solutions fail, correct solutions pass."
)
@options.sandbox(
    "host", "With --execute: sandbox of the checks; docker proves that they hold in the sandbox of trials."
)
@options.jobs("solutions")
@click.option(
    "--skip-proved",
    is_flag=True,
    help="With --execute: skip each scenario that was proved here before with the same files, code and sandbox.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help=(
        "With --execute: print the proofs of scenarios as JSON on standard output, and other output on standard error."
    ),
)
def validate(path: Path, jobs: int, *, execute: bool, sandbox: SandboxWish, skip_proved: bool, as_json: bool) -> None:
    """Check all configuration and the scenarios under PATH (a repository, a suite or a scenario), or one file.

    Such a file is an experiment, or a mode. If PATH is a folder of MCP servers, such as config/mcp/git, only these are
    checked.

    \b
    scylla-gha validate
    scylla-gha validate scenarios/core/001-hello-world --execute --sandbox auto
    """  # noqa: D301
    from scylla_gha import validate as checks
    from scylla_gha.images import SandboxPool, most_isolated
    from scylla_gha.validate import servers as proofs

    for option, is_set in {"--skip-proved": skip_proved, "--sandbox": sandbox != "host", "--json": as_json}.items():
        if is_set and not execute:
            raise click.UsageError(f"{option} needs --execute; add it")
    library = options.library()
    show = options.report if as_json else click.echo
    folder = path.resolve()
    if folder.is_file() and folder.name != "scenario.yaml":
        checks.validate_file(library, path, options.report)
        click.echo(f"{path}: valid")
        return
    folder = folder.parent if folder.is_file() else folder
    servers = proofs.servers_under(library, folder)
    names, is_all = ([], False) if servers and folder not in library.roots else checks.scenarios_under(library, folder)
    if is_all:
        checks.validate_configuration(library, options.report)
        show("configuration: valid")
    proofs.check_servers(library, servers)
    checks.validate_scenarios(library, names)
    show(
        f"{counted(len(names), 'scenario')}: valid"
        if names or not servers
        else f"{counted(len(servers), 'MCP server')}: valid"
    )
    if execute:
        name = most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox
        sandboxes = SandboxPool(name, library)
        proofs.prove_servers(
            library, proofs.used_servers(library) if is_all else servers, sandboxes, show, skip_proved=skip_proved
        )
        proved = checks.prove_scenarios(library, names, sandboxes, jobs, show, skip_proved=skip_proved)
        for text in [checks.proofs_json(proved)] if as_json else checks.proof_table(proved):
            click.echo(text)
        checks.require_proofs(proved)


@click.command()
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("config/schemas"),
    show_default=True,
    help="Folder to write the schemas to.",
)
@click.option(
    "--reference",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("docs/yaml-reference.md"),
    show_default=True,
    help="Markdown file to write the reference of all YAML keys to.",
)
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not up to date.")
def schemas(into: Path, reference: Path, *, check: bool) -> None:
    """Write the JSON Schemas and the generated pages: YAML keys, glossary, contract of the hub, queries, scenarios.

    \b
    scylla-gha schemas --check
    """  # noqa: D301
    from scylla_gha.config import schemas as generated
    from scylla_gha.config.schemas import queries_page, scenarios_page
    from scylla_gha.hub.contract import contract_page
    from scylla_gha.report import glossary
    from scylla_gha.store import write_text

    texts = {into / name: text for name, text in generated.schemas().items()}
    texts |= {
        reference: generated.yaml_reference(),
        reference.with_name("glossary.md"): glossary(),
        reference.with_name("hub-contract.md"): contract_page(),
        reference.with_name("github-queries.md"): queries_page(),
        reference.with_name("github-tasks.md"): scenarios_page(),
    }
    for path, text in texts.items():
        if not check:
            write_text(path, text)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise ConfigError(f"{path}: is not up to date with the code; run `scylla-gha schemas`")
