"""The rules of the safety net, command by command: what each blocks, and the ordinary work that none blocks."""

from pathlib import Path

import pytest
import yaml

from scylla_gha.safety_net.hook import judge_call
from scylla_gha.safety_net.rules import RULES

EXAMPLES = [(rule.name, command) for rule in RULES for command in rule.examples]
TABLE = yaml.safe_load((Path(__file__).parent / "data" / "safety_net.yaml").read_text())
BLOCKED = [(rule, command) for rule, commands in TABLE["blocked"].items() for command in commands]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace on branch main with a link that leads out, and a HOME, as a trial has them."""
    home, folder = tmp_path / "home", tmp_path / "workspace"
    for each in (home, folder / "sub", folder / ".git"):
        each.mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "link").symlink_to("/etc")
    for name in ("HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(home))
    return folder


def blocked(workspace: Path, command: str) -> str | None:
    text = command.replace("WORKSPACE", str(workspace)).replace(
        "BESIDE", str(workspace.parent.parent / "of-another-trial")
    )
    rule = judge_call("Bash", {"command": text}, str(workspace), str(workspace)).rule
    return rule.name if rule else None


@pytest.mark.parametrize(("rule", "command"), [*EXAMPLES, *BLOCKED])
def test_what_is_destructive_is_blocked_by_its_rule(workspace: Path, rule: str, command: str) -> None:
    assert blocked(workspace, command) == rule


@pytest.mark.parametrize("command", TABLE["allowed"])
def test_ordinary_work_is_not_blocked(workspace: Path, command: str) -> None:
    assert blocked(workspace, command) is None


@pytest.mark.parametrize(
    ("tool", "path", "rule"),
    [
        ("Read", "~/.ssh/id_rsa", "credentials"),
        ("Read", "/etc/shadow", "credentials"),
        ("Read", "/etc/os-release", None),
        ("Read", ".env", None),
        ("Write", "/etc/hosts", "write-outside"),
        ("Edit", "../../x.py", "write-outside"),
        ("MultiEdit", "/usr/lib/x.py", "write-outside"),
        ("NotebookEdit", "/srv/x.ipynb", "write-outside"),
        ("Write", "link/x", "write-outside"),
        ("Write", "sub/new/x.py", None),
        ("Write", "/tmp/x.py", None),
        ("Write", "HOME/.claude/projects/x/memory/MEMORY.md", None),
    ],
)
def test_file_tools_stay_in_the_workspace_and_off_credentials(
    workspace: Path, tool: str, path: str, rule: str | None
) -> None:
    key = "notebook_path" if tool == "NotebookEdit" else "file_path"
    given = {key: path.replace("HOME", str(workspace.parent / "home"))}
    found = judge_call(tool, given, str(workspace), str(workspace)).rule
    assert (found.name if found else None) == rule


@pytest.mark.parametrize(
    ("branch", "command", "rule"),
    [
        ("feature/x", "git push -f", None),
        ("feature/x", "git push --force origin HEAD", None),
        ("feature/x", 'git push -f origin "$(git branch --show-current)"', None),
        ("main", 'git push -f origin "$(git branch --show-current)"', "shared-push"),
        ("feature/x", "git push -f origin main", "shared-push"),
        ("release-2", "git push -f", "shared-push"),
    ],
)
def test_a_forced_push_without_a_branch_is_of_the_current_one(
    workspace: Path, branch: str, command: str, rule: str | None
) -> None:
    (workspace / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    assert blocked(workspace, command) == rule


def test_a_worktree_has_a_branch_of_its_own(workspace: Path) -> None:
    tree = workspace / "tree"
    (workspace / ".git/worktrees/tree").mkdir(parents=True)
    (workspace / ".git/worktrees/tree/HEAD").write_text("ref: refs/heads/feature/y\n")
    tree.mkdir()
    (tree / ".git").write_text("gitdir: ../.git/worktrees/tree\n")
    assert blocked(workspace, "git push -f") == "shared-push"
    assert blocked(workspace, "cd tree && git push -f") is None
