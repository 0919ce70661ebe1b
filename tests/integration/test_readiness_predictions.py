"""Questions that runs of tests decide: what a fault breaks."""

import json
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from scylla_gha.model.readiness import ChangedText
from scylla_gha.prepare.start_state import scan_tree
from scylla_gha.readiness.answer_keys import PlaceNames
from scylla_gha.readiness.failing_files import failing_file_items
from scylla_gha.readiness.graders.answers import grade
from scylla_gha.readiness.intent_questions import outputs_question
from scylla_gha.readiness.intent_task import intent_items
from scylla_gha.readiness.masked_body import masked_body
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.mutations import mutants, with_mutants
from scylla_gha.readiness.predicted_failures import predicted_failures
from scylla_gha.readiness.predicted_outputs import predicted_outputs
from scylla_gha.readiness.probes import CoveringTests, Probe, changed_copy, run_probes
from tests.support.golden import golden
from tests.support.readiness_material import material_of
from tests.support.readiness_repository import readiness_repository


@pytest.fixture(scope="module")
def parcels(tmp_path_factory: pytest.TempPathFactory) -> ReadinessMaterial:
    folder = tmp_path_factory.mktemp("parcels")
    return material_of(readiness_repository(folder / "repository", "python"), folder / "copy", wanted=3)


def test_two_of_four_tests_fail_with_the_shown_change(parcels: ReadinessMaterial, tmp_path: Path) -> None:
    material, before = parcels, scan_tree(parcels.checkout.root).tree
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
        assert [part.id for part in item.parts] in (["locate", "explain", "context"], ["locate", "outputs", "context"])
        assert sum(part.weight for part in item.parts) == 100
        answers = json.loads(item.solution[0].text or "")
        assert [grade(part.id, part.key, answers) for part in item.parts] == [1, 1, 1]
        assert all(f"`{test}`" in item.prompt for test in answers.get("explain", ()) if "::" in test)
    assert scan_tree(parcels.checkout.root).tree == before


def test_faults_have_the_same_outcomes_in_shared_processes_as_alone(parcels: ReadinessMaterial, tmp_path: Path) -> None:
    covering = CoveringTests.of(parcels.tests)
    files = [file for file in parcels.index.files.values() if not file.is_test]
    probes = [
        Probe(function.id, (fault,), tests, tests)
        for file in files
        for function in file.functions[:2]
        if (tests := frozenset(test.id for test in covering.of_function(function)))
        for fault in islice(mutants(file, function, parcels.seed), 1)
    ][:6]
    assert len(probes) == 6
    assert parcels.runner is not None
    for number, (probe, failures) in enumerate(zip(probes, run_probes(parcels, probes), strict=True)):
        (fault,) = probe.faults
        text = with_mutants(parcels.index.files[fault.path].text, [fault])
        tree = changed_copy(parcels.root, tmp_path / str(number), [ChangedText(path=fault.path, text=text)])
        outcomes = parcels.runner.run(tree, probe.tests)
        assert set(failures or ()) == {test for test, outcome in outcomes.items() if not outcome.passed}


def test_outputs_of_recorded_calls_are_asked(parcels: ReadinessMaterial) -> None:
    counts = Counter[str]()
    questions = predicted_outputs(parcels, 32, (), counts)
    assert counts["functions with outputs to predict"] == len(questions) >= 6
    written = [question for question in questions if question.returning is None]
    asked = [outputs_question(PlaceNames(parcels.index), question) for question in written]
    assert golden("readiness-outputs.md", asked[0].text + "\n") == asked[0].text + "\n"
    for question, own in zip(written, asked, strict=True):
        module = question.function.path.removesuffix(".py").replace("/", ".")
        calls = ", ".join(f"f{call.shown}" for call in question.calls)
        code = f"import json; from {module} import {question.function.name} as f; print(json.dumps([{calls}]))"
        done = subprocess.run(
            [sys.executable, "-B", "-c", code], cwd=parcels.root, capture_output=True, check=True, timeout=60
        )
        assert grade("outputs", own.part.key, {"outputs": json.loads(done.stdout)}) == 1
        assert list(own.answer) == json.loads(done.stdout)


def test_where_chains_are_few_failing_test_files_are_asked(parcels: ReadinessMaterial, tmp_path: Path) -> None:
    items = failing_file_items(parcels, [], 2)
    assert len(items) == 2
    item = items[0]
    function = parcels.index.functions[item.anchor]
    fault = masked_body(parcels.index.files[function.path], function)
    assert fault is not None
    assert parcels.runner is not None
    text = with_mutants(parcels.index.files[function.path].text, [fault])
    tree = changed_copy(parcels.root, tmp_path / "faulty", [ChangedText(path=function.path, text=text)])
    (part,) = item.parts
    listed = part.candidates
    outcomes = parcels.runner.run(tree, [test.id for test in parcels.tests.tests.values() if test.file in listed])
    failing = {test.partition("::")[0] for test, outcome in outcomes.items() if not outcome.passed}
    assert json.loads(item.solution[0].text or "") == {"fails": sorted(failing)}
    assert len(failing) * 2 == len(listed)
    assert golden("readiness-fails.md", item.prompt) == item.prompt
