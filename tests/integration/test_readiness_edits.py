"""Tasks with edits on whole code bases: each item's reference is worth all, and no change is worth nothing."""

import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from scylla_gha.mining.repository import checkout_of
from scylla_gha.model.readiness import ChangedText, ReadinessItem
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.completeness_task import completeness_items
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.graders import edits, pattern_rules
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.modification_task import modification_items
from scylla_gha.readiness.probes import changed_copy
from scylla_gha.readiness.suite import key_of
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from tests.support.readiness_repository import CodeBase, readiness_repository
from tests.support.repository import write_tree

BOX = SandboxTarget(SANDBOXES["bubblewrap"])


@dataclass(frozen=True)
class Edits:
    """A code base's material and its items of both tasks."""

    material: ReadinessMaterial
    environment: CodeEnvironment
    repairs: list[ReadinessItem]
    bodies: list[ReadinessItem]
    yields: Counter[str]


@pytest.fixture(scope="module", params=["python", "javascript"])
def edits_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Edits:
    language: CodeBase = request.param
    root = readiness_repository(tmp_path_factory.mktemp(language) / "code", language, history=False)
    checkout = checkout_of(root)
    shutil.rmtree(root / ".git")
    index = build_index(root)
    environment = detect_environment(root, language, lambda _: BOX)
    tests = record_tests(root, environment, index)
    assert tests.reason is None
    runner = runner_of(environment)
    material = ReadinessMaterial(root, index, tests, runner, checkout, seed=3, wanted=3, language=language)
    yields: Counter[str] = Counter()
    repairs, bodies = modification_items(material, yields), completeness_items(material, yields)
    return Edits(material, environment, repairs, bodies, yields)


def worths(edits_of: Edits, item: ReadinessItem, change: tuple[ChangedText, ...], folder: Path) -> dict[str, str]:
    base = changed_copy(edits_of.material.root, folder / "base", item.start)
    work = changed_copy(base, folder / "work", change)
    programs = edits_of.material.runner.programs if edits_of.material.runner else {}
    graders = {Path(module.__file__ or "") for module in (edits, pattern_rules)}
    checks = write_tree(folder / "checks", {
        **programs,
        **{path.name: path.read_text(encoding="utf-8") for path in graders},
        **{f"hidden/{hidden.path}": hidden.text or "" for hidden in item.hidden},
        "key.json": json.dumps(key_of(item)),
    })  # fmt: skip
    env = {"PATH": edits_of.environment.path, "HOME": str(folder), "BASE": str(base), "CHECKS": str(checks)}
    results = {}
    for part in item.parts:
        argv = ["python3", str(checks / "edits.py"), part.id]
        done = subprocess.run(argv, cwd=work, env=env, capture_output=True, text=True, check=True)
        results[part.id] = done.stdout.splitlines()[-1]
    return results


def test_references_are_worth_all_and_no_change_is_worth_nothing(edits_of: Edits, tmp_path: Path) -> None:
    items = [edits_of.repairs[0], edits_of.bodies[0]]
    for item in items:
        right = worths(edits_of, item, item.solution, tmp_path / item.id / "right")
        assert right == {part.id: "1/1" for part in item.parts}, item.anchor
        nothing = worths(edits_of, item, (), tmp_path / item.id / "nothing")
        assert nothing == {part.id: "0/1" for part in item.parts}, item.anchor


def test_as_many_items_as_wanted_are_generated_the_same_each_time(edits_of: Edits) -> None:
    assert len(edits_of.repairs) == len(edits_of.bodies) == 3, edits_of.yields
    again = modification_items(edits_of.material)
    assert [item.model_dump() for item in again] == [item.model_dump() for item in edits_of.repairs]
    for item in (*edits_of.repairs, *edits_of.bodies):
        weights = {"correctness": 50, "scope": 30, "functional": 40, "edge": 20,
                   "patterns": 20 if item in edits_of.repairs else 40}  # fmt: skip
        assert all(part.weight == weights[part.id] for part in item.parts)
        assert item.has_shell
        assert item.tests


def test_a_repair_shows_one_failing_test_and_hides_the_others(edits_of: Edits) -> None:
    for item in edits_of.repairs:
        shown = item.notes["shown test"]
        assert f"FAILED {shown}" in item.prompt
        texts = {change.path: change.text or "" for change in item.start}
        failing = item.parts[0].key["failing"]
        assert isinstance(failing, list)
        for test in failing:
            name = re.split(r"::|\[", test)[1]
            if name != re.split(r"::|\[", shown)[1]:
                assert f"def {name}(" not in texts[test.partition("::")[0]], test
                assert f'"{name}"' not in texts[test.partition("::")[0]], test


def test_a_missing_body_is_nowhere_in_the_start(edits_of: Edits) -> None:
    for item in edits_of.bodies:
        path, _, name = item.anchor.partition("::")
        original = edits_of.material.index.files[path].text
        start = next(change.text or "" for change in item.start if change.path == path)
        assert len(start.splitlines()) < len(original.splitlines())
        assert "NotImplementedError" in start or "not implemented" in start
        short = name.rpartition(".")[2]
        for test in edits_of.material.index.functions.values():
            changed = [change for change in item.start if change.path == test.path]
            if test.name.startswith("test_") and re.search(rf"\b{short}\b", _text(edits_of, test.id)):
                assert changed, test.id
                assert f"def {test.short_name}(" not in (changed[0].text or "")


def _text(edits_of: Edits, name: str) -> str:
    function = edits_of.material.index.functions[name]
    lines = edits_of.material.index.files[function.path].text.splitlines()
    return "\n".join(lines[function.span.first - 1 : function.span.last])


def test_without_tests_there_is_no_item(edits_of: Edits) -> None:
    material = edits_of.material
    bare = ReadinessMaterial(
        material.root, material.index, material.tests, None, material.checkout, 3, 4, material.language
    )
    assert modification_items(bare) == completeness_items(bare) == []
