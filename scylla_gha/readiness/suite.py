"""Suite of items: an ordinary folder of configuration with one scenario for each item, and an experiment.

```
<suite>/config/experiments/readiness.yaml
<suite>/scenarios/readiness/<NNN-item>[.<side>]/   scenario.yaml prompt.md rubric.yaml checks/ solution/ wrong/
<suite>/fixtures/readiness[.<side>].bundle         start states: one commit without parent for each
<suite>/items[.<side>].json                        the items
```
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from scylla_gha.agents import AGENTS
from scylla_gha.config.scenario_folder import changed_lines
from scylla_gha.model import Record, slug
from scylla_gha.model.experiment import Experiment, SandboxWish
from scylla_gha.model.readiness import (
    ANSWER_FIELDS,
    ANSWER_FILE,
    DIMENSIONS,
    ChangedText,
    Dimension,
    ItemPart,
    ItemSet,
    ReadinessItem,
    scenario_id,
)
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.scenario import (
    Category,
    Checkpoint,
    FixtureSource,
    Item,
    ProgressStep,
    Rubric,
    Scenario,
    ScenarioTask,
    Validation,
    WorkflowCategory,
    size_of,
)
from scylla_gha.readiness.material import WorkingCopy
from scylla_gha.readiness.start_commits import StartCommits
from scylla_gha.store import write_bytes, write_record, write_text

SUITE: Final = "readiness"
VARIANT: Final = "T0/01-vanilla"
QUESTION_TOOLS: Final = ("Read", "Grep", "Glob", "Write")
SECONDS: Final = 300  # of each session, as the seed has it
_CHECK_SECONDS: Final = 300
_KINDS: Final[Mapping[Dimension, WorkflowCategory]] = {
    "intent-clarity": "review",
    "modification-confidence": "bug_fixing",
    "cross-file-coherence": "review",
    "semantic-completeness": "new_features",
}


@dataclass(frozen=True, slots=True)
class SuiteSide:
    """Code base of a suite.

    Attributes:
        name: "" for the measured commit; "head", or a twin's name, for another one that it is compared with.
        tools: programs and packages for agents and checks.
        graders: files of `checks/` by name, for questions and for edits.
        files: files that the tests need and the commit has not; edits start with them.
    """

    name: str
    items: ItemSet
    copy: WorkingCopy
    tools: Tools
    graders: "GraderFiles"
    files: tuple[ChangedText, ...] = ()


@dataclass(frozen=True, slots=True)
class GraderFiles:
    """Programs that grade, by file name: the first of each is called with the name of a part."""

    questions: Mapping[str, str]
    edits: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """Settings of the experiment."""

    agent: str
    model: str
    budget_usd: float | None
    sandbox: SandboxWish
    seed: int


def write_suite(folder: Path, sides: Sequence[SuiteSide], settings: SuiteSettings) -> None:
    """Write the scenarios of all sides, their start states, and the experiment.

    Args:
        folder: a new folder, which becomes a repository of configuration.
        sides: code bases whose items are asked in one run, in turn.
        settings: of the experiment.

    Raises:
        FixtureError: git cannot make a start state.
    """
    for side in sides:
        _write_side(folder, side)
    write_experiment(folder, settings)


def write_experiment(folder: Path, settings: SuiteSettings) -> None:
    """Write the experiment of a suite, in the place of one for another agent or model."""
    write_yaml(folder / "config" / "experiments" / f"{SUITE}.yaml", suite_experiment(settings))


def suite_experiment(settings: SuiteSettings) -> Experiment:
    """Return the experiment that asks all items of a suite once."""
    name = settings.agent.partition("@")[0]
    uses_model = name in AGENTS and AGENTS[name].uses_model
    arm = ".".join(slug(part) for part in (VARIANT, name, settings.model)) if uses_model else slug(name)
    return Experiment(
        id=SUITE,
        question="How well can an agent work in this code base?",
        scenarios=(f"{SUITE}/*",),
        agents=(settings.agent,),
        variants=(VARIANT,),
        models=(settings.model,),
        repetitions=1,
        baseline=arm,
        seed=settings.seed,
        sandbox=settings.sandbox,
        budget_usd=settings.budget_usd,
    )


def items_file(folder: Path, side: str) -> Path:
    """Return the path of a side's items in a suite."""
    return folder / f"items{f'.{side}' if side else ''}.json"


def write_yaml(path: Path, record: Record) -> None:
    """Write a record as a YAML file of configuration, without what is a default."""
    fields = record.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    write_text(path, yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120))


