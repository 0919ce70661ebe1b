"""Write the small code bases of the readiness tests as git repositories: `python code_bases.py FOLDER`.

It imports the tests' support, so each checkout has its own copy: change it with what it imports.
"""

import sys
from pathlib import Path

from tests.support.readiness_repository import readiness_repository


def main(folder: Path) -> None:
    for language in ("python", "javascript", "typescript", "go"):
        readiness_repository(folder / language, language)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
