"""Questions on what depends on a function: which of several test files fail if it fails at once."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.readiness import ItemPart, ReadinessItem
from scylla_gha.readiness.anchors import function_digest, sample
from scylla_gha.readiness.answer_keys import answer_text
from scylla_gha.readiness.masked_body import masked_body
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.mutations import Mutant
from scylla_gha.readiness.probes import CoveringTests, Failures, Probe, run_probes
from scylla_gha.readiness.question_prompts import can_be_listed, item_id, prompt_of
from scylla_gha.readiness.source_code import Function

_PER_SIDE: Final = 4  # files that fail, and files that pass; with fewer files fewer
_LEAST_PER_SIDE: Final = 2
_MOST_RUNNING: Final = 6  # files that run the function; nearly all of them fail
_TESTS_PER_FILE: Final = 3  # that are run of a file that runs the function
_MOST_TESTS: Final = 30  # of a file that does not
_MOST_PER_FILE: Final = 3
_QUESTION: Final = """\
What depends on it?

Suppose that `{name}` in `{path}` failed at once whenever it is called: its first statement raises an error. All tests
of these files pass now:

{listed}

In which of these files would at least one test fail then? Name them in the list `fails`."""
_FORM: Final = "A file is written exactly as it is listed above."


@dataclass(frozen=True, slots=True)
class _Trial:
    """Function that fails at once, with the files of tests that run it and some that do not."""

    function: Function
    fault: Mutant
    running: tuple[str, ...]
    others: tuple[str, ...]
    probe: Probe


def failing_file_items(material: ReadinessMaterial, anchored: Iterable[Function], wanted: int) -> list[ReadinessItem]:
    """Return up to `wanted` questions on functions that are no anchors yet, as runs decide them.

    Raises:
        ToolError: the tests cannot be run.
    """
    left = _trials(material, list(anchored), wanted) if material.runner and wanted > 0 else []
    items: list[ReadinessItem] = []
    while left and len(items) < wanted:
        trials, left = left[: wanted - len(items)], left[wanted - len(items) :]
        results = run_probes(material, [trial.probe for trial in trials])
        candidates = (_item(material, trial, failures) for trial, failures in zip(trials, results, strict=True))
        items += [item for item in candidates if item is not None]
    return items


def _trials(material: ReadinessMaterial, anchored: Collection[Function], wanted: int) -> list[_Trial]:
    index, covering = material.index, CoveringTests.of(material.tests)
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in (test for test in material.tests.tests.values() if can_be_listed(test.file)):
        by_file[test.file].append(test.id)
    used, counts = {anchor.id for anchor in anchored}, Counter(anchor.path for anchor in anchored)
    trials = {
        function.id: trial
        for file in index.files.values()
        if not file.is_test and counts[file.path] < _MOST_PER_FILE
        for function in file.functions
        if function.id not in used and (trial := _trial(material, function, covering, by_file))
    }
    drawn = sample((trial.function for trial in trials.values()), material.seed, wanted + wanted // 2, _MOST_PER_FILE)
    return [trials[function.id] for function in drawn]


def _trial(
    material: ReadinessMaterial, function: Function, covering: CoveringTests, by_file: dict[str, list[str]]
) -> _Trial | None:
    tests = covering.of_function(function)
    running: Sequence[str] = sorted({test.file for test in tests} & by_file.keys())
    others = sorted(by_file.keys() - set(running))
    if min(len(running), len(others)) < _LEAST_PER_SIDE:
        return None
    fault = masked_body(material.index.files[function.path], function)
    if fault is None:
        return None
    running = _ordered(function, running)[:_MOST_RUNNING]
    own = [_ordered(function, (test.id for test in tests if test.file == file)) for file in running]
    chosen = [name for names in own for name in names[:_TESTS_PER_FILE]]
    passing = [file for file in _ordered(function, others) if len(by_file[file]) <= _MOST_TESTS][:_PER_SIDE]
    ran = frozenset((*chosen, *(name for file in passing for name in by_file[file])))
    probe = Probe(function.id, (fault,), ran, frozenset(test.id for test in tests))
    return _Trial(function, fault, tuple(running), tuple(passing), probe)


def _item(material: ReadinessMaterial, trial: _Trial, failures: Failures | None) -> ReadinessItem | None:
    function = trial.function
    files = {material.tests.tests[test].file for test in failures or ()}
    failing = [file for file in trial.running if file in files]
    passing = [file for file in trial.others if file not in files]
    size = min(len(failing), len(passing), _PER_SIDE)
    if size < _LEAST_PER_SIDE:
        return None
    right, listed = sorted(failing[:size]), _ordered(function, [*failing[:size], *passing[:size]])
    text = _QUESTION.format(name=function.name, path=function.path, listed="\n".join(f"- `{file}`" for file in listed))
    part = ItemPart(
        id="fails", form="fails", weight=100, key={"listed": listed, "failing": right}, candidates=tuple(listed)
    )
    return ReadinessItem(
        id=item_id("fails", function, material.seed),
        dimension="cross-file-coherence",
        anchor=function.id,
        anchor_digest=function_digest(material.index, function),
        files=tuple(sorted({function.path, *listed})),
        prompt=prompt_of([text], {"fails": ["tests/test_basket.py", "tests/test_stock.py"]}, [_FORM]),
        has_shell=False,
        parts=(part,),
        solution=(answer_text({"fails": right}),),
        notes={"step": "failing files", "listed": str(len(listed))},
    )


def _ordered(function: Function, names: Iterable[str]) -> Sequence[str]:
    return sorted(names, key=lambda name: hashlib.sha256(f"{function.id}\0{name}".encode(errors="replace")).hexdigest())
