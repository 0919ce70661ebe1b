"""Questions that runs of tests decide: what a fault breaks."""

import json
from pathlib import Path

from scylla_gha.model.readiness import ChangedText
from scylla_gha.prepare.tree_manifest import scan_tree
from scylla_gha.readiness.graders.answers import grade
from scylla_gha.readiness.intent_task import intent_items
from scylla_gha.readiness.mutations import with_mutants
from scylla_gha.readiness.predicted_failures import predicted_failures
from scylla_gha.readiness.probes import changed_copy
from tests.support.readiness_material import material_of
from tests.support.readiness_repository import readiness_repository


def test_two_of_four_tests_fail_with_the_shown_change(tmp_path: Path) -> None:
    repository = readiness_repository(tmp_path / "repository", "python")
    before = scan_tree(repository).tree
    material = material_of(repository, tmp_path / "copy", wanted=3)
    questions = predicted_failures(material)
    assert len(questions) >= 2
    assert material.runner is not None
    question = questions[0]
    fault = question.fault
    text = with_mutants(material.index.files[fault.path].text, [fault])
    tree = changed_copy(material.root, tmp_path / "faulty", [ChangedText(path=fault.path, text=text)])
    outcomes = material.runner.run(tree, question.listed)
    assert tuple(sorted(test for test in question.listed if not outcomes[test].passed)) == question.failing
    assert len(question.failing) == 2
    for item in intent_items(material):
        assert [part.id for part in item.parts] == ["locate", "explain", "context"]
        assert sum(part.weight for part in item.parts) == 100
        answers = json.loads(item.solution[0].text or "")
        assert [grade(part.id, part.key, answers) for part in item.parts] == [1, 1, 1]
        assert all(f"`{test}`" in item.prompt for test in answers["explain"])
    assert scan_tree(repository).tree == before
