"""Commands that check configuration and scenarios, or write what is generated from code: `validate` and `schemas`."""

import functools
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.experiment import SandboxWish


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True), default=Path())
@click.option("--execute", is_flag=True,
              help="Prove each scenario: no-op and wrong solutions fail, right solutions pass.")  # fmt: skip
@options.sandbox(
    "host", "With --execute: sandbox of the checks; docker proves that they hold in the sandbox of trials."
)
@options.jobs("solutions")
@click.option("--skip-proved", is_flag=True,
              help="With --execute: skip each scenario that was proved here before with the same files, code and "
                   "sandbox.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True,
              help="With --execute: print the proofs of scenarios as JSON on standard output, and all else on standard "
                   "error.")  # fmt: skip
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
            raise click.UsageError(f"{option} has an effect only with --execute; give both")
    library, report = options.library(), functools.partial(click.echo, err=True)
    show = report if as_json else click.echo
    folder = path.resolve()
    if folder.is_file() and folder.name != "scenario.yaml":
        checks.validate_file(library, path, report)
        click.echo(f"{path}: valid")
        return
    folder = folder.parent if folder.is_file() else folder
    servers = proofs.servers_under(library, folder)
    names, is_all = ([], False) if servers and folder not in library.roots else checks.scenarios_under(library, folder)
    if is_all:
        checks.validate_configuration(library, report)
        show("configuration: valid")
    proofs.check_servers(library, servers)
    checks.validate_scenarios(library, names)
    show(f"{counted(len(names), 'scenario')}: valid" if names or not servers else
         f"{counted(len(servers), 'MCP server')}: valid")  # fmt: skip
    if execute:
        name = most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox
        sandboxes = SandboxPool(name, library)
        proofs.prove_servers(library, proofs.used_servers(library) if is_all else servers, sandboxes, show,
                             skip_proved=skip_proved)  # fmt: skip
        proved = checks.prove_scenarios(library, names, sandboxes, jobs, show, skip_proved=skip_proved)
        for text in [checks.proofs_json(proved)] if as_json else checks.proof_table(proved):
            click.echo(text)
        checks.require_proofs(proved)


@click.command()
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=Path("config/schemas"),
              show_default=True, help="Folder to write the schemas to.")  # fmt: skip
@click.option("--reference", type=click.Path(path_type=Path, dir_okay=False), default=Path("docs/yaml-reference.md"),
              show_default=True, help="Markdown file to write the reference of all YAML keys to.")  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; fail if a file differs from what would be written.")
def schemas(into: Path, reference: Path, *, check: bool) -> None:
    """Write the JSON Schemas and the generated pages: YAML keys, glossary, contract of the hub, queries, scenarios.

    \b
    scylla-gha schemas --check
    """  # noqa: D301
    from scylla_gha.config import schemas as generated
    from scylla_gha.config.github_queries_page import queries_page
    from scylla_gha.config.github_scenarios_page import scenarios_page
    from scylla_gha.hub.contract import contract_page
    from scylla_gha.report.markdown import glossary
    from scylla_gha.store.records import write_text

    texts = {into / name: text for name, text in generated.schemas().items()}
    texts |= {reference: generated.yaml_reference(), reference.with_name("glossary.md"): glossary(),
              reference.with_name("hub-contract.md"): contract_page(),
              reference.with_name("github-queries.md"): queries_page(),
              reference.with_name("github-tasks.md"): scenarios_page()}  # fmt: skip
    for path, text in texts.items():
        if not check:
            write_text(path, text)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise ConfigError(f"{path}: differs from the code's records; run `scylla-gha schemas`")
