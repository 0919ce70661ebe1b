"""Trigger queries of skills as a part of the measurement: their suite, and the answer of a run.

```
<suite>/config/skills/<name>/                      all skills that are installed
<suite>/scenarios/skill-<name>-triggers/<id>/      one for each query; its trial ends when the query is decided
<suite>/fixtures/skill-<name>-triggers.empty/      empty workspace; queries with files have fixtures of their own
```

A query that stands in the files of several skills is asked once. Ids of scenarios are made of the queries' texts, so
that a new query leaves the stored trials of the others in use.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.analysis.triggers import TriggerData, confusion, skill_triggers, swaps, trigger_notes
from scylla_gha.counting import counted
from scylla_gha.model import digest, slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.scenario import (
    Category,
    Checkpoint,
    FixtureSource,
    Item,
    ProgressStep,
    Rubric,
    Scenario,
    ScenarioTask,
    SkillStop,
    UseCondition,
    Validation,
)
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.model.triggers import TRIGGERS_FILE, LabelledQuery, SkillTriggers, TriggerReport, TriggerTrial
from scylla_gha.model.variant import SubTest, Tier
from scylla_gha.prepare.start_state import commit_of
from scylla_gha.report.document import clipped
from scylla_gha.report.trigger_sections import trigger_markdown, trigger_sections, trigger_sentence
from scylla_gha.skills.evals import BaseVersion, arm_id, base_version, installed_beside, skill_fault
from scylla_gha.skills.prompt_calls import calls, slash_call
from scylla_gha.skills.read_evals import SkillEval
from scylla_gha.skills.read_triggers import TriggerLabel
from scylla_gha.skills.report import CheckedSkill, SkillsCheck
from scylla_gha.skills.session import PartReport, Print, SkillPart, SkillRequest, cells_of
from scylla_gha.skills.suites import (
    BASE,
    BASE_FOLDER,
    TIER,
    skills_treatment,
    suite_name,
    write_experiment,
    write_files,
    write_plugin,
    write_skills,
    write_yaml,
)
from scylla_gha.store import read_record, write_record, write_text
from scylla_gha.store.run_folder import RunFolder

INSTALLED: Final = "01-installed"
USER_ONLY: Final = "only users can call it (disable-model-invocation)"
_SECONDS: Final = 300
_TRIGGERED: Final = "triggered"
_ANSWERED: Final = (Outcome.COMPLETED, Outcome.REFUSED)  # the conversation is whole, or was decided
_LONGEST_TITLE: Final = 80
_LONGEST_WORDS: Final = 40


@dataclass(slots=True)
class AskedQuery:
    """A query while the files of all skills are read; `skill_eval` has files for the workspace."""

    text: str
    expected: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)
    split: str = ""
    skill_eval: SkillEval | None = None

    @property
    def id(self) -> str:
        """Id of its scenario, which depends on its text and its files alone."""
        files = sorted(self.skill_eval.files) if self.skill_eval else []
        words = slug(self.text).replace(".", "-").replace("_", "-")[:_LONGEST_WORDS].strip("-") or "query"
        return f"000-{words}-{digest([self.text, files])[:8]}"

    def add(self, label: TriggerLabel, owner: CheckedSkill) -> None:
        """Take a label of a skill's file; a query that expects only other skills should not trigger that skill."""
        named = {_plain(name, owner) for name in label.expected}
        self.expected |= named
        self.rejected |= {_plain(name, owner) for name in label.rejected}
        if owner.name not in named:
            self.rejected.add(owner.name)

    def labelled(self, skills: Sequence[str]) -> LabelledQuery:
        """Return it with those of its skills that are measured."""
        expected = tuple(name for name in skills if name in self.expected)
        return LabelledQuery(
            id=self.id,
            text=self.text,
            expected=expected,
            rejected=tuple(name for name in skills if name in self.rejected - self.expected),
            split=self.split,
            by_name=bool(slash_call(self.text)) or any(calls(self.text, name) for name in skills),
        )


def _plain(name: str, owner: CheckedSkill) -> str:
    """Return the name of a label without its plugin; a skill's declared name is the name of its folder."""
    plain = name.rpartition(":")[2]
    return owner.name if plain in {known.rpartition(":")[2] for known in owner.invoked_as} else plain


def trigger_parts(request: SkillRequest, check: SkillsCheck, say: Print) -> Iterator[SkillPart]:
    """Write the suite of all queries, and yield it as one part; without distractors, each skill has its own."""
    if "triggers" not in request.kinds:
        return
    usable = [skill for skill in _first_of_each_name(check.skills) if _is_usable(skill, check, say)]
    groups = [[skill] for skill in usable] if request.distractors == "none" else [usable]
    with tempfile.TemporaryDirectory() as folder:
        base = base_version(request, check.root, Path(folder), say)
        for group in groups:
            queries = list(asked_queries(group, request, say))
            if any(_is_chosen(query.text, request) for query, _ in queries):
                yield _part(request, check, group, queries, base)


