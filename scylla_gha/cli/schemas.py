"""`scylla-gha schemas`."""

from pathlib import Path

import click

from scylla_gha.config.schemas import schemas, yaml_reference
from scylla_gha.errors import ConfigError
from scylla_gha.store.records import write_text


@click.command()
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=Path("config/schemas"),
              show_default=True, help="Folder to write the schemas to.")  # fmt: skip
@click.option("--reference", type=click.Path(path_type=Path, dir_okay=False), default=Path("docs/yaml-reference.md"),
              show_default=True, help="Markdown file to write the reference of all YAML keys to.")  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; fail if a file differs from what would be written.")
def command(into: Path, reference: Path, *, check: bool) -> None:
    """Write the JSON Schemas and the reference of the YAML files.

    \b
    scylla-gha schemas --check
    """  # noqa: D301
    texts = {into / name: text for name, text in schemas().items()} | {reference: yaml_reference()}
    for path, text in texts.items():
        if not check:
            write_text(path, text)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise ConfigError(f"{path}: differs from the code's records; run `scylla-gha schemas`")
