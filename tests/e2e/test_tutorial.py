"""What docs/tutorial.md says is done on a repository with a history, and it ends with a verdict."""

import json
from pathlib import Path

from tests.support.adopters import TOOLKIT, commit, empty
from tests.support.command import scylla
from tests.support.pages import ROOT, commands
from tests.support.repository import environment

_BASE = {"package.json": '{"name": "app", "type": "module"}\n'}
_CODE = """\
export const {name} = (n) => {{
  const most = {least} + 1;
  return n > {least} && n < 100 ? n * {factor} : most - 1;
}};
"""
_TEST = """\
import assert from "node:assert";
import test from "node:test";
import {{ {name} }} from "../lib/{name}.js";

test("{name}", () => {{
  assert.equal({name}(50), {large});
  assert.equal({name}(0), {least});
  assert.equal({name}(100), {least});
  assert.equal({name}({least}), {least});
}});
"""


def history(root: Path, tasks: int) -> Path:
    """A repository in which so many commits brought a function and its tests."""
    commit(empty(root), "Begin", _BASE)
    for number in range(tasks):
        name, factor, least = f"scale{number}", number + 2, number + 3
        words = {"name": name, "factor": factor, "least": least, "large": 50 * factor}
        commit(root, f"Numbers are scaled by {factor}, small and large ones become {least}", {
            f"lib/{name}.js": _CODE.format(**words), f"test/{name}.test.js": _TEST.format(**words),
        })  # fmt: skip
    return root


def test_the_tutorial_ends_with_a_verdict(tmp_path: Path) -> None:
    root = history(tmp_path / "app", 7)
    told: list[str] = []
    for words in commands(ROOT / "docs/tutorial.md"):
        env = environment(tmp_path, SCYLLA_TOOLKIT=TOOLKIT)
        said = scylla(*words[1:], cwd=root, env=env)
        assert said.code == 0, f"{words}: {said.err}"
        told.append(said.err)
    assert "6 tasks found in 6 commits" in told[0]
    assert len(list((root / "scenarios/app").iterdir())) == 6
    assert {path.name for path in (root / "fixtures").iterdir()} == {"app", *(f"app-{n}" for n in range(102, 107))}
    (verdict,) = json.loads((root / "runs/app/report.json").read_text())["comparisons"]
    assert (verdict["arm"], verdict["verdict"]) == ("oracle", "better")


def test_too_few_tasks_are_told_with_the_reason_and_more_are_added_later(tmp_path: Path) -> None:
    root = history(tmp_path / "app", 1)
    env = environment(tmp_path, SCYLLA_TOOLKIT=TOOLKIT)
    said = scylla("init", "--tasks", "2", cwd=root, env=env)
    assert (said.code, "1 of 2 tasks found: 1 commit tried, for the reasons above; no other" in said.err) == (0, True)
    (first,) = (root / "scenarios/app").iterdir()
    assert first.name == "101-numbers-are-scaled-by-2-small-and-large"
    none = scylla("init", "--example", "--name", "mine", cwd=root, env=env)
    assert "the small example is taken, as --example asks" in none.err
