"""Evals of skills as a part of the measurement: their suites, and the answer of a run."""

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from scylla_gha.config.materials import material_digest
from scylla_gha.errors import ConfigError
from scylla_gha.mining.repository import check_out, checkout_of, merge_base, resolved
from scylla_gha.model import slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.skills.eval_answer import MeasuredEvals, help_report
from scylla_gha.skills.find import top_of
from scylla_gha.skills.prompt_calls import slash_call
from scylla_gha.skills.report import CheckedSkill, SkillsCheck
from scylla_gha.skills.session import Print, SkillPart, SkillRequest, cells_of
from scylla_gha.skills.suites import (
    BASE,
    BASE_FOLDER,
    TIER,
    WITH,
    WITHOUT,
    EvalOfFile,
    copy_skill,
    suite_name,
    write_arms,
    write_eval,
    write_experiment,
    write_plugin,
    write_skills,
)

_ALL: Final = "repo"
_NO_OTHERS: Final = "none"


def eval_parts(request: SkillRequest, check: SkillsCheck, say: Print) -> Iterator[SkillPart]:
    """Write the suite of each skill with evals, and yield it as a part of the measurement."""
    names: set[str] = set()
    installed = {name for skill in check.skills for name in skill.invoked_as}
    with tempfile.TemporaryDirectory() as folder:
        base = base_version(request, check.root, Path(folder), say)
        for skill in check.skills:
            entries = list(_entries(skill))
            if not entries or "evals" not in request.kinds or suite_name(skill.name) in names:
                continue
            names.add(suite_name(skill.name))
            if fault := skill_fault(check.root / skill.folder):
                say(f"{skill.name}: evals are not run: {fault}")
                continue
            usable = []
            for entry in entries:
                if not (reason := _why_not(entry, installed)):
                    usable.append(entry)
                elif _is_chosen(entry, request):
                    say(f"{skill.name}: eval {entry.skill_eval.id} is left out: {reason}")
            if any(_is_chosen(entry, request) for entry in usable):
                yield _part(request, check, skill, usable, base)


def skill_fault(folder: Path) -> str:
    """Return why a skill cannot be installed; empty if it can."""
    try:
        material_digest("skills", folder)
    except ConfigError as error:
        return str(error)
    return ""


def _entries(skill: CheckedSkill) -> Iterator[EvalOfFile]:
    files = [file for file in skill.files if file.kind == "evals" and file.evals]
    stems = Counter(Path(file.path).stem for file in files)
    for file in files:
        path = Path(file.path).with_suffix("")
        stem = path.stem if stems[path.stem] == 1 else slug("-".join(path.parts))
        stem = stem if len(files) > 1 else ""
        yield from (EvalOfFile(skill_eval, stem, skill.invoked_as) for skill_eval in file.evals)


def _is_chosen(entry: EvalOfFile, request: SkillRequest) -> bool:
    return not request.evals or entry.skill_eval.id in request.evals


def _why_not(entry: EvalOfFile, installed: Collection[str]) -> str:
    skill_eval = entry.skill_eval
    if not skill_eval.assertions:
        return "it has nothing to judge"
    called = slash_call(skill_eval.prompt)
    if called and called not in installed:
        return f"it calls /{called}, and no skill here has this name"
    return f"it needs the network ({', '.join(skill_eval.hosts)})" if skill_eval.hosts else ""


@dataclass(frozen=True, slots=True)
class BaseVersion:
    """The repository at the last version.

    Attributes:
        root: its folder of skills; None: there is no last version.
        say: prints a line.
        staging: a folder for skills whose folder has another name.
    """

    root: Path | None
    say: Print
    staging: Path = Path()

    def folder(self, skill: CheckedSkill, current: Path) -> Path | None:
        """Return the folder of a skill there; None if it is not there or is equal."""
        if self.root is None:
            return None
        file = self.root / skill.file
        if not file.is_file():
            self.say(f"{skill.name}: is new, so there is no last version to compare with")
            return None
        folder = named_folder(file.parent, skill.name, self.staging)
        if fault := skill_fault(folder):
            self.say(f"{skill.name}: its last version is not run: {fault}")
        elif material_digest("skills", folder) == material_digest("skills", current):
            self.say(f"{skill.name}: is equal to its last version, which is not run")
        else:
            return folder
        return None


