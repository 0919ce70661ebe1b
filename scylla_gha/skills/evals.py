"""Evals of skills as a part of the measurement: their suites, and the answer of a run."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from scylla_gha.config.materials import material_digest
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model import slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.skills.report import CheckedSkill, SkillsCheck
from scylla_gha.skills.session import PartReport, Print, SkillPart, SkillRequest
from scylla_gha.skills.suites import (
    ABOUT_SKILL,
    TIER,
    WITH,
    WITHOUT,
    EvalOfFile,
    suite_name,
    write_arms,
    write_eval,
    write_experiment,
    write_skills,
)
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder

_ALL: Final = "repo"
_NO_OTHERS: Final = "none"


def eval_parts(request: SkillRequest, check: SkillsCheck, say: Print) -> Iterator[SkillPart]:
    """Write the suite of each skill with evals, and yield it as a part of the measurement."""
    names: set[str] = set()
    for skill in check.skills:
        name, entries = suite_name(skill.name), list(_entries(skill, request))
        if not entries or "evals" not in request.kinds or name in names:
            continue
        names.add(name)
        if fault := skill_fault(check.root / skill.folder):
            say(f"{skill.name}: evals are not run: {fault}")
            continue
        usable = []
        for entry in entries:
            if reason := _why_not(entry):
                say(f"{skill.name}: eval {entry.skill_eval.id} is left out: {reason}")
            else:
                usable.append(entry)
        if usable:
            yield _part(request, check, skill, usable, say)


def skill_fault(folder: Path) -> str:
    """Return why a skill cannot be installed; empty if it can."""
    try:
        material_digest("skills", folder)
    except ConfigError as error:
        return str(error)
    return ""


def _entries(skill: CheckedSkill, request: SkillRequest) -> Iterator[EvalOfFile]:
    files = [file for file in skill.files if file.kind == "evals" and file.evals]
    for file in files:
        stem = Path(file.path).stem if len(files) > 1 else ""
        chosen = (each for each in file.evals if not request.evals or each.id in request.evals)
        yield from (EvalOfFile(each, stem) for each in chosen)


def _why_not(entry: EvalOfFile) -> str:
    skill_eval = entry.skill_eval
    if not skill_eval.assertions:
        return "it has nothing to judge"
    if skill_eval.hosts:
        return f"it needs the network ({', '.join(skill_eval.hosts)})"
    return "it has setup commands, which are not run yet" if skill_eval.setup else ""


def _part(
    request: SkillRequest,
    check: SkillsCheck,
    skill: CheckedSkill,
    entries: Sequence[EvalOfFile],
    say: Print,
) -> SkillPart:
    name = suite_name(skill.name)
    suite = request.clean_suite(name)
    others = installed_beside(request, check, (skill.name,), say)
    installed = write_skills(suite, [check.root / skill.folder, *others])
    write_arms(suite, installed[0], installed[1:])
    for entry in entries:
        write_eval(suite, name, entry)
    arms = {variant: _arm(request, variant) for variant in (WITH, WITHOUT)}
    experiment = Experiment(
        id=name,
        question=f"Do more assertions hold with the skill {skill.name}?",
        scenarios=(f"{name}/*",),
        variants=tuple(f"{TIER}/{variant}" for variant in arms),
        agents=(request.agent,),
        models=(request.model,),
        sandbox=request.sandbox,
        repetitions=request.repetitions,
        baseline=arms[WITHOUT],
        judges=request.judges if any(not a.code for e in entries for a in e.skill_eval.assertions) else (),
    )
    write_experiment(suite, experiment)

    def answer(plan: Plan, folder: RunFolder) -> PartReport:
        return _answer(skill.name, plan, folder)

    return SkillPart("evals", skill.name, name, suite, answer)


def _arm(request: SkillRequest, variant: str) -> str:
    agent = request.agent.partition("@")[0]
    return ".".join(slug(part) for part in (f"{TIER}/{variant}", agent, request.model))


def installed_beside(request: SkillRequest, check: SkillsCheck, names: Collection[str], say: Print) -> list[Path]:
    """Return the folders of the skills that are installed beside those with these names."""
    if request.distractors == _NO_OTHERS:
        return []
    if request.distractors == _ALL:
        candidates = [check.root / other.folder for other in check.skills]
    else:
        candidates = sorted(path.parent for path in Path(request.distractors).resolve().glob("*/SKILL.md"))
    folders: dict[str, Path] = {}
    for folder in candidates:
        if folder.name in names or folder.name in folders:
            continue
        if fault := skill_fault(folder):
            say(f"not installed beside it: {fault}")
        else:
            folders[folder.name] = folder
    return list(folders.values())


def _answer(name: str, plan: Plan, folder: RunFolder) -> PartReport:
    shares: dict[str, list[float]] = {}
    for cell in plan.cells:
        judgment = read_record(folder.cell(cell.id).judgment, Judgment)
        values = [item.value for item in judgment.items if item.id[0] != ABOUT_SKILL] if judgment else []
        if known := [value for value in values if value is not None]:
            shares.setdefault(plan.arm(cell.arm).id, []).append(fmean(known))
    texts = [f"{fmean(values):.0%} in {arm} ({counted(len(values), 'trial')})" for arm, values in shares.items()]
    return PartReport((f"{name}: share of assertions that hold: {', '.join(texts) or 'not enough data'}.",))
