"""Items of the wanted dimensions from the material of a code base, with the reasons of dimensions that do not apply."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.readiness import DIMENSIONS, Dimension, ItemSet, MissingDimension, ReadinessItem
from scylla_gha.readiness.coherence_task import coherence_items
from scylla_gha.readiness.completeness_task import completeness_items
from scylla_gha.readiness.intent_task import intent_items
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.modification_task import modification_items
from scylla_gha.readiness.score import FEWEST_ANCHORS
from scylla_gha.system.future_wait import run_at_once

_MAKERS: Final[Mapping[Dimension, Callable[[ReadinessMaterial, Counter[str]], list[ReadinessItem]]]] = {
    "intent-clarity": intent_items,
    "modification-confidence": modification_items,
    "cross-file-coherence": coherence_items,
    "semantic-completeness": completeness_items,
}
_NEED_TESTS: Final = frozenset({"modification-confidence", "semantic-completeness"})
_TOO_FEW: Final[Mapping[Dimension, str]] = {
    "intent-clarity": "too few have a commit message or documentation that says what they do",
    "modification-confidence": "too little is covered by tests",
    "cross-file-coherence": "too few calls lead over files",
    "semantic-completeness": "too little is covered by tests",
}
Report = Callable[[str], None]


def make_items(
    material: ReadinessMaterial, dimensions: Sequence[Dimension], tree: str, report: Report = lambda _: None
) -> ItemSet:
    """Return the items of the wanted dimensions, and the reasons of those that do not apply."""
    with ExitStack() as stack:
        if material.runner is not None:
            files = {test.file for test in material.tests.tests.values()}
            material = replace(material, runner=stack.enter_context(material.runner.kept(material.root, files)))
        return _made(material, dimensions, tree, report)


def _made(material: ReadinessMaterial, dimensions: Sequence[Dimension], tree: str, report: Report) -> ItemSet:
    items: list[ReadinessItem] = []
    yields: Counter[str] = Counter()
    missing: list[MissingDimension] = []
    possible = [name for name in dimensions if name not in _NEED_TESTS or material.runner]
    by_dimension = _made_at_once(material, possible, report)
    for name in dimensions:
        if name not in by_dimension:
            reason = f"no test can be run: {material.tests.reason or 'there is none'}"
            missing.append(MissingDimension(dimension=name, reason=reason))
            continue
        own, counts = by_dimension[name]
        yields.update(counts)
        items += own
        if len(own) < FEWEST_ANCHORS:
            missing.append(MissingDimension(dimension=name, reason=few(len(own), name)))
    missing += [
        MissingDimension(dimension=name, reason="not asked for") for name in DIMENSIONS if name not in dimensions
    ]
    short = {lack.dimension for lack in missing}
    scored = [item for item in items if item.dimension not in short]
    return ItemSet(
        tree=tree, seed=material.seed, language=material.language, items=tuple(_numbered(scored)),
        missing=tuple(missing), counts=_counts(material, items) | dict(yields),
    )  # fmt: skip


def _made_at_once(
    material: ReadinessMaterial, names: Sequence[Dimension], report: Report
) -> dict[Dimension, tuple[list[ReadinessItem], Counter[str]]]:
    """Return items and yields of dimensions; while one waits for its tests, others run theirs."""

    def make(name: Dimension) -> tuple[list[ReadinessItem], Counter[str]]:
        yields = Counter[str]()
        items = _MAKERS[name](material, yields)
        report(f"{DIMENSIONS[name]}: {counted(len(items), 'anchor')}")
        return items, yields

    stop = material.runner.stop if material.runner else bool
    results = run_at_once([partial(make, name) for name in names], len(names), stop)
    return dict(zip(names, results, strict=True))


def few(count: int, name: Dimension) -> str:
    """Return why a dimension with so few anchors has no score."""
    qualified = counted(count, "function qualifies", "functions qualify")
    return f"{qualified}, {FEWEST_ANCHORS} are needed: {_TOO_FEW[name]}"


def _numbered(items: Sequence[ReadinessItem]) -> list[ReadinessItem]:
    """Return items with unique ids: the number is that of the dimension's hundred and the place in it."""
    order = {name: number for number, name in enumerate(DIMENSIONS, 1)}
    used: Counter[Dimension] = Counter()
    numbered = []
    for item in items:
        used[item.dimension] += 1
        number = order[item.dimension] * 200 + used[item.dimension]
        numbered.append(item.model_copy(update={"id": f"{number:03d}-{item.id.partition('-')[2]}"}))
    return numbered


def _counts(material: ReadinessMaterial, items: Sequence[ReadinessItem]) -> dict[str, int]:
    own = [function for function in material.index.functions.values() if not _is_test(material, function.path)]
    by_dimension = Counter(item.dimension for item in items)
    return {
        "functions": len(own),
        "files": sum(not file.is_test for file in material.index.files.values()),
        "skipped files": len(material.index.skipped),
        "stable tests": len(material.tests.tests),
        "unstable tests": len(material.tests.unstable),
        **{f"anchors of {DIMENSIONS[name]}": count for name, count in by_dimension.items()},
    }


def _is_test(material: ReadinessMaterial, path: str) -> bool:
    return path in material.index.files and material.index.files[path].is_test