def base_version(request: SkillRequest, root: Path, folder: Path, say: Print) -> BaseVersion:
    """Check out the last version of the repository: that of --base; in a pull request, the merge base.

    Args:
        request: options.
        root: folder that was checked.
        folder: to write to.
        say: prints a line.

    Raises:
        ConfigError: --base names nothing.
    """
    branch = request.base or os.environ.get("GITHUB_BASE_REF", "")
    if not branch or "base" not in request.against:
        return BaseVersion(None, say)
    top = top_of(root)
    checkout = checkout_of(top)
    commit = resolved(checkout, branch)
    if commit is None:
        if request.base:
            raise ConfigError(
                f"--base: {branch!r} is no branch, tag or hash of the repository {top}; fetch it, or name another"
            )
        say(f"the branch {branch} of the pull request is not in this clone, so there is no last version; fetch it")
        return BaseVersion(None, say)
    if not request.base:
        commit = merge_base(checkout, commit, "HEAD") or commit
    (folder / "base").mkdir()
    check_out(checkout, commit, folder / "base")
    return BaseVersion(folder / "base" / root.relative_to(top), say, folder / "named")


def named_folder(folder: Path, name: str, staging: Path) -> Path:
    """Return a skill's folder under its own name: a copy in `staging` if a whole clone is the skill."""
    if folder.name == name and not (folder / ".git").exists():
        return folder
    if not (staging / name).exists():
        copy_skill(folder, staging / name)
    return staging / name


def _part(
    request: SkillRequest,
    check: SkillsCheck,
    skill: CheckedSkill,
    entries: Sequence[EvalOfFile],
    base: BaseVersion,
) -> SkillPart:
    name, current = suite_name(skill.name), check.root / skill.folder
    suite = request.clean_suite(name)
    others = installed_beside(request, check, (skill.name,), base.say)
    installed = write_skills(suite, [current, *others])
    if before := base.folder(skill, current):
        write_skills(suite, [before, *others], BASE_FOLDER)
    write_plugin(suite, skill.invoked_as)
    write_arms(suite, installed[0], installed[1:])
    for entry in entries:
        write_eval(suite, name, entry)
    has_plain = any(entry.plain_prompt for entry in entries) and "none" in request.against
    variants = [WITH, *([WITHOUT] if has_plain else []), *([BASE] if before else [])]
    assertions = [assertion for entry in entries for assertion in entry.skill_eval.assertions]
    experiment = Experiment(
        id=name,
        question=f"Do more assertions hold with the skill {skill.name}?",
        scenarios=(f"{name}/*",),
        variants=tuple(f"{TIER}/{variant}" for variant in variants),
        agents=(request.agent,),
        models=(request.model,),
        sandbox=request.sandbox,
        repetitions=request.repetitions,
        baseline=arm_id(request, variants[-1]),
        judges=request.judges if any(assertion.code is None for assertion in assertions) else (),
    )
    write_experiment(suite, experiment)
    chosen = [entry for entry in entries if _is_chosen(entry, request)]
    cheaper = (f"{TIER}/{WITH}", f"{TIER}/{BASE}") if {WITHOUT, BASE} <= set(variants) else ()
    report = partial(help_report, skill.name, _measured(skill, entries))
    only = cells_of(entry.scenario for entry in chosen) if request.evals else ()
    return SkillPart("evals", skill.name, name, suite, report, any(map(_runs_code, chosen)), cheaper, only=only)


def _runs_code(entry: EvalOfFile) -> bool:
    checks = (assertion.code for assertion in entry.skill_eval.assertions)
    return bool(entry.skill_eval.setup) or any(check and check.command for check in checks)


def _measured(skill: CheckedSkill, entries: Sequence[EvalOfFile]) -> MeasuredEvals:
    labels = {entry.shown: entry.skill_eval.label for entry in entries}
    unrelated = (
        name for name, label in labels.items() if label and not set(skill.invoked_as).intersection(label.expected)
    )
    return MeasuredEvals({entry.scenario: entry.shown for entry in entries}, frozenset(unrelated))


def arm_id(request: SkillRequest, variant: str) -> str:
    """Return the id of the arm of a variant."""
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
