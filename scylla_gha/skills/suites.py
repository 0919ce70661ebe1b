"""Suite of a skill's evals: an ordinary folder of configuration with one scenario for each eval, and an experiment.

```
<suite>/config/experiments/skill-<name>.yaml
<suite>/config/tiers/T1.yaml                        sub-tests `01-with`, `02-without` and `03-base`
<suite>/config/skills/<name>/                       the skill, and the others that are installed beside it
<suite>/config/skills-base/<name>/                  the last version of the skill, and the same others
<suite>/scenarios/skill-<name>/<NNN-id>/            scenario.yaml prompt.md rubric.yaml
<suite>/fixtures/skill-<name>.<NNN-id>/             files of the eval
```

Ids of scenarios are made of ids of evals, so that a new eval leaves the stored trials of the others in use.
"""

import functools
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import yaml

from scylla_gha.config.materials import is_undelivered
from scylla_gha.model import Record, slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.sandbox import NetworkAccess
from scylla_gha.model.scenario import (
    AnswerCondition,
    Category,
    Checkpoint,
    FixtureSource,
    Item,
    ProgressStep,
    Rubric,
    Scenario,
    ScenarioTask,
    Validation,
)
from scylla_gha.model.skill_help import SkillArm
from scylla_gha.model.variant import SubTest, Tier, Treatment
from scylla_gha.prepare.start_state import commit_of
from scylla_gha.skills.find import SKILL_FILE, holds_runs
from scylla_gha.skills.prompt_calls import calls, without_calls
from scylla_gha.skills.read_assertions import CodeCheck, EvalAssertion
from scylla_gha.skills.read_evals import SkillEval
from scylla_gha.store import write_text

TIER: Final = "T1"
WITH, WITHOUT, BASE = "01-with", "02-without", "03-base"
BASE_FOLDER: Final = "skills-base"
ABOUT_SKILL: Final = "S"  # first letter of the ids of items that speak of the skill itself; of others it is A
_SECONDS: Final = 600
_ANSWERED: Final = "answered"
_PLAIN: Final = "plain_prompt.md"
_LARGEST_NUMBER: Final = 999
_WORD: Final = re.compile(r"(?<![\w/@+~.-])[\w@+~.-]+(?:/[\w@+~.-]+)*")


@dataclass(frozen=True, slots=True)
class EvalOfFile:
    """An eval, the stem of its file if evals of several files are in one suite, and the names that call its skill."""

    skill_eval: SkillEval
    stem: str = ""
    names: tuple[str, ...] = ()

    @property
    def plain_prompt(self) -> str | None:
        """Prompt without calls of the skill; empty if nothing remains, None if they cannot be removed."""
        return without_calls(self.skill_eval.prompt, self.names) if self.is_call else self.skill_eval.prompt

    @property
    def is_call(self) -> bool:
        """True if the prompt calls the skill by its name."""
        return any(calls(self.skill_eval.prompt, name) for name in self.names)

    @property
    def shown(self) -> str:
        """Id of the eval as in its file, with the file's name if there are several."""
        return f"{self.stem}/{self.skill_eval.id}" if self.stem else self.skill_eval.id

    @property
    def scenario(self) -> str:
        """Id of its scenario; it depends on nothing but its own id and its file's name."""
        name = self.skill_eval.id
        is_number = name.isascii() and name.isdigit() and int(name) <= _LARGEST_NUMBER
        words = slug("-".join(filter(None, (self.stem, "eval" if is_number else name)))) or "eval"
        return f"{int(name) if is_number else 0:03d}-{words.replace('.', '-').replace('_', '-')[:80].strip('-')}"


ARMS: Final[Mapping[str, SkillArm]] = {
    f"{TIER}/{WITH}": "with",
    f"{TIER}/{WITHOUT}": "without",
    f"{TIER}/{BASE}": "base",
}


def suite_name(skill: str) -> str:
    """Return the name of the suite and of the experiment of a skill."""
    return f"skill-{slug(skill) or 'unnamed'}"


