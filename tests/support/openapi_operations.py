"""Names and pages of GitHub's REST operations, packed for the hub: `python -m tests.support.openapi_operations`."""

import gzip
from pathlib import Path
from typing import Final

from scylla_gha.hub.rest import documentation
from tests.support.openapi_answers import description

PACKED: Final = Path(documentation.__file__).with_name("operations.tsv.gz")
LICENSE: Final = PACKED.with_name("LICENSE-openapi.md")


def from_npm() -> str:
    """The operations of the package, one a line, each with its page below docs.github.com/rest."""
    pages: dict[str, str] = description()["pages"]
    return "".join(f"{name}\t{pages[name]}\n" for name in sorted(pages))


def packed() -> str:
    """The operations that the hub knows."""
    return gzip.decompress(PACKED.read_bytes()).decode()


def main() -> None:
    PACKED.write_bytes(gzip.compress(from_npm().encode(), 9, mtime=0))
    LICENSE.write_text(description()["license"])


if __name__ == "__main__":
    main()
