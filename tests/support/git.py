"""git as a maintainer or an agent uses it."""

import subprocess
from pathlib import Path

_WHO = "-c user.name=Dev -c user.email=dev@example.com -c init.defaultBranch=main -c safe.directory=*"


def shell(folder: Path, script: str) -> str:
    """Return what a shell script prints, which fails at its first error; its git has an identity."""
    prelude = f'git() {{ command git {_WHO} "$@"; }}\n'
    done = subprocess.run(["sh", "-ec", prelude + script], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode(errors="surrogateescape").strip()
