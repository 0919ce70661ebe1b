"""Twins as sides of a suite: the same items on copies of the code that lack one property."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scylla_gha.model.readiness import DIMENSIONS, SuiteFacts, TwinEffect
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.material import ReadinessMaterial, copy_of_folder
from scylla_gha.readiness.source_code import Language
from scylla_gha.readiness.suite import SuiteSide
from scylla_gha.readiness.twin_items import items_in_twin
from scylla_gha.readiness.twins import TWIN_KINDS, TWIN_LANGUAGES, Twin, TwinKind, make_twin, twin_holds

_WORDS: Final[dict[TwinKind, str]] = {
    "names": "names without meaning",
    "docs": "documentation removed",
    "merging": "functions merged into their only callers",
    "types": "types removed",
}
_TITLES: Final[dict[Language, str]] = {
    "python": "Python", "javascript": "JavaScript", "typescript": "TypeScript", "go": "Go",
}  # fmt: skip
_TYPE_CHECKERS: Final = ("ts-jest", "ts-node", "--typecheck")
_DOSE: Final = 1.0


@dataclass(frozen=True, slots=True)
class BuiltSide:
    """Side of a suite, its facts, and the material that its items were made from."""

    side: SuiteSide
    facts: SuiteFacts
    material: ReadinessMaterial


def twin_sides(
    base: BuiltSide, seed: int, root: Path, report: Callable[[str], None]
) -> Iterator[BuiltSide | TwinEffect]:
    """Yield a side for each kind of twin, or the reason why it cannot be measured.

    Args:
        base: the measured code base.
        seed: seed of the changes.
        root: folder for the copies.
        report: gets lines of progress.
    """
    for kind in TWIN_KINDS:
        twin = _twin(base, kind, seed, root / kind)
        if isinstance(twin, TwinEffect):
            report(f"{_WORDS[kind]}: {twin.missing}")
            yield twin
        else:
            yield _built(base, twin, root / f"{kind}-git")


def _twin(base: BuiltSide, kind: TwinKind, seed: int, target: Path) -> Twin | TwinEffect:
    def unusable(reason: str) -> TwinEffect:
        return TwinEffect(name=kind, what=_WORDS[kind], missing=reason)

    material = base.material
    if material.language not in TWIN_LANGUAGES:
        return unusable(f"n/a: {_TITLES[material.language]} code cannot be changed safely; Python, JavaScript and "
                        "TypeScript code can")  # fmt: skip
    if material.runner is None:
        return unusable("n/a: no test shows that a changed copy does the same")
    if kind == "merging" and material.language != "python":
        return unusable("n/a: few functions qualify; only functions of Python are merged")
    twin = make_twin(material.root, kind, _DOSE, seed, target, material.language)
    if not twin.changed_files:
        return unusable("n/a: there is nothing of it to take away")
    if not twin_holds(twin, material.runner, material.tests):
        note = _checker_note(kind, material.root)
        return unusable(f"n/a: tests fail in the changed copy, so it does not count{note}")
    return twin


def _checker_note(kind: TwinKind, root: Path) -> str:
    """Return a note on a test runner that checks types; "" if the code base names none."""
    package = root / "package.json"
    text = package.read_text(encoding="utf-8", errors="replace") if kind == "types" and package.is_file() else ""
    checker = next((name for name in _TYPE_CHECKERS if name in text), None)
    return f"; types are checked by {checker} before tests run" if checker else ""


def _built(base: BuiltSide, twin: Twin, folder: Path) -> BuiltSide:
    copy = copy_of_folder(twin.root, folder, base.side.copy.commit)
    items = items_in_twin(base.side.items, twin, build_index(twin.root), copy.tree)
    side = replace(base.side, name=twin.kind, items=items, copy=copy)
    renamed = {item.anchor: twin.id_of(item.anchor) for item in base.side.items.items}
    planned = {name: sum(item.dimension == name for item in items.items) for name in base.facts.planned}
    facts = base.facts.model_copy(update={
        "side": twin.kind,
        "tree": copy.tree,
        "yields": {f"anchors of {DIMENSIONS[name]}": count for name, count in planned.items()},
        "planned": planned,
        "notes": (_WORDS[twin.kind],),
        "renamed": {old: new for old, new in renamed.items() if old != new},
    })  # fmt: skip
    return BuiltSide(side, facts, base.material)
