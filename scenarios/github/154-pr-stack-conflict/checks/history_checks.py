"""History of main after the merge: `twice` looks for commits that came in again, `author` for who wrote the lines."""

import collections
import re
import subprocess
import sys

START, LOWER, UPPER = (f"refs/start/heads/{name}" for name in ("main", "feature/files", "feature/report"))
FILES = ("src/meterlog/report.py", "tests/test_report.py", "src/meterlog/cli.py")


def git(*args: str, stdin: str = "") -> str:
    return subprocess.run(["git", *args], input=stdin, capture_output=True, text=True, check=True).stdout


def twice() -> list[str]:
    """Commits that are in main again: themselves, by their titles, or by what they change."""
    merged = set(git("rev-list", "HEAD").split())
    again = [f"{sha} of the lower pull request" for sha in git("rev-list", LOWER, f"^{START}").split() if sha in merged]
    titles = [re.sub(r" \(#\d+\)$", "", title) for title in git("log", "--no-merges", "--format=%s", "HEAD").splitlines()]
    counts = collections.Counter(titles)
    again += [f"{count} commits are called {title!r}" for title, count in counts.items() if count > 1]
    lower = git("log", "--format=%s", LOWER, f"^{START}").splitlines()
    again += [f"{title!r} is in main again" for title in lower if title in counts]
    patches = git("patch-id", "--stable", stdin=git("log", "-p", "--no-merges", "HEAD")).splitlines()
    changes = collections.Counter(line.split()[0] for line in patches)
    return again + [f"{count} commits have the same change" for count in changes.values() if count > 1]


def author() -> list[str]:
    """Lines that Joris wrote and that have another author in main, or that are missing there."""
    joris = git("log", "-1", "--format=%ae", UPPER).strip()
    faults = []
    for path in FILES:
        before = git("show", f"{START}:{path}").splitlines() if path.endswith("cli.py") else []
        his = {line for line in git("show", f"{UPPER}:{path}").splitlines() if line.strip() and line not in before}
        written = re.findall(r"^author-mail <(.*)>(?:\n(?!\t).*)*\n\t(.*)$", git("blame", "--line-porcelain", "HEAD", "--", path), re.M)
        faults += [f"{path}: {mail}: {line}" for mail, line in written if line in his and mail != joris]
        if not any(line in his for _, line in written):
            faults.append(f"{path} has no line of Joris")
    return faults


found = {"twice": twice, "author": author}[sys.argv[1]]()
print("\n".join(found) or "fine")
sys.exit(bool(found))
