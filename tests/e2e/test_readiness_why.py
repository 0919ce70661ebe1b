"""`scylla-gha readiness why`, and its scenarios as a suite of one's own."""

import json
import subprocess
from pathlib import Path

from tests.support.command import scylla
from tests.support.repository import write_tree

LOST = ("umbrellas", "gloves", "hats", "bags", "coats", "keys", "books", "phones")
CODE = '''\
def count_{word}(rows: list[str]) -> int:
    """Count the {word} that passengers lost on trains."""
    # upper case counts too
    return len([row for row in rows if row.lower() == "{word}"])
'''
TEST = "from shop.{word} import count_{word}\n\n\ndef test_{word}():\n    assert count_{word}(['{word}', 'x']) == 1\n"
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""}


def lost_property(root: Path) -> Path:
    """A repository with one function for each kind of lost things, and a test of each."""
    files = {f"shop/{word}.py": CODE.format(word=word) for word in LOST}
    tests = {f"tests/test_{word}.py": TEST.format(word=word) for word in LOST}
    write_tree(root, {"shop/__init__.py": "", **files, **tests})
    for command in ("init --quiet", "add --all", "-c user.name=A -c user.email=a@example.com commit --quiet -m Begin"):
        subprocess.run(["git", "-C", str(root), *command.split()], check=True)
    return root


def test_copies_without_names_documentation_and_types_are_asked_too_and_kept_as_scenarios(tmp_path: Path) -> None:
    root, runs = lost_property(tmp_path / "lost"), tmp_path / "runs"
    what = ("readiness", "why", str(root), "--dimensions", "1", "--anchors", "8", "--sandbox", "bubblewrap")
    said = scylla(*what, "--runs", str(runs), "--yes", "--json", cwd=tmp_path, env=NO_KEY)
    assert said.code == 5, said.err
    report = json.loads(said.out)
    assert (report["score"], report["sessions"]) == (None, 32)
    assert {side["side"]: side["planned"] for side in report["facts"]} == {
        side: {"intent-clarity": 8} for side in ("", "names", "docs", "types")
    }
    assert report["facts"][1]["yields"] == {"anchors of Intent Clarity": 8}
    assert "functions merged into their only callers: n/a: there is nothing of it to take away" in said.err
    assert not subprocess.run(["git", "-C", str(root), "status", "--short"], capture_output=True, check=True).stdout
    kept = scylla(*what, "--runs", str(runs), "--keep-suite", cwd=tmp_path, env=NO_KEY)
    assert kept.code == 0, kept.err
    assert len(kept.out.splitlines()) == 32
    (command,) = (line.rpartition(": ")[2] for line in kept.err.splitlines() if line.startswith("now run"))
    assert command == "scylla-gha validate scenarios/readiness --execute"
    valid = scylla(*command.split()[1:-1], cwd=root)
    assert (valid.code, "32 scenarios: valid" in valid.out + valid.err) == (0, True), valid.err
    again = scylla(*what, "--runs", str(runs), "--keep-suite", cwd=tmp_path, env=NO_KEY)
    assert again.code == 6
    assert "scenarios/readiness: exists already; remove or rename it" in again.err
