"""A scenario's folder: its files, digests and oracles, and the checks that need several files.

Checked here: references exist, names are unique, weights sum to 1.

With GitHub state, `solution/solution.sh` is the oracle of the mode `baseline` and `solution/<mode>.sh` that of any
other mode. A scenario needs one for each mode of its own repository. For a mode of another repository,
such as a user's own mode with a scenario of the toolkit, it may have none.
"""

import contextlib
import dataclasses
import functools
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from scylla_gha.conditions import pattern_fault
from scylla_gha.config import did_you_mean, load_yaml, there_are
from scylla_gha.config.github_files import (
    Names,
    check_identity,
    condition_faults,
    fixture_names,
    github_digest,
    rendered,
    rendered_record,
    rendered_scenario,
)
from scylla_gha.config.materials import resolve_inside
from scylla_gha.config.tiers import read_mode
from scylla_gha.errors import ConfigError
from scylla_gha.model import digest
from scylla_gha.model.mode import DEFAULT_MODE, Mode
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import WEIGHT_TOLERANCE, Checkpoint, FixtureSource, Rubric, Scenario
from scylla_gha.model.variant import Variant
from scylla_gha.path_patterns import gitignore_fault

_FOLDER: Final = "solution"
ONLY_ONE: Final = "# only: no other wrong solution could be made of the change\n"
_UNMET: Final = re.compile(r"^# unmet:(.*)$", re.MULTILINE)
_ONLY: Final = re.compile(r"^# only: \S", re.MULTILINE)


def oracle_file(path: Path, mode: str) -> Path:
    """Return the path of the oracle of a mode in a scenario's folder; the file may be missing."""
    return path / _FOLDER / ("solution.sh" if mode == DEFAULT_MODE else f"{mode}.sh")


def oracle_modes(path: Path) -> list[str]:
    """Return the modes for which a scenario's folder has an oracle, `baseline` first."""
    names = (file.stem for file in (path / _FOLDER).glob("*.sh"))
    modes = (DEFAULT_MODE if name == "solution" else name for name in names)
    return sorted(modes, key=lambda mode: (mode != DEFAULT_MODE, mode))


def oracle_faults(path: Path, scenario: Scenario, roots: Sequence[Path]) -> Iterator[str]:
    """Yield the faults of the oracles in a scenario's folder, each with the key to correct."""
    if scenario.github is None:
        return
    reasons, known = scenario.github.not_possible, _modes(roots) | {DEFAULT_MODE}
    oracles = oracle_modes(path)
    yield from (
        f"github.not_possible.{mode}: there is no such mode{did_you_mean(mode, known)}"
        for mode in reasons
        if mode not in known
    )
    yield from (
        f"{oracle_file(path, mode)}: there is no mode {mode!r}; rename or remove the file{did_you_mean(mode, known)}"
        for mode in oracles
        if mode not in known
    )
    for mode in sorted(known):
        script = f"solution/{oracle_file(path, mode).name}"
        if mode in reasons and mode in oracles:
            yield f"github.not_possible.{mode}: there is {script} too; remove one of them"
        elif mode != DEFAULT_MODE and mode in _modes(path.parents[2:3]) and mode not in (*reasons, *oracles):
            yield (
                f"github.not_possible.{mode}: is missing, and {script} is missing too; write the oracle of this "
                "mode, or write here why its tools cannot do the task; a mode of another repository needs neither"
            )


def _modes(roots: Iterable[Path]) -> set[str]:
    return {file.stem for root in roots for file in (root / "config" / "modes").glob("*.yaml")}