def _first_of_each_name(skills: Iterable[CheckedSkill]) -> list[CheckedSkill]:
    return list({skill.name: skill for skill in reversed(list(skills))}.values())[::-1]


def _is_usable(skill: CheckedSkill, check: SkillsCheck, say: Print) -> bool:
    if skill.user_only:
        say(f"{skill.name}: its queries are not run: {USER_ONLY}")
        return False
    fault = skill_fault(check.root / skill.folder)
    if fault:
        say(f"{skill.name}: its queries are not run: {fault}")
    return not fault


def asked_queries(
    skills: Sequence[CheckedSkill], request: SkillRequest, say: Print
) -> Iterator[tuple[LabelledQuery, SkillEval | None]]:
    """Yield the queries of all files of the skills, each once, with the eval whose files it needs.

    Queries that call a skill by its name say nothing about its description, and are left out.
    """
    asked: dict[str, AskedQuery] = {}
    for skill in skills:
        for file in skill.files:
            evals = {skill_eval.prompt: skill_eval for skill_eval in file.evals}
            for query in file.queries:
                known = AskedQuery(query.query, split=query.split, skill_eval=evals.get(query.query))
                asked.setdefault(known.id, known).add(query.label, skill)
    names, by_name = [skill.name for skill in skills], 0
    for entry in asked.values():
        labelled = entry.labelled(names)
        by_name += labelled.by_name and _is_chosen(entry.text, request)
        if not labelled.by_name and (labelled.expected or labelled.rejected):
            yield labelled, entry.skill_eval
    if by_name:
        say(f"{counted(by_name, 'query calls', 'queries call')} a skill by its name, which no rate is about: not run")


def _is_chosen(text: str, request: SkillRequest) -> bool:
    return not request.queries or any(part.lower() in text.lower() for part in request.queries)


def _part(
    request: SkillRequest,
    check: SkillsCheck,
    skills: Sequence[CheckedSkill],
    queries: Sequence[tuple[LabelledQuery, SkillEval | None]],
    base: BaseVersion,
) -> SkillPart:
    shown = skills[0].name if len(skills) == 1 else check.root.name
    names = [skill.name for skill in skills]
    name = f"{suite_name(shown)}-triggers"
    suite = request.clean_suite(name)
    current = {skill.name: check.root / skill.folder for skill in skills}
    asked = {name for query, _ in queries for name in (*query.expected, *query.rejected)}
    changed = {skill.name: base.folder(skill, current[skill.name]) for skill in skills if skill.name in asked}
    before = {name: folder for name, folder in changed.items() if folder is not None}
    if len({skill.invoked_as[-1].rpartition(":")[0] for skill in check.skills}) == 1:
        write_plugin(suite, skills[0].invoked_as)
    variants = _write_arms(suite, current, before, installed_beside(request, check, names, base.say))
    for query, skill_eval in queries:
        write_query(suite, name, query, skill_eval, request)
    experiment = Experiment(
        id=name,
        question=f"Do the skills of {shown} trigger when they should, and stay quiet when not?",
        scenarios=(f"{name}/*",),
        variants=tuple(f"{TIER}/{variant}" for variant in variants),
        agents=(request.agent,),
        models=(request.model,),
        sandbox=request.sandbox,
        repetitions=request.trigger_repetitions,
        baseline=arm_id(request, variants[-1]),
    )
    write_experiment(suite, experiment)

    def answer(plan: Plan, folder: RunFolder) -> PartReport:
        versions = {name: name in before for name in names}
        return trigger_answer(request, versions, [query for query, _ in queries], plan, folder)

    chosen = (query.id for query, _ in queries if _is_chosen(query.text, request))
    only = cells_of(chosen) if request.queries else ()
    return SkillPart("triggers", shown, name, suite, answer, first_alone=True, only=only)


def _write_arms(
    suite: Path, current: Mapping[str, Path], before: Mapping[str, Path], others: Sequence[Path]
) -> list[str]:
    """Write the skills, and those of the last version if one differs; return the ids of the sub-tests."""
    installed = write_skills(suite, [*current.values(), *others])
    sub_tests = [SubTest(id=INSTALLED, description="All skills are installed", treatment=skills_treatment(installed))]
    if before:
        write_skills(suite, [*{**current, **before}.values(), *others], BASE_FOLDER)
        last = skills_treatment(installed, BASE_FOLDER)
        sub_tests.append(SubTest(id=BASE, description=f"With the last version of {', '.join(before)}", treatment=last))
    tier = Tier(id=TIER, name="Skills", focus="Which skill triggers", sub_tests=tuple(sub_tests))
    write_yaml(suite / "config" / "tiers" / f"{TIER}.yaml", tier)
    return [sub_test.id for sub_test in sub_tests]