def write_yaml(path: Path, record: Record) -> None:
    """Write a record as a YAML file of configuration, without what is a default."""
    fields = record.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    write_text(path, yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120))


def write_skills(suite: Path, folders: Sequence[Path], into: str = "skills") -> tuple[str, ...]:
    """Copy skills into a folder of a suite's configuration, as they are installed; return their names."""
    for folder in folders:
        copy_skill(folder, suite / "config" / into / folder.name)
    return tuple(folder.name for folder in folders)


def copy_skill(folder: Path, target: Path) -> None:
    """Copy a skill as it is installed; links, and what holds the target or runs of this command, are left out."""

    def ignored(inside: str, names: list[str]) -> set[str]:
        runs = {name for name in names if holds_runs(Path(inside, name))}
        links = {name for name in names if Path(inside, name).is_symlink()}
        above = {name for name in names if target.is_relative_to(Path(inside, name))}
        answers = {name for name in names if is_undelivered(folder, Path(inside, name))}
        return answers | runs | links | above

    shutil.copytree(folder, target, ignore=ignored)
    lower = next(path for path in target.iterdir() if path.name.lower() == SKILL_FILE.lower())
    if lower.name != SKILL_FILE:
        lower.rename(target / SKILL_FILE)


def write_plugin(suite: Path, invoked_as: Sequence[str]) -> None:
    """Make all skills of a suite those of the plugin that a skill belongs to, if it belongs to one."""
    for name in invoked_as[1:]:
        write_text(suite / ".claude-plugin" / "plugin.json", json.dumps({"name": name.partition(":")[0]}))


def write_arms(suite: Path, name: str, others: Sequence[str]) -> None:
    """Write the sub-tests with a skill, without it, and with its last version; all have the other skills.

    Agents list as many descriptions as they do for users.
    """
    own = (name, *others)
    sub_tests: tuple[SubTest, ...] = (
        SubTest(id=WITH, description=f"With {name}", treatment=skills_treatment(own)),
        SubTest(id=WITHOUT, description=f"Without {name}", treatment=skills_treatment(others)),
    )
    if (suite / "config" / BASE_FOLDER).is_dir():
        treatment = skills_treatment(own, BASE_FOLDER)
        sub_tests += (SubTest(id=BASE, description=f"With the last version of {name}", treatment=treatment),)
    tier = Tier(id=TIER, name="Skills", focus="One skill, and others beside it", sub_tests=sub_tests)
    write_yaml(suite / "config" / "tiers" / f"{TIER}.yaml", tier)


def skills_treatment(skills: Sequence[str], folder: str = "skills") -> Treatment:
    """Return installed skills, with the listing that the CLI has for its users; it may be too short for all of them."""
    return Treatment(skills=tuple(skills), skills_folder=folder, skill_listing="default" if skills else None)


def write_experiment(suite: Path, experiment: Experiment) -> None:
    """Write the experiment of a suite."""
    write_yaml(suite / "config" / "experiments" / f"{experiment.id}.yaml", experiment)


def write_eval(suite: Path, name: str, entry: EvalOfFile) -> None:
    """Write the scenario of an eval, and its files as the start state."""
    skill_eval = entry.skill_eval
    fixture = suite / "fixtures" / f"{name}.{entry.scenario}"
    write_files(fixture, skill_eval)
    folder = suite / "scenarios" / name / entry.scenario
    write_text(folder / "prompt.md", skill_eval.prompt)
    if entry.is_call and entry.plain_prompt:
        write_text(folder / _PLAIN, entry.plain_prompt)
    items = tuple(_items(skill_eval.assertions))
    write_yaml(folder / "rubric.yaml", Rubric(pass_threshold=1.0, categories=tuple(_categories(items))))
    write_yaml(folder / "scenario.yaml", _scenario(entry, fixture))


def _categories(items: Sequence[Item]) -> Iterator[Category]:
    """Yield the scored items, and those about the skill itself, which no trial without it can meet."""
    about = tuple(item for item in items if item.id.startswith(ABOUT_SKILL))
    scored = tuple(item for item in items if item not in about)
    if scored:
        yield Category(id="assertions", weight=1.0, items=scored)
    if about:
        yield Category(id="about_the_skill", weight=0.0 if scored else 1.0, items=about)