@dataclass(frozen=True)
class ScenarioFolder:
    """A scenario and its files.

    `solution`, `right` and `wrong` are patches against the fixture. With GitHub state (`github` is the fixture's
    folder), they are shell scripts that work with the tools of the mode `baseline`; `oracle` is the oracle of any mode,
    and `mode` is the mode of arms without one.
    """

    path: Path
    scenario: Scenario
    rubric: Rubric
    prompt: str
    github: Path | None = None
    mode: Mode | None = None

    def arm(self, arm: Arm) -> Arm:
        """Return the arm for this scenario: with the tools that the task allows, and with a mode if it has GitHub."""
        if self.scenario.task.tools is not None and arm.variant is not None:
            arm = arm.model_copy(update={"variant": _with_tools(arm.variant, self.scenario.task.tools)})
        return arm if self.mode is None or arm.mode is not None else arm.model_copy(update={"mode": self.mode})

    def lacks_skill(self, arm: Arm) -> bool:
        """Return True if the prompt calls a skill by its name, and an arm has no such skill."""
        name = self.scenario.task.calls_skill
        return name is not None and (arm.variant is None or name not in arm.variant.treatment.skills)

    def is_for(self, arm: Arm) -> bool:
        """Return True if there is a prompt for an arm."""
        return not self.lacks_skill(arm) or self.scenario.task.plain_prompt_file is not None

    def for_arm(self, arm: Arm) -> "ScenarioFolder":
        """Return the scenario with the prompt of an arm."""
        plain = self.scenario.task.plain_prompt_file
        if plain is None or not self.lacks_skill(arm):
            return self
        return dataclasses.replace(self, prompt=(self.path / plain).read_text(encoding="utf-8"))

    @property
    def source(self) -> FixtureSource:
        """Source of the start state; a local repository has an absolute path."""
        repo = self.scenario.source.repo
        if repo is None or not repo.startswith("./"):
            return self.scenario.source
        return self.scenario.source.model_copy(update={"repo": str(source_root(self.path) / repo)})

    @property
    def _suffix(self) -> str:
        return ".patch" if self.github is None else ".sh"

    @property
    def checks(self) -> Path:
        """Folder of hidden checks; it may be missing."""
        return self.path / "checks"

    @property
    def solution(self) -> Path:
        """Path of the reference solution."""
        return self.path / "solution" / f"solution{self._suffix}"

    def oracle(self, mode: str) -> Path:
        """Return the path of the reference solution in a mode."""
        return self.solution if self.github is None else oracle_file(self.path, mode)

    @property
    def right(self) -> list[Path]:
        """Paths of correct solutions unlike the reference, by name; may be empty."""
        return sorted((self.path / "right").glob(f"*{self._suffix}"))

    @property
    def wrong(self) -> list[Path]:
        """Paths of plausible wrong solutions, by name."""
        return sorted((self.path / "wrong").glob(f"*{self._suffix}"))

    @functools.cached_property
    def task_digest(self) -> str:
        """Digest of the agent's input: prompt, start state, tools, container, overrides, and hosts."""
        scenario = self.scenario
        overrides = {target: (self.path / source).read_bytes().hex() for target, source in scenario.overrides.items()}
        parts: list[object] = [
            self.prompt,
            scenario.source.hash,
            scenario.tools.model_dump(mode="json"),
            scenario.container,
            overrides,
        ]
        hosts = sorted(set(scenario.network.hosts))
        parts += [hosts] if hosts else []  # only if there are hosts, so that keys of tasks without hosts stay the same
        parts += [{"setup": scenario.setup}] if scenario.setup else []
        parts += [{"stop": scenario.stop.model_dump(mode="json")}] if scenario.stop else []
        if scenario.github is not None and self.github is not None:
            parts.append({"identity": scenario.github.identity, "github": github_digest(self.github)})
        return digest(parts)

    @functools.cached_property
    def solution_digest(self) -> str:
        """SHA-256 of the reference solutions of all modes; an oracle's trial depends on them."""
        files = sorted(self.solution.parent.glob(f"*{self._suffix}"))
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()

    @functools.cached_property
    def judging_digest(self) -> str:
        """Digest of checkpoints, progress steps, rubric, and the files of the checks."""
        files = {str(path.relative_to(self.checks)): path.read_bytes().hex() for path in _files(self.checks)}
        judged = self.scenario.model_dump(mode="json", include={"validation", "checkpoints", "progress", "tools"})
        if self.scenario.answers:
            judged["answers"] = True
        if github := self.scenario.github:
            judged["condition_texts"] = "visible"  # condition texts were Markdown in earlier versions
            judged["may_change"] = [change.model_dump(mode="json") for change in github.may_change]
        else:  # so that keys of scenarios without GitHub state stay the same
            for checkpoint in judged["checkpoints"]:
                for field in ("github", "git", "checkout", "unchanged"):
                    del checkpoint[field]
        return digest([judged, self.rubric.model_dump(mode="json"), files])

    def with_rubric(self, file: Path) -> "ScenarioFolder":
        """Return the same scenario with the rubric from another file.

        Raises:
            ConfigError: the file is not a rubric, or does not fit the scenario.
        """
        rubric = load_yaml(file, Rubric)
        check_rubric(file, self.scenario, rubric)
        if self.github is not None:
            rubric = _rubric_with_facts(file, rubric, fixture_names(self.github))
        return dataclasses.replace(self, rubric=rubric)


