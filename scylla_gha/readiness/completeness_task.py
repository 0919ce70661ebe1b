"""Task 4, Semantic Completeness: write the body of a function that tests cover."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.model.readiness import ChangedText, ItemPart, ReadinessItem
from scylla_gha.readiness.anchors import function_digest
from scylla_gha.readiness.edit_items import (
    MOST_PER_FILE,
    CoveredFunction,
    EditGround,
    item_id,
    shown_name,
)
from scylla_gha.readiness.hidden_tests import spans_naming, without_tests
from scylla_gha.readiness.masked_body import empty_body, masked_body
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.mutations import Mutant, mutants, with_mutants
from scylla_gha.readiness.patterns import OF_SIGNATURE, mined_rules
from scylla_gha.readiness.probes import Probe, run_probes
from scylla_gha.readiness.source_code import Function

_STATEMENTS: Final = range(3, 41)
_LEAST_TESTS: Final = 2
_SPARE: Final = 0.1  # nearly all of them are tested well enough
_LEAST_BRANCHES: Final = 2
_PROMPT: Final = """\
The body of {function} is missing: it only {stub}. Write it.

Its signature{documentation}. Its callers show what it must do; handle failures as this code base does.
"""
_STUBS: Final = {
    "python": "raises `NotImplementedError`", "javascript": "throws an error", "typescript": "throws an error",
    "go": "panics",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WrittenTests:
    """Tests that grade a written body: they fail without it.

    Attributes:
        main: the others.
        rare: those that run a line of the original which fewer than half of all run.
    """

    main: tuple[str, ...]
    rare: tuple[str, ...]


def completeness_items(material: ReadinessMaterial, counts: Counter[str] | None = None) -> list[ReadinessItem]:
    """Return the items of the task, at most `material.wanted`; without tests none.

    Functions with handlers or several branches come first.

    Args:
        material: the code base and its tests.
        counts: gets the yields, by name.

    Raises:
        ToolError: the tests cannot be run.
    """
    yields = Counter[str]() if counts is None else counts
    if material.runner is None or not material.tests.tests:
        return []
    ground = EditGround.of(material)
    eligible = [covered.function for covered in ground.covered.values() if _is_eligible(covered, ground)]
    yields["bodies that can be masked"] = len(eligible)
    rich = [function for function in eligible if function.handlers or function.branches >= _LEAST_BRANCHES]
    accepted: Counter[str] = Counter()
    items: list[ReadinessItem] = []
    for pool in (rich, [function for function in eligible if function not in rich]):
        for drawn in ground.draws(pool, material.wanted, accepted, _SPARE):
            yields["bodies tried"] += len(drawn)
            for covered, tests in _tested(material, drawn):
                item = _item(ground, covered, tests) if tests else None
                yields[_yield_name(tests, item)] += 1
                path = covered.function.path
                if item and accepted[path] < MOST_PER_FILE and len(items) < material.wanted:
                    accepted[path] += 1
                    items.append(item)
    return items


def _yield_name(tests: WrittenTests | None, item: ReadinessItem | None) -> str:
    if tests is None:
        return "bodies whose faults no test notices"
    return "bodies under test" if item else "bodies whose tests cannot be controlled"


def _is_eligible(covered: CoveredFunction, ground: EditGround) -> bool:
    function, functions = covered.function, ground.material.index.functions
    owner = function.name.rpartition(".")[0]
    is_nested = bool(owner) and f"{function.path}::{owner}" in functions
    is_declared = any(re.search(r"(overload|abstractmethod)$", name) for name in function.decorators)
    return (
        function.statements in _STATEMENTS
        and len(covered.tests) >= _LEAST_TESTS
        and not is_nested
        and not is_declared
        and masked_body(covered.file, function) is not None
    )


def _tested(
    material: ReadinessMaterial, drawn: Sequence[CoveredFunction]
) -> Iterator[tuple[CoveredFunction, WrittenTests | None]]:
    """Yield the tests that notice a missing body and an empty one (in Go: a changed line); None if there are none."""
    probes = [
        Probe(covered.function.id, (fault,), covered.most_specific(), covered.covering)
        for covered in drawn
        for fault in (masked_body(covered.file, covered.function), _small_fault(material, covered))
        if fault
    ]
    noticing = {covered.function.id: set(covered.most_specific()) for covered in drawn}
    for probe, failures in zip(probes, run_probes(material, probes), strict=True):
        noticing[probe.function] &= set(failures or ())
    for covered in drawn:
        tests = noticing[covered.function.id]
        yield covered, _split(covered, tests) if tests else None


def _small_fault(material: ReadinessMaterial, covered: CoveredFunction) -> Mutant | None:
    faults = mutants(covered.file, covered.function, material.seed)
    return empty_body(covered.file, covered.function) or next(
        (fault for fault in faults if fault.span.first in covered.lines), None
    )


def _split(covered: CoveredFunction, noticing: set[str]) -> WrittenTests:
    """Split tests into main and rare ones; if each is rare, all are main."""
    tests = [test for test in covered.tests if test.id in noticing]
    path, body = covered.file.path, covered.function.body
    counts = Counter(line for test in tests for line in test.lines[path] if line in body)
    rare_lines = {line for line, count in counts.items() if count < len(tests) / 2}
    rare = sorted(test.id for test in tests if rare_lines & test.lines[path])
    main = sorted(noticing - set(rare))
    return WrittenTests(tuple(main), tuple(rare)) if main else WrittenTests(tuple(rare), ())


def _item(ground: EditGround, covered: CoveredFunction, tests: WrittenTests) -> ReadinessItem | None:
    """Return the item of a masked body; None if no control can be run beside the tests."""
    function, index = covered.function, ground.material.index
    graded = [*tests.main, *tests.rare]
    control, mask = ground.control(graded), masked_body(covered.file, function)
    if control is None or mask is None:
        return None
    cut = without_tests(index, spans_naming(index, function.short_name))
    key = {**ground.key(graded, control), "path": function.path, "main": list(tests.main), "rare": list(tests.rare)}
    graded_files = {test.partition("::")[0] for test in graded}
    documentation = " and its documentation stay as they are" if function.docstring else " stays as it is"
    return ReadinessItem(
        id=item_id("write", function, ground.material.seed),
        dimension="semantic-completeness",
        anchor=function.id,
        anchor_digest=function_digest(index, function),
        files=(function.path, *sorted(graded_files)),
        prompt=_PROMPT.format(
            function=shown_name(function), stub=_STUBS[function.language], documentation=documentation
        ),
        has_shell=True,
        parts=tuple(_parts(ground, function, tests, key)),
        start=(ChangedText(path=function.path, text=with_mutants(covered.file.text, [mask])), *cut),
        solution=(ChangedText(path=function.path, text=covered.file.text),),
        hidden=ground.originals({*graded_files, *(change.path for change in cut)}),
        tests=tuple(sorted(graded)),
        notes={
            "main tests": str(len(tests.main)),
            "rare tests": str(len(tests.rare)),
            "branches": str(function.branches),
            "handlers": str(len(function.handlers)),
        },
    )


def _parts(ground: EditGround, function: Function, tests: WrittenTests, key: dict[str, Any]) -> Iterator[ItemPart]:
    yield ItemPart(id="functional", form="write", weight=40, key=key)
    if tests.rare:
        yield ItemPart(id="edge", form="write-edge", weight=20, key=key)
    rules = mined_rules(ground.material.index, function, OF_SIGNATURE)
    if rules:
        names = {"language": function.language, "name": function.name, "rules": rules}
        yield ItemPart(id="patterns", form="write-patterns", weight=40, key={**key, **names})
