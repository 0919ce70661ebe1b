"""`scylla-gha schemas`."""

from pathlib import Path

import click

from scylla_gha.config.schemas import schemas
from scylla_gha.errors import ConfigError
from scylla_gha.store import write_text


@click.command()
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=Path("config/schemas"),
              show_default=True, help="The folder to write to.")  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; fail where a file is not what would be written.")
def command(into: Path, *, check: bool) -> None:
    """Write the JSON Schemas that editors use for the YAML files.

    \b
    scylla-gha schemas --check
    """  # noqa: D301
    for name, text in schemas().items():
        path = into / name
        if not check:
            write_text(path, text)
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise ConfigError(f"{path}: is not what the records say; run `scylla-gha schemas`")
