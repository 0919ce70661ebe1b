"""Task 2, Modification Confidence: repair a function in which a guard is gone, or one line is wrong."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

from scylla_gha.model.readiness import ChangedText, ItemPart, ReadinessItem
from scylla_gha.readiness.anchors import function_digest
from scylla_gha.readiness.edit_items import (
    MOST_PER_FILE,
    CoveredFunction,
    EditGround,
    item_id,
    killed_faults,
    log_of,
    shown_name,
)
from scylla_gha.readiness.hidden_tests import spans_of_tests, without_tests
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.mutations import GUARD_REMOVED, Mutant, guard_removals, mutants, with_mutants
from scylla_gha.readiness.patterns import mined_rules
from scylla_gha.readiness.probes import Failures

_MOST_GUARDS: Final = 2  # guards of a function that are tried
_MOST_FAULTS: Final = 4
_SPARE: Final = 0.4  # in about a third of the functions no fault is noticed
_PROMPT: Final = """\
This test fails since a recent change in {function}:

{log}

Repair it with a change as small as possible. The test is right: change the code, not the test.
"""


def modification_items(material: ReadinessMaterial, counts: Counter[str] | None = None) -> list[ReadinessItem]:
    """Return the items of the task, at most `material.wanted`; without tests none.

    Functions with guards that tests run come first.

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
    yields["functions under test"] = len(ground.covered)
    guarded = [covered.function for covered in ground.covered.values() if _guards(material, covered)]
    yields["functions with guards under test"] = len(guarded)
    names = {function.id for function in guarded}
    others = [covered.function for name, covered in ground.covered.items() if name not in names]
    accepted: Counter[str] = Counter()
    items: list[ReadinessItem] = []
    for drawn in chain.from_iterable(
        ground.draws(pool, material.wanted, accepted, _SPARE) for pool in (guarded, others)
    ):
        yields["functions tried for a repair"] += len(drawn)
        faults = [(covered, _faults(material, covered)) for covered in drawn]
        for covered, fault, failures in killed_faults(material, faults):
            path = covered.function.path
            item = _item(ground, covered, fault, failures) if fault else None
            yields[_yield_name(fault, item)] += 1
            if item and accepted[path] < MOST_PER_FILE and len(items) < material.wanted:
                accepted[path] += 1
                items.append(item)
    return items


def _yield_name(fault: Mutant | None, item: ReadinessItem | None) -> str:
    if fault is None:
        return "functions without a fault that a test notices"
    if item is None:
        return "functions whose tests cannot be controlled"
    return "guards whose removal a test notices" if fault.name == GUARD_REMOVED else "faults that a test notices"


def _guards(material: ReadinessMaterial, covered: CoveredFunction) -> list[Mutant]:
    """Return the function without each guard that a test runs; at most two."""
    lines = covered.lines
    removals = guard_removals(covered.file, covered.function, material.seed) if covered.function.guards else ()
    return [*islice((fault for fault in removals if fault.span.first in lines), _MOST_GUARDS)]


def _faults(material: ReadinessMaterial, covered: CoveredFunction) -> list[Mutant]:
    """Return faults in lines that a test runs: removed guards first."""
    lines = covered.lines
    changed = (fault for fault in mutants(covered.file, covered.function, material.seed) if fault.span.first in lines)
    return [*islice(chain(_guards(material, covered), changed), _MOST_FAULTS)]


def _item(ground: EditGround, covered: CoveredFunction, fault: Mutant, failures: Failures) -> ReadinessItem | None:
    """Return the item of a fault; None if no control can be run beside the tests."""
    function, index = covered.function, ground.material.index
    control = ground.control(failures)
    shown = next((test.id for test in covered.tests if failures.get(test.id)), None)
    if control is None or shown is None:
        return None
    cut = _cut(ground, shown, failures)
    others = ground.others(failures)
    key = {**ground.key([*failures, *others], control), "path": function.path,
           "failing": sorted(failures), "others": others}  # fmt: skip
    graded_files = {test.partition("::")[0] for test in (*failures, *others)}
    start = ChangedText(path=function.path, text=with_mutants(covered.file.text, [fault]))
    return ReadinessItem(
        id=item_id("repair", function, ground.material.seed),
        dimension="modification-confidence",
        anchor=function.id,
        anchor_digest=function_digest(index, function),
        files=(function.path, *sorted(graded_files)),
        prompt=_PROMPT.format(function=shown_name(function), log=log_of(shown, failures[shown])),
        has_shell=True,
        parts=tuple(_parts(ground, covered, fault, key)),
        start=(start, *cut),
        solution=(ChangedText(path=function.path, text=covered.file.text),),
        hidden=ground.originals({*graded_files, *(change.path for change in cut)}),
        tests=tuple(sorted({*failures, *others})),
        notes={"fault": fault.name, "failing tests": str(len(failures)), "shown test": shown},
    )


def _cut(ground: EditGround, shown: str, failures: Failures) -> tuple[ChangedText, ...]:
    """Return the test files without the other failing tests; those of the shown test's function stay with it."""
    index = ground.material.index
    stays = spans_of_tests(index, [shown])
    hidden = spans_of_tests(index, [test for test in failures if test != shown])
    return without_tests(index, {path: spans - stays.get(path, set()) for path, spans in hidden.items()})


def _parts(ground: EditGround, covered: CoveredFunction, fault: Mutant, key: dict[str, Any]) -> Iterator[ItemPart]:
    function = covered.function
    lines = fault.before.count("\n") + fault.after.count("\n")
    yield ItemPart(id="correctness", form="repair", weight=50, key=key)
    yield ItemPart(id="scope", form="repair-scope", weight=30, key={**key, "reference_lines": lines})
    rules = mined_rules(ground.material.index, function)
    if rules:
        names = {"language": function.language, "name": function.name, "rules": rules}
        yield ItemPart(id="patterns", form="repair-patterns", weight=20, key={**key, **names})