@functools.cache
def read_scenario_folder(path: Path, roots: tuple[Path, ...]) -> ScenarioFolder:
    """Read a scenario; the result is cached, since planning, running and judging read it repeatedly."""
    resolve_inside(path, roots)
    scenario = load_yaml(path / "scenario.yaml", Scenario)
    rubric = load_yaml(path / scenario.validation.rubric_file, Rubric)
    check_scenario(path, scenario, rubric)
    if faults := [f"{path / 'scenario.yaml'}: {fault}" for fault in oracle_faults(path, scenario, roots)]:
        raise ConfigError("\n".join(faults))
    prompt = (path / scenario.task.prompt_file).read_text(encoding="utf-8")
    if faults := list(unmet_faults(path, rubric)):
        raise ConfigError("\n".join(faults))
    if scenario.github is None:
        return ScenarioFolder(path, scenario, rubric, prompt)
    fixture = _fixture(path, scenario, roots)
    names = fixture_names(fixture)
    scenario, prompt = _with_facts(path, scenario, prompt, names)
    rubric = _rubric_with_facts(path / scenario.validation.rubric_file, rubric, names)
    check_identity(path / "scenario.yaml", scenario, fixture)
    return ScenarioFolder(path, scenario, rubric, prompt, fixture, read_mode(DEFAULT_MODE, roots))


def _with_tools(variant: Variant, tools: tuple[str, ...]) -> Variant:
    """Return a variant without the built-in tools that a task does not allow."""
    own = variant.treatment.tools
    allowed = tools if own is None else tuple(tool for tool in own if tool in tools)
    return variant.model_copy(update={"treatment": variant.treatment.model_copy(update={"tools": allowed})})


def _fixture(path: Path, scenario: Scenario, roots: tuple[Path, ...]) -> Path:
    """Return the folder of a scenario's fixture."""
    folders = [root / "fixtures" / (scenario.source.fixture or "") for root in roots]
    fixture = next((folder for folder in folders if folder.is_dir()), None)
    if fixture is None or scenario.source.fixture is None:
        known = [folder.parent.name for root in roots for folder in sorted((root / "fixtures").glob("*/github.yaml"))]
        name = scenario.source.fixture
        fault = "is missing; a scenario with `github` needs a fixture" if name is None else f"there is no {name!r}"
        raise ConfigError(f"{path / 'scenario.yaml'}: source.fixture: {fault}{did_you_mean(name or '', known)}")
    return resolve_inside(fixture, roots)


def _with_facts(path: Path, scenario: Scenario, prompt: str, names: Names) -> tuple[Scenario, str]:
    """Fill the fixture's facts into a scenario and its prompt, and check all conditions on GitHub."""
    try:
        scenario = rendered_scenario(scenario, names)
    except ValueError as error:
        raise ConfigError(f"{path / 'scenario.yaml'}: {error}") from None
    try:
        prompt = rendered(prompt, names)
    except ValueError as error:
        raise ConfigError(f"{path / scenario.task.prompt_file}: {error}") from None
    if faults := [f"{path / 'scenario.yaml'}: {fault}" for fault in condition_faults(scenario, names)]:
        raise ConfigError("\n".join(faults))
    return scenario, prompt