def _write_side(folder: Path, side: SuiteSide) -> None:
    commits, items = StartCommits.of(side.copy), side.items.items
    opened = tuple(commits.answer_changes())
    starts = [(*(side.files if item.has_shell else opened), *item.start) for item in items]
    ends = [[*start, *item.solution] for start, item in zip(starts, items, strict=True)]
    wrongs = [(number, name, [*starts[number], *texts])
              for number, item in enumerate(items) for name, texts in _wrong_texts(item, side.copy.root)]  # fmt: skip
    written = commits.write([*starts, *ends, *(texts for _, _, texts in wrongs)])
    bundle = f"{SUITE}{f'.{side.name}' if side.name else ''}.bundle"
    if items:
        commits.bundle(written[: len(items)], folder / "fixtures" / bundle, side.name or "measured")
    for number, item in enumerate(items):
        target = folder / "scenarios" / SUITE / scenario_id(item.id, side.name)
        start, end = written[number], written[len(items) + number]
        solution = commits.patch(start, end)
        offset = 2 * len(items)
        wrong = {f"wrong/{name}": commits.patch(start, written[offset + at])
                 for at, (owner, name, _) in enumerate(wrongs) if owner == number}  # fmt: skip
        source = FixtureSource(repo=f"./fixtures/{bundle}", hash=start)
        _write_scenario(target, item, side, source, {"solution/solution": solution, **wrong})
    write_record(items_file(folder, side.name), side.items)


def _write_scenario(
    target: Path, item: ReadinessItem, side: SuiteSide, source: FixtureSource, patches: Mapping[str, bytes]
) -> None:
    for name, patch in patches.items():
        write_bytes(target / f"{name}.patch", patch)
    write_text(target / "prompt.md", item.prompt)
    graders = side.graders.edits if item.has_shell else side.graders.questions
    for name, text in graders.items():
        write_text(target / "checks" / name, text)
    write_text(target / "checks" / "key.json", json.dumps(key_of(item), indent=1, sort_keys=True))
    for hidden in item.hidden:
        if hidden.text is not None:
            write_text(target / "checks" / "hidden" / hidden.path, hidden.text)
    lines = changed_lines(patches["solution/solution"])
    write_yaml(target / "rubric.yaml", _rubric(item))
    write_yaml(target / "scenario.yaml", _scenario(target.name, item, source, side.tools, next(iter(graders)), lines))


def key_of(item: ReadinessItem) -> dict[str, Any]:
    """Return the content of `key.json`: the key of each part by its id."""
    return {part.id: part.key for part in item.parts}


def _scenario(name: str, item: ReadinessItem, source: FixtureSource, tools: Tools, grader: str, lines: int) -> Scenario:
    parts = _checked(item)
    return Scenario(
        id=name,
        title=f"{DIMENSIONS[item.dimension]}: {item.anchor.encode('ascii', 'backslashreplace').decode()}",
        category=_KINDS[item.dimension],
        size=size_of(lines),
        difficulty="medium",
        source=source,
        task=ScenarioTask(
            prompt_file="prompt.md", timeout_seconds=SECONDS, tools=None if item.has_shell else QUESTION_TOOLS
        ),
        validation=Validation(rubric_file="rubric.yaml", timeout_seconds=_CHECK_SECONDS),
        checkpoints=tuple(
            Checkpoint(id=part.id, what=_sentence(part), run=f'python3 "$CHECKS/{grader}" {part.id}', graduated=True)
            for part in parts
        ),
        progress=tuple(ProgressStep(step=_sentence(part), checkpoint=part.id) for part in parts),
        tiers=("T0",),
        runs_per_tier=1,
        tools=tools,
    )


def _checked(item: ReadinessItem) -> list[ItemPart]:
    """Return the parts that a checkpoint scores."""
    return [part for part in item.parts if not part.from_trace]


def _sentence(part: ItemPart) -> str:
    return f"The part {part.id} ({part.form}) is right"


def _rubric(item: ReadinessItem) -> Rubric:
    parts = _checked(item)
    total = sum(part.weight for part in parts)
    return Rubric(categories=tuple(
        Category(id=part.id, weight=part.weight / total, items=(
            Item(id=f"{part.id[0].upper()}{number}", text=_sentence(part), type="graduated", checks=(part.id,)),
        ))
        for number, part in enumerate(parts, 1)
    ))  # fmt: skip


def _wrong_texts(item: ReadinessItem, root: Path) -> Iterator[tuple[str, tuple[ChangedText, ...]]]:
    """Yield wrong answers: none and that of other candidates; for edits a note and a blank line."""
    if item.has_shell:
        yield "note-alone", (ChangedText(path="NOTES.md", text="# To do\n\nThis change is still to be made.\n"),)
        path = item.anchor.partition("::")[0]
        changed = (change.text for change in item.start if change.path == path)
        text = next(changed, None) or (root / path).read_text(encoding="utf-8", errors="surrogateescape")
        yield "blank-line-alone", (ChangedText(path=path, text=f"{text}\n"),)
        return
    answers = [change for change in item.solution if change.path == ANSWER_FILE and change.text]
    yield "no-answer", (ChangedText(path=ANSWER_FILE, text="{}\n"),)
    other = _other_answers(json.loads(answers[0].text or "{}"), item.parts) if answers else {}
    yield "other-answers", (ChangedText(path=ANSWER_FILE, text=f"{json.dumps(other)}\n"),)


def _other_answers(right: Mapping[str, object], parts: Iterable[ItemPart]) -> dict[str, list[str]]:
    candidates = {ANSWER_FIELDS.get(part.id, part.id): part.candidates for part in parts if part.candidates}
    return {name: [choice for choice in candidates.get(name, ()) if choice not in _list(answer)][: len(_list(answer))]
            for name, answer in right.items()}  # fmt: skip


def _list(answer: object) -> list[object]:
    return list(answer) if isinstance(answer, list) else [answer]
