"""Figures of the validity table that need no session: guessing levels, the lexical agent, and twins."""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from scylla_gha.config.library import Library
from scylla_gha.images import SandboxPool
from scylla_gha.model.readiness import ChangedText, Dimension, GuessLevel, ItemPart, ItemSet, ObservedTrial
from scylla_gha.model.trial import Outcome
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.documented_intents import without_docstring
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.graders.answers import grade
from scylla_gha.readiness.guessers import guess_levels
from scylla_gha.readiness.history_intents import Intent
from scylla_gha.readiness.intent_task import anchored_intents
from scylla_gha.readiness.lexical_agent import LexicalAgent
from scylla_gha.readiness.make_suite import main_language, recorded
from scylla_gha.readiness.material import ReadinessMaterial, WorkingCopy, repository_of, working_copy
from scylla_gha.readiness.recorded_tests import TestMap
from scylla_gha.readiness.score import score
from scylla_gha.readiness.source_code import Function
from scylla_gha.readiness.test_map import runner_of
from scylla_gha.readiness.twin_items import items_in_twin
from scylla_gha.readiness.twins import EXPECTED_LOSSES, Twin, TwinKind, make_twin, twin_holds
from scylla_gha.stats.resampling import Resampling
from tests.benchmarks.readiness_validity_sources import ROOT, Source

TWINS: Final[tuple[tuple[TwinKind, float], ...]] = (
    ("names", 0.25), ("names", 0.5), ("names", 1.0), ("docs", 1.0), ("merging", 1.0), ("types", 1.0),
)  # fmt: skip
QUESTIONS: Final[tuple[Dimension, ...]] = ("intent-clarity", "cross-file-coherence")
FORMS: Final = ("locate", "explain", "context", "completeness", "accuracy", "fails")
INTENTS: Final = 150


@dataclass(frozen=True)
class CodeBase:
    """Working copy of a code base with its index, beside the items of its run."""

    source: Source
    copy: WorkingCopy
    material: ReadinessMaterial
    items: ItemSet

    @classmethod
    def of(cls, source: Source, root: Path, items: ItemSet, folder: Path) -> "CodeBase":
        """Copy and index a code base."""
        shutil.rmtree(folder, ignore_errors=True)
        checkout = repository_of(root)
        copy = working_copy(checkout, folder)
        index = build_index(copy.root)
        language = main_language(index)
        none = TestMap({}, reason="not recorded")
        return cls(source, copy, ReadinessMaterial(copy.root, index, none, None, checkout, 0, INTENTS, language), items)

    @cached_property
    def agent(self) -> LexicalAgent:
        """Lexical agent that has read the code base."""
        return LexicalAgent(self.material.index)

    @cached_property
    def intents(self) -> Sequence[tuple[Function, Intent]]:
        """Functions that the history or a docstring tells the intent of; the history is read once."""
        return anchored_intents(self.material, Counter())

    def environment(self) -> CodeEnvironment:
        """Return where its tests run."""
        return detect_environment(self.copy.root, self.material.language,
                                  SandboxPool("bubblewrap", Library.here(ROOT)).target)  # fmt: skip


def share(part: ItemPart, answer: object) -> float:
    return float(grade(part.id, part.key, answer))


def levels_of(base: CodeBase) -> tuple[GuessLevel, ...]:
    sizes = {path: len(file.text) for path, file in base.material.index.files.items()}
    return guess_levels(base.items, share, sizes=sizes, draws=200)


def agent_figures(base: CodeBase) -> dict[str, Any]:
    """Return the level of guessing by form, the lexical agent's scores, and how often it finds a target."""
    levels = levels_of(base)
    worth = {level.form: level.level for level in levels}
    shown = {form: next((worth[name] for name in worth if name.startswith(form)), None) for form in FORMS}
    hits, count = located(base, None, base.agent)
    return {"levels": shown, "lexical": lexical_scores(base.items, base.agent, levels), "hits": hits, "intents": count}


def lexical_scores(items: ItemSet, agent: LexicalAgent, levels: Sequence[GuessLevel]) -> dict[Dimension, float]:
    trials = []
    for item in items.items:
        answer = {} if item.has_shell else agent.answer(item)
        parts = {part.id: share(part, answer) for part in item.parts if not item.has_shell and not part.from_trace}
        trials.append(ObservedTrial(item=item.id, outcome=Outcome.COMPLETED, parts=parts))
    result = score(items, trials, levels, Resampling(draws=99))
    return {row.dimension: row.score for row in result.dimensions if row.score is not None}


def located(base: CodeBase, twin: Twin | None, agent: LexicalAgent) -> tuple[float, int]:
    """Return how often the lexical agent has a target among its first five, and over how many intents."""
    hits, files = [], base.material.index.files
    for anchor, intent in base.intents:
        bare = None if intent.commit else without_docstring(files[anchor.path], anchor)
        if twin is not None and bare is not None:
            bare = twin.transform(anchor.path, bare)
        targets = {twin.id_of(target) if twin else target for target in intent.targets}
        changes = [] if bare is None else [ChangedText(path=anchor.path, text=bare)]
        if not targets.isdisjoint(agent.index.functions):
            hits.append(bool(targets & set(agent.locate(intent.text, 5, changes))))
    return (sum(hits) / len(hits) if hits else 0.0), len(hits)


def twin_figures(base: CodeBase, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of each twin: if its tests pass, and what the lexical agent scores before and after."""
    environment = base.environment()
    tests = recorded(base.copy, environment, base.material.index, base.source.tests, lambda _: None)
    material = replace(base.material, tests=tests, runner=runner_of(environment) if tests.tests else None)
    levels = levels_of(base)
    for kind, dose in TWINS:
        copy = folder / f"{kind}-{dose:g}"
        twin = make_twin(base.copy.root, kind, dose, 0, copy, base.material.language)
        figures = _twin_scores(base, twin, levels) if twin.changed_files else {}
        yield {"twin": f"{kind} {100 * dose:.0f} %", "holds": _holds(twin, material), **figures}
        shutil.rmtree(twin.root, ignore_errors=True)


def _holds(twin: Twin, material: ReadinessMaterial) -> str:
    """Return what the table says of a twin's tests."""
    if not twin.changed_files:
        return "nothing to change"
    if material.runner is None:
        return "not run"
    return "yes" if twin_holds(twin, material.runner, material.tests) else "NO"


def _twin_scores(base: CodeBase, twin: Twin, levels: Sequence[GuessLevel]) -> dict[str, Any]:
    agent = LexicalAgent(build_index(twin.root))
    asked = items_in_twin(base.items, twin, agent.index, base.items.tree)
    same = {item.id for item in asked.items}
    shared = base.items.model_copy(update={"items": tuple(item for item in base.items.items if item.id in same)})
    before, after = lexical_scores(shared, base.agent, levels), lexical_scores(asked, agent, levels)
    hits, count = located(base, twin, agent)
    pairs = {name: (before[name], after[name]) if name in before and name in after else None for name in QUESTIONS}
    expected = [pair[1] - pair[0] for number, name in ((1, QUESTIONS[0]), (3, QUESTIONS[1]))
                if number in EXPECTED_LOSSES[twin.kind] and (pair := pairs[name]) is not None]  # fmt: skip
    return {"hits": hits, "intents": count, "pairs": pairs, "sign": _sign(expected)}


def _sign(changes: Sequence[float]) -> str:
    if not changes:
        return "-"
    return "falls" if max(changes) < -1 else "RISES" if max(changes) > 1 else "within 1"