def _rubric_with_facts(file: Path, rubric: Rubric, names: Names) -> Rubric:
    """Fill facts of the fixture into the placeholders of a rubric's items."""
    try:
        return rendered_record(rubric, names)
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None


def _files(folder: Path) -> Iterator[Path]:
    paths: Iterable[Path] = sorted(folder.rglob("*")) if folder.is_dir() else ()
    return (path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def check_variants(variants: Iterable[Variant]) -> None:
    """Reject variants with different names and equal configurations.

    Raises:
        ConfigError: two variants resolve to the same digest.
    """
    seen: dict[str, str] = {}
    for variant in variants:
        if variant.alias_of:
            continue  # the choice between sub-tests led to an existing one; the plan says so
        twin = seen.setdefault(variant.digest, variant.id)
        if twin != variant.id:
            raise ConfigError(
                f"variants {twin} and {variant.id} have the same configuration "
                f"(digest {variant.digest[:12]}); change or remove one in config/tiers/"
            )


def changed_lines(patch: bytes) -> int:
    """Count the added and deleted lines of a patch, which decide the size of its scenario."""
    return sum(line[:1] in {b"+", b"-"} and line[:4] not in {b"+++ ", b"--- "} for line in patch.splitlines())


def unmet_items(solution: Path) -> tuple[str, ...]:
    """Return the items that judges must find unmet in a wrong solution, from the line `# unmet: F2, F3`."""
    line = _UNMET.search(solution.read_text(encoding="utf-8", errors="replace"))
    return tuple(name.strip() for name in line[1].split(",")) if line else ()


def is_only_one(solution: Path) -> bool:
    """Return True if a wrong solution has a line `# only: REASON`, the reason why it is the scenario's only one."""
    return _ONLY.search(solution.read_text(encoding="utf-8", errors="replace")) is not None


def unmet_faults(path: Path, rubric: Rubric) -> Iterator[str]:
    """Yield the faults of the lines `# unmet:` in a scenario's folder."""
    judged = {item.id for item in rubric.items if item.required and not item.checks}
    for folder in ("solution", "right", "wrong"):
        for file in sorted((path / folder).glob("*.*")):
            names = unmet_items(file)
            if names and folder != "wrong":
                yield f"{file}: '# unmet:' is only for wrong solutions; remove the line"
            for name in (name for name in names if name not in judged):
                known = did_you_mean(name, judged) or there_are(sorted(judged))
                yield f"{file}: unmet: {name!r} is not a required item without checks{known}"


def source_root(path: Path) -> Path:
    """Return the folder to which a scenario's local sources are relative: the parent of `scenarios/`."""
    return path.parents[2]


def check_scenario(path: Path, scenario: Scenario, rubric: Rubric) -> None:
    """Check a scenario with its folder and its rubric; the error has one line per fault."""
    file = path / "scenario.yaml"
    faults = [f"{file}: {fault}" for fault in (*_folder_faults(path, scenario), *_references(scenario, rubric))]
    if scenario.github is None:
        faults += [f"{file}: {fault}" for fault in condition_faults(scenario, {})]
    faults += [f"{path / scenario.validation.rubric_file}: {fault}" for fault in _rubric(scenario, rubric)]
    if faults:
        raise ConfigError("\n".join(faults))


def check_rubric(file: Path, scenario: Scenario, rubric: Rubric) -> None:
    """Check a rubric that replaces a scenario's own; the error has one line per fault."""
    faults = (*_rubric(scenario, rubric), *_references(scenario, rubric))
    if faults:
        raise ConfigError("\n".join(f"{file}: for {scenario.id}: {fault}" for fault in faults))


def _folder_faults(path: Path, scenario: Scenario) -> Iterator[str]:
    if scenario.id != path.name:
        yield f"id: is {scenario.id!r}, but the folder is named {path.name!r}; make them equal"
    prompt, text = path / scenario.task.prompt_file, ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = prompt.read_text(encoding="utf-8")
    if not text.strip():
        yield f"task.prompt_file: {prompt} is missing, empty, or not UTF-8; write the task there"
    yield from _overrides(path, scenario)
    yield from _local_source(path, scenario)
    for kind, packages in (("python", scenario.tools.python), ("node", scenario.tools.node)):
        for name, version in packages.items():
            if not re.fullmatch(r"[0-9][0-9A-Za-z.+!-]*", version):
                yield f"tools.{kind}.{name}: pin one version, such as 1.2.3, not {version!r}"
    yield from (
        f"checkpoints: the id {name!r} is given twice" for name in _duplicates(c.id for c in scenario.checkpoints)
    )
    for checkpoint in scenario.checkpoints:
        yield from _patterns(checkpoint)
    is_open = all(checkpoint.guard or not checkpoint.required for checkpoint in scenario.checkpoints)
    if is_open and not scenario.answers:
        yield "checkpoints: only guards are required, so a trial that changes nothing could pass; require another"


def _local_source(path: Path, scenario: Scenario) -> Iterator[str]:
    repo = scenario.source.repo
    if repo is not None and repo.startswith("./"):
        root = source_root(path)
        if not (root / repo).exists():
            yield f"source.repo: {root / repo} is missing; the path begins at the folder that holds scenarios/"
        elif not (root / repo).resolve().is_relative_to(root.resolve()):
            yield (
                f"source.repo: {root / repo} is stored outside of {root}, by a symbolic link; replace the link "
                "with a copy"
            )


def _overrides(path: Path, scenario: Scenario) -> Iterator[str]:
    plain = scenario.task.plain_prompt_file
    if plain is not None and not (path / plain).is_file():
        yield f"task.plain_prompt_file: {path / plain} is missing; write the task of variants without the skill there"
    for target, source in scenario.overrides.items():
        if not (path / source).is_file():
            yield f"overrides: {path / source} is missing"
        if PurePosixPath(target).is_absolute() or ".." in PurePosixPath(target).parts:
            yield f"overrides: {target!r} must be a path inside HOME"


def _patterns(checkpoint: Checkpoint) -> Iterator[str]:
    if "# TODO" in (checkpoint.run or ""):
        yield f"checkpoints.{checkpoint.id}: the check is not written yet; put a command in place of {checkpoint.run!r}"
    answer = checkpoint.answer
    patterns = (*answer.matches, *answer.never_matches) if answer else ()
    for pattern in (checkpoint.stdout_matches, checkpoint.stdout_never_matches, checkpoint.matches, *patterns):
        if fault := pattern_fault(pattern):
            yield f"checkpoints.{checkpoint.id}: {fault}"
    changes = checkpoint.changes
    for pattern in (*changes.only, *changes.never) if changes else ():
        if fault := gitignore_fault(pattern):
            yield f"checkpoints.{checkpoint.id}: {fault}"


def _references(scenario: Scenario, rubric: Rubric) -> Iterator[str]:
    checkpoints = {checkpoint.id for checkpoint in scenario.checkpoints}
    items = {item.id for item in rubric.items}
    for step in scenario.progress:
        known, name = (checkpoints, step.checkpoint) if step.checkpoint else (items, step.item or "")
        if name not in known:
            yield (
                f"progress: {step.step!r} is bound to {name!r}, but no checkpoint has this "
                f"id{did_you_mean(name, known)}"
            )


def _rubric(scenario: Scenario, rubric: Rubric) -> Iterator[str]:
    total = sum(category.weight for category in rubric.categories)
    if abs(total - 1) > WEIGHT_TOLERANCE:
        yield f"categories: the weights sum to {total:.6g}, not 1"
    yield from (f"categories: {name!r} is given twice" for name in _duplicates(c.id for c in rubric.categories))
    yield from (f"items: the id {name!r} is given twice" for name in _duplicates(item.id for item in rubric.items))
    known = {checkpoint.id for checkpoint in scenario.checkpoints}
    for item in rubric.items:
        for name in (*item.checks, *((item.applies_if,) if item.applies_if else ())):
            if name not in known:
                yield f"item {item.id}: there is no checkpoint {name!r}{did_you_mean(name, known)}"


def _duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
