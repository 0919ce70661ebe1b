"""A wall clock that jumps changes no duration: those are of the monotonic clock."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2] / "scylla_gha"
# The date until which a provider or GitHub asks to wait, and the age of a stored trial: dates are of the wall clock.
DATES = {"providers/anthropic/__init__.py", "github_api/client.py", "plan/__init__.py", "sandboxes/docker/engine.py"}


def test_no_duration_is_a_difference_of_the_wall_clock() -> None:
    found = []
    for path in ROOT.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wall = {target.id for node in ast.walk(tree) if isinstance(node, ast.Assign) and is_wall(node.value)
                for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                sides = (node.left, node.right)
                if any(is_wall(side) or (isinstance(side, ast.Name) and side.id in wall) for side in sides):
                    found.append(str(path.relative_to(ROOT)))
    assert set(found) == DATES


def is_wall(node: ast.expr) -> bool:
    """Return whether it asks the wall clock for the time."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) in {
        "time.time", "time.time_ns", "datetime.datetime.now", "datetime.datetime.utcnow"}  # fmt: skip
