"""Repositories of a few objects that stand for very many files, or for files that no disk can hold."""

import subprocess
from pathlib import Path

_LEVELS = 6
_WIDTH = 10
SHELL = f"""\
file=$(echo x | git hash-object -w --stdin)
tree=$(for at in $(seq {_WIDTH}); do printf '100644 blob %s\\tf%s\\n' $file $at; done | git mktree)
for level in $(seq {_LEVELS - 1}); do
  tree=$(for at in $(seq {_WIDTH}); do printf '040000 tree %s\\td%s\\n' $tree $at; done | git mktree)
done
"""  # leaves the tree of a million files in $tree
COMMIT = "git -c user.name=A -c user.email=a@example.com commit-tree -m Many"


def commit_of_many_files(folder: Path) -> tuple[Path, str]:
    """Make a bare repository with a commit of a million files; return its folder and the commit."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    script = f"{SHELL}commit=$({COMMIT} $tree)\ngit update-ref refs/heads/main $commit\necho $commit"
    done = subprocess.run(["/bin/sh", "-ec", script], cwd=folder, capture_output=True, text=True, check=True)
    return folder, done.stdout.strip()
