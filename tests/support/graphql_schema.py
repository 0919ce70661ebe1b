"""GitHub's GraphQL schema as npm has it, packed for the hub: `python -m tests.support.graphql_schema` writes it."""

import gzip
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from graphql import strip_ignored_characters

from scylla_gha.hub.graphql import schema

VERSION: Final = "15.26.1"
PACKED: Final = Path(schema.__file__).with_name("schema.graphql.gz")
LICENSE: Final = PACKED.with_name("LICENSE-schema.md")
_DESCRIPTION: Final = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""')


def from_npm() -> tuple[str, str]:
    """The schema without descriptions and blanks, and the licence."""
    with tempfile.TemporaryDirectory() as folder:
        argv = ["npm", "pack", "--silent", "--pack-destination", folder, f"@octokit/graphql-schema@{VERSION}"]
        subprocess.run(argv, check=True, capture_output=True, timeout=600)
        with tarfile.open(next(Path(folder).iterdir())) as package:
            text, licence = (_read(package, name) for name in ("schema.graphql", "LICENSE.md"))
    return strip_ignored_characters(_DESCRIPTION.sub("", text)), licence


def _read(package: tarfile.TarFile, name: str) -> str:
    file = package.extractfile(f"package/{name}")
    assert file is not None
    return file.read().decode()


def packed() -> str:
    """The schema that the hub has."""
    return gzip.decompress(PACKED.read_bytes()).decode()


def main() -> None:
    text, licence = from_npm()
    PACKED.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    LICENSE.write_text(licence)


if __name__ == "__main__":
    main()