def write_query(
    suite: Path, name: str, query: LabelledQuery, skill_eval: SkillEval | None, request: SkillRequest
) -> None:
    """Write the scenario of a query; its workspace is empty but for the files of its eval.

    A trial passes if the skills triggered as the label says.
    """
    has_files = skill_eval is not None and bool(skill_eval.files)
    fixture = suite / "fixtures" / f"{name}.{query.id if has_files else 'empty'}"
    if skill_eval is not None and has_files:
        write_files(fixture, skill_eval)
    fixture.mkdir(parents=True, exist_ok=True)
    folder = suite / "scenarios" / name / query.id
    write_text(folder / "prompt.md", query.text)
    uses = UseCondition(
        all=tuple(f"skill/{name}" for name in query.expected),
        none=tuple(f"skill/{name}" for name in query.rejected),
        counts_reading=not request.strict,
    )
    item = Item(id="A1", text="The skills triggered as the query's label says", type="binary", checks=(_TRIGGERED,))
    write_yaml(folder / "rubric.yaml", Rubric(categories=(Category(id="triggers", weight=1.0, items=(item,)),)))
    scenario = Scenario(
        id=query.id,
        title=clipped(" ".join(query.text.split()), _LONGEST_TITLE),
        category="new_features",
        size="small",
        difficulty="trivial",
        source=FixtureSource(fixture=fixture.name, hash=commit_of(fixture)),
        task=ScenarioTask(prompt_file="prompt.md", timeout_seconds=_SECONDS),
        validation=Validation(rubric_file="rubric.yaml"),
        checkpoints=(Checkpoint(id=_TRIGGERED, what=item.text, uses=uses),),
        progress=(ProgressStep(step=item.text, checkpoint=_TRIGGERED),),
        tiers=(TIER,),
        answers=True,
        stop=SkillStop(skills=query.expected or query.rejected, answers=request.trigger_turns),
    )
    write_yaml(folder / "scenario.yaml", scenario)


def trigger_answer(
    request: SkillRequest, skills: Mapping[str, bool], queries: Sequence[LabelledQuery], plan: Plan, folder: RunFolder
) -> PartReport:
    """Return the answer of a run, and write `triggers.json` and `triggers.md` into its folder.

    Args:
        request: options.
        skills: names of the skills; True: it is compared with its last version.
        queries: that were planned.
        plan: of the run.
        folder: of the run.
    """
    data, base = (_data(request, queries, plan, folder, variant) for variant in (INSTALLED, BASE))
    answers = [skill_triggers(skill, data, base if has_base else None) for skill, has_base in skills.items()]
    answers = [answer for answer in answers if answer.queries]
    table = confusion(data, list(skills))
    report = TriggerReport(
        agent=request.agent,
        model=request.model,
        repetitions=request.trigger_repetitions,
        turns=request.trigger_turns,
        strict=request.strict,
        skills=tuple(answers),
        confusion=table,
        swaps=swaps(table),
        notes=tuple(trigger_notes(answers)),
    )
    write_record(folder.root / TRIGGERS_FILE, report)
    write_text(folder.root / "triggers.md", trigger_markdown(report))
    return PartReport(
        tuple(f"{answer.skill}: {trigger_sentence(answer)}" for answer in answers),
        trigger_sections(report),
        report.model_dump(mode="json"),
        is_worse=any(_is_worse(answer) for answer in answers),
    )


def _data(
    request: SkillRequest, queries: Sequence[LabelledQuery], plan: Plan, folder: RunFolder, variant: str
) -> TriggerData:
    """Return the trials of one version of the skills."""
    cells = [cell for cell in plan.cells if cell.arm == arm_id(request, variant)]
    trials = [trial_of(cell, read_record(folder.cell(cell.id).trial, Trial)) for cell in cells]
    return TriggerData(queries, trials, is_strict=request.strict)


def _is_worse(answer: SkillTriggers) -> bool:
    change = answer.change
    rulings = (change.should, change.should_not) if change else ()
    return any(ruling is not None and ruling.verdict == "worse" for ruling in rulings)


def trial_of(cell: Cell, trial: Trial | None) -> TriggerTrial:
    """Return what a cell's trial says about its query; None: it was not run."""
    if trial is None:
        return TriggerTrial(query=cell.scenario, missing="not run")
    last = trial.last
    found = _observation(cell, last)
    has_fired = bool(found.used or found.read) and last.outcome.measures_agent
    is_seen = has_fired or last.outcome in _ANSWERED
    if last.uses is None or not is_seen:
        return found.model_copy(update={"missing": "unknown" if last.uses is None else last.outcome.value})
    return found


def _observation(cell: Cell, last: Attempt) -> TriggerTrial:
    uses = last.uses
    if uses is None:
        return TriggerTrial(query=cell.scenario)
    prefix = "skill/"
    turns = {name.removeprefix(prefix): turn for name, turn in uses.turns.items() if name.startswith(prefix)}
    read = {name.removeprefix(prefix) for name in uses.read}
    return TriggerTrial(
        query=cell.scenario,
        used={name: turn for name, turn in turns.items() if name not in read},
        read={name: turn for name, turn in turns.items() if name in read},
        refused=tuple(name.removeprefix(prefix) for name in uses.refused),
        undecided=last.turns if last.stopped == "undecided" else None,
    )
