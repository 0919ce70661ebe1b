"""Checks of YAML files and scenarios: `scylla-gha validate` and `scylla-gha schemas`."""

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
def validate(path: Path, jobs: int, *, execute: bool, sandbox: SandboxWish, skip_proved: bool) -> None:
    """Check all configuration and the scenarios under PATH (a repository, a suite, a scenario, or an experiment file).

    \b
    scylla-gha validate
    scylla-gha validate scenarios/core/001-hello-world --execute --sandbox auto
    """  # noqa: D301
    from scylla_gha.images.sandbox_pool import SandboxPool, most_isolated
    from scylla_gha.pipeline import validate_library as checks

    if (sandbox != "host" or skip_proved) and not execute:
        option = "--skip-proved" if skip_proved else "--sandbox"
        raise click.UsageError(f"{option} has an effect only with --execute; give both")
    library, report = options.library(), functools.partial(click.echo, err=True)
    folder = path.resolve()
    if folder.is_file() and folder.name != "scenario.yaml":
        checks.validate_experiment(library, str(path), report)
        click.echo(f"{path}: valid")
        return
    names, is_all = checks.scenarios_under(library, folder.parent if folder.is_file() else folder)
    if is_all:
        checks.validate_configuration(library, report)
        click.echo("configuration: valid")
    checks.validate_scenarios(library, names)
    click.echo(f"{counted(len(names), 'scenario')}: valid")
    if execute:
        name = most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox
        checks.prove_scenarios(library, names, SandboxPool(name, library), jobs, click.echo, skip_proved=skip_proved)


@click.command()
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=Path("config/schemas"),
              show_default=True, help="Folder to write the schemas to.")  # fmt: skip
@click.option("--reference", type=click.Path(path_type=Path, dir_okay=False), default=Path("docs/yaml-reference.md"),
              show_default=True, help="Markdown file to write the reference of all YAML keys to.")  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; fail if a file differs from what would be written.")
def schemas(into: Path, reference: Path, *, check: bool) -> None:
    """Write the JSON Schemas and the reference of the YAML files.

    \b
    scylla-gha schemas --check
    """  # noqa: D301
    from scylla_gha.config import schemas as generated
    from scylla_gha.store.records import write_text

    texts = {into / name: text for name, text in generated.schemas().items()} | {reference: generated.yaml_reference()}
    for path, text in texts.items():
        if not check:
            write_text(path, text)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise ConfigError(f"{path}: differs from the code's records; run `scylla-gha schemas`")