def _items(assertions: Sequence[EvalAssertion]) -> Iterator[Item]:
    for number, assertion in enumerate(assertions, 1):
        text = f"This does not hold: {assertion.text}" if assertion.is_inverted and not assertion.code else ""
        letter = ABOUT_SKILL if assertion.about_skill else "A"
        checks = (_check_id(number),) if assertion.code else ()
        yield Item(id=f"{letter}{number}", text=text or assertion.text, type="binary", checks=checks)


def _check_id(number: int) -> str:
    return f"assertion-{number}"


def _scenario(entry: EvalOfFile, fixture: Path) -> Scenario:
    skill_eval = entry.skill_eval
    is_judged_alone = [assertion.text for assertion in skill_eval.assertions] == [skill_eval.expected]
    answered = Checkpoint(id=_ANSWERED, what="The agent gave an answer", answer=AnswerCondition(), required=False)
    checks = (
        _checkpoint(number, assertion, assertion.code)
        for number, assertion in enumerate(skill_eval.assertions, 1)
        if assertion.code
    )
    return Scenario(
        id=entry.scenario,
        title=skill_eval.title or f"Eval {skill_eval.id}",
        category="new_features",
        size="small",
        difficulty="medium",
        source=FixtureSource(fixture=fixture.name, hash=commit_of(fixture)),
        task=ScenarioTask(
            prompt_file="prompt.md",
            timeout_seconds=_SECONDS,
            calls_skill=entry.names[0] if entry.is_call else None,
            plain_prompt_file=_PLAIN if entry.is_call and entry.plain_prompt else None,
        ),
        validation=Validation(
            rubric_file="rubric.yaml",
            expected=None if is_judged_alone or not skill_eval.expected.strip() else skill_eval.expected,
            masked_names=entry.names,
        ),
        checkpoints=(answered, *checks),
        progress=(ProgressStep(step="The agent gave an answer", checkpoint=_ANSWERED),),
        tiers=(TIER,),
        answers=True,
        setup=skill_eval.setup,
        network=NetworkAccess(hosts=skill_eval.declared_hosts),
    )


def _checkpoint(number: int, assertion: EvalAssertion, code: CodeCheck) -> Checkpoint:
    name, what = _check_id(number), assertion.text
    if code.form == "command":
        pattern = re.escape(code.substring) if code.substring else None
        run = shlex.join(code.command)
        run = f"! {run}" if assertion.is_inverted else run
        return Checkpoint(id=name, what=what, run=run, exit=code.exit_code, stdout_matches=pattern, required=False)
    is_forbidden = assertion.is_inverted or code.form == "not_contains"
    patterns = {"never_matches" if is_forbidden else "matches": code.patterns}
    return Checkpoint(id=name, what=what, answer=AnswerCondition(**patterns), required=False)


def write_files(folder: Path, skill_eval: SkillEval) -> None:
    """Write the files of an eval: where its prompt names them, else at the top by their own name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in skill_eval.files.items():
        target = folder / (placed(skill_eval.prompt, Path(name).name) if content is None else name)
        if target.exists():  # another file of that name
            target = folder / Path(name).parent.name / Path(name).name
        target.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            write_text(target, content)
        elif Path(name).is_dir():
            shutil.copytree(name, target, ignore=_links, dirs_exist_ok=True)
        else:
            shutil.copyfile(name, target)


def _links(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if Path(folder, name).is_symlink() or name == ".git"}


def placed(prompt: str, name: str) -> str:
    """Return the path of a file in the workspace: the one by which the prompt names it, else its own name."""
    for word in _words(prompt):
        path = PurePosixPath(word)
        if path.name == name and not path.is_absolute() and ".." not in path.parts:
            return str(path)
    return name


@functools.lru_cache(maxsize=64)
def _words(prompt: str) -> tuple[str, ...]:
    return tuple(match[0].rstrip(".") for match in _WORD.finditer(prompt))
