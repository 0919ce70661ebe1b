"""The steps of docs/tutorial.md are done on a repository with a history, and it ends with a verdict."""

import json
import re
from pathlib import Path

from tests.support.adopters import TOOLKIT, commit, empty
from tests.support.command import scylla
from tests.support.pages import ROOT, commands
from tests.support.repository import Files, environment

PAGE = ROOT / "docs/tutorial.md"
_CODE = """\
export const {name} = (n) => {{
  const most = {least} + 1;
  return n > {least} && n < 100 ? n * {factor} : most - 1;
}};
"""
_HEAD = """\
import assert from "node:assert";
import test from "node:test";
import * as scales from "../lib/scales.js";
"""
_TEST = """
test("{name}", () => {{
  assert.equal(scales.{name}(50), {large});
  assert.equal(scales.{name}(0), {least});
  assert.equal(scales.{name}(100), {least});
  assert.equal(scales.{name}({least}), {least});
}});
"""


def history(root: Path, tasks: int) -> Path:
    """A repository in which so many commits brought a function and its test, each to one file: node starts once."""
    code, tests = "export const none = 0;\n", _HEAD
    begin: Files = {"package.json": '{"name": "app", "type": "module"}\n', "lib/scales.js": code}
    commit(empty(root), "Begin", begin)
    for number in range(tasks):
        factor, least = number + 2, number + 3
        words = {"name": f"scale{number}", "factor": factor, "least": least, "large": 50 * factor}
        code, tests = code + _CODE.format(**words), tests + _TEST.format(**words)
        commit(root, f"Numbers are scaled by {factor}, small and large ones become {least}", {
            "lib/scales.js": code, "test/scales.test.js": tests,
        })  # fmt: skip
    return root


def take_agents(experiment: Path) -> None:
    """Replace the built-in agents by the lines that the page shows."""
    (shown,) = re.findall(r"```yaml\n(agents:.*?)```", PAGE.read_text(), re.DOTALL)
    names = {line.partition(":")[0] for line in shown.splitlines()}
    kept = [line for line in experiment.read_text().splitlines() if line.partition(":")[0] not in names]
    experiment.write_text("\n".join([*kept, shown]))


def without_minutes(text: str) -> str:
    """An estimate without what depends on the number of cores."""
    return re.sub(r"[\d.]+ \([\d. to]+\) minutes with \d+ at once ", "", text)


def test_the_tutorial_ends_with_a_verdict_and_an_estimate(tmp_path: Path) -> None:
    root = history(tmp_path / "app", 6)
    env = environment(tmp_path, SCYLLA_TOOLKIT=TOOLKIT)
    told: list[str] = []
    # `init` has just proved what `validate --execute` would prove again; the test of all pages runs that.
    for words in (words for words in commands(PAGE) if "--execute" not in words):
        if "--dry-run" in words:
            take_agents(root / "config/experiments/app.yaml")
        said = scylla(*words[1:], cwd=root, env=env)
        assert said.code == 0, f"{words}: {said.err}"
        told.append(said.err)
    assert "6 tasks found in 6 commits" in told[0]
    assert len(list((root / "scenarios/app").iterdir())) == 6
    assert {path.name for path in (root / "fixtures").iterdir()} == {"app", *(f"app-{n}" for n in range(102, 107))}
    (verdict,) = json.loads((root / "runs/app/report.json").read_text())["comparisons"]
    assert (verdict["arm"], verdict["verdict"]) == ("oracle", "better")
    (estimate,) = re.findall(r"```text\n(36 cells: .*?)```", PAGE.read_text(), re.DOTALL)
    assert without_minutes(estimate) in without_minutes(told[-1])
    assert "smallest detectable pass rate difference (80 % power): 79.5 points" in told[-1]


def test_too_few_tasks_are_told_with_the_reason_and_more_are_added_later(tmp_path: Path) -> None:
    root = history(tmp_path / "app", 1)
    env = environment(tmp_path, SCYLLA_TOOLKIT=TOOLKIT)
    said = scylla("init", "--tasks", "2", cwd=root, env=env)
    assert (said.code, "1 of 2 tasks found in 1 commit\n" in said.err) == (0, True), said.err
    (first,) = (root / "scenarios/app").iterdir()
    assert first.name == "101-numbers-are-scaled-by-2-small-and-large"
    none = scylla("init", "--example", "--name", "mine", "--yes", cwd=root, env=env)
    assert "the small example is used, as --example asks" in none.err
