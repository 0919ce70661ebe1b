"""Sub-tests of the tiers, and modes: lookup, inheritance, and resolution to an agent's treatment.

```
<root>/config/tiers/<tier>.yaml           the tier, perhaps with its sub-tests
<root>/config/tiers/<tier>/<id>.yaml      one sub-test; the folder's name is in lower case
```

A sub-test of an earlier root hides the sub-test of the same name in later roots. The parents of a sub-test are looked
up in its own root and in later ones, so a user's tier never changes a sub-test of the toolkit.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from scylla_gha.config import did_you_mean, load_named, load_yaml, read_text, there_are
from scylla_gha.config.agent_files import agent_file_digests, chosen_agent_files, with_agent_files
from scylla_gha.config.materials import (
    material_digest,
    material_names,
    material_path,
    require_read_skills,
    resolve_inside,
)
from scylla_gha.errors import ConfigError
from scylla_gha.model import digest
from scylla_gha.model.mode import Mode, ModeFile
from scylla_gha.model.variant import BEST_OF, SubTest, SystemPrompt, Tier, Treatment, Variant

_LISTS: Final = ("mcp_servers", "skills", "agents", "hosts", "models", "server_tools")
_LEAST_BLOCKS: Final = 2
_WITH: Final = "-with-"  # between the name of a variant and of its instruction file
_WITHOUT: Final = "-without-"  # between the name of a sub-test and of the omitted block
_NO_CHOICE: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Declaration:
    """A sub-test's declaration: its tier, its file, and the roots from which it may inherit."""

    sub_test: SubTest
    tier: Tier
    path: Path
    roots: tuple[Path, ...]


@dataclass(frozen=True)
class Tiers:
    """All tiers under `roots`; each file and resource is read once."""

    roots: tuple[Path, ...]
    _digests: dict[Path, str] = field(default_factory=dict, repr=False)
    _checked: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)  # digests by folder and name
    _later: dict[tuple[Path, ...], "Tiers"] = field(default_factory=dict, repr=False)

    @cached_property
    def declarations(self) -> dict[str, Declaration]:
        """Sub-tests by name, such as `T0/00-empty`, sorted.

        Raises:
            ConfigError: a file is invalid, a name is given twice, or a tier has no sub-test.
        """
        declarations: dict[str, Declaration] = {}
        for at, root in reversed(list(enumerate(self.roots))):
            in_root: dict[str, Declaration] = {}
            paths = sorted((root / "config" / "tiers").glob("*.yaml"))
            for path in paths:
                _add(in_root, resolve_inside(path, self.roots), self.roots[at:])
            _refuse_strange_folders(root / "config" / "tiers", {path.stem for path in paths})
            declarations |= in_root
        return dict(sorted(declarations.items()))

    @cached_property
    def tiers(self) -> dict[str, Tier]:
        """Tiers by id, sorted."""
        by_root = sorted(self.declarations.values(), key=lambda declaration: len(declaration.roots))
        return dict(sorted({declaration.tier.id: declaration.tier for declaration in by_root}.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all sub-tests, sorted."""
        return tuple(self.declarations)

    def declaration(self, name: str) -> Declaration:
        """Return the declaration of a sub-test.

        Raises:
            ConfigError: there is no sub-test of that name.
        """
        if name not in self.declarations:
            hint = did_you_mean(name, self.names) or "; `scylla-gha tiers list` prints all"
            raise ConfigError(f"variants: {name!r} is not in config/tiers/ of this repository or of the toolkit{hint}")
        return self.declarations[name]

    def variant(self, name: str, chosen: Mapping[str, str] = _NO_CHOICE) -> Variant:
        """Resolve a sub-test.

        Args:
            name: name of the sub-test, such as `T0/00-empty`.
            chosen: sub-test for `best of` each tier, by tier; a tier without a choice uses its representative.

        Raises:
            ConfigError: a resource of the sub-test is missing or invalid, or its parts contradict each other.
        """
        variant = self._resolve(name, chosen)
        twin = self._by_digest.get(variant.digest) if variant.chosen else None
        return variant.model_copy(update={"alias_of": twin}) if twin else variant

    def without_each_block(self, name: str) -> list[Variant]:
        """Return one variant of a sub-test for each block of its system prompt, without that block.

        Raises:
            ConfigError: the sub-test is missing, or has fewer than two blocks.
        """
        whole = self.variant(name)
        prompt = whole.treatment.system_prompt
        if prompt is None or len(prompt.blocks) < _LEAST_BLOCKS:
            raise ConfigError(f"leave_one_out: {name} has fewer than two prompt blocks; name another sub-test")
        return [_without_block(whole, prompt, block) for block in prompt.blocks]

    def with_instructions(self, variant: Variant, name: str) -> Variant:
        """Return a variant with a file of config/instructions/ as the agent's instruction file.

        Raises:
            ConfigError: the file is missing, or the variant's agent reads no instruction file.
        """
        if not variant.treatment.reads_project:
            raise ConfigError(
                f"instructions: {variant.id} reads no files of the workspace (setting_sources); name another sub-test"
            )
        treatment = variant.treatment.model_copy(update={"instructions": name})
        materials = self._materials(treatment, f"instructions of {variant.id}")
        return Variant(id=f"{variant.id}{_WITH}{name}", treatment=treatment, materials=materials)

    def current(self, planned: Variant) -> Variant | None:
        """Return the present version of a planned variant; None if its sub-test was removed."""
        name, _, added = planned.id.rpartition(_WITH)
        if name and added == planned.treatment.instructions:
            base = self.current(planned.model_copy(update={"id": name}))
            return self.with_instructions(base, added) if base else None
        name, without, _ = planned.id.partition(_WITHOUT)
        if name not in self.declarations:
            return None
        variants = self.without_each_block(name) if without else [self.variant(name, planned.chosen)]
        variant = next((variant for variant in variants if variant.id == planned.id), None)
        files = planned.treatment.agent_files
        if variant is None or files is None or variant.treatment.agent_files is not None:
            return variant
        return with_agent_files(
            variant, files, self.roots[0]
        )  # the plan comes from a change whose sub-test named no files

    def declared_digest(self, name: str) -> str:
        """Return the digest of a sub-test's declaration, which does not depend on the choice for a `best of`."""
        sub_test, variant = self.declaration(name).sub_test, self._resolve(name, _NO_CHOICE)
        parts = [sub_test.treatment.keyed(), *sub_test.inherits, variant.digest]
        return digest(parts) if variant.chosen else variant.digest

    def _resolve(self, name: str, chosen: Mapping[str, str]) -> Variant:
        declaration = self.declaration(name)
        treatment, best = self._from(declaration).treatment(name, chosen, ())
        materials = self._materials(treatment, f"{declaration.path}: {name}")
        return Variant(id=name, treatment=treatment, materials=materials, chosen=best)

    @cached_property
    def _by_digest(self) -> dict[str, str]:
        """Names of sub-tests that do not depend on a choice, by the digest of their configuration."""
        variants = (self._resolve(name, _NO_CHOICE) for name in self.names)
        return {variant.digest: variant.id for variant in variants if not variant.chosen}

    def treatment(
        self, name: str, chosen: Mapping[str, str], below: tuple[str, ...]
    ) -> tuple[Treatment, dict[str, str]]:
        """Return a sub-test's treatment united with the inherited ones, and the sub-test chosen for each `best of`.

        Args:
            name: name of the sub-test.
            chosen: sub-test for `best of` each tier, by tier.
            below: sub-tests that inherit from this one.

        Raises:
            ConfigError: the sub-test inherits from itself, from a missing sub-test, or from contradicting ones.
        """
        declaration = self.declaration(name)
        path = declaration.path
        if name in below:
            raise ConfigError(f"{path}: inherits: {' -> '.join((*below, name))} is a cycle; remove one of them")
        parts, best = [], dict[str, str]()
        for parent in declaration.sub_test.inherits:
            choice = self._choice(parent, chosen, path)
            if choice not in self.declarations:
                hint = did_you_mean(choice, self.names)
                raise ConfigError(f"{path}: inherits: there is no sub-test {choice!r}{hint}")
            inherited, further = self._from(declaration).treatment(choice, chosen, (*below, name))
            parts.append((choice, inherited))
            best |= further | ({parent.removeprefix(BEST_OF): choice} if choice != parent else {})
        return unite(parts, declaration.sub_test.treatment, path), best

    def _choice(self, parent: str, chosen: Mapping[str, str], path: Path) -> str:
        if not parent.startswith(BEST_OF):
            return parent
        name = parent.removeprefix(BEST_OF)
        if chosen.get(name) in self.declarations:
            return chosen[name]
        tier = self.tiers.get(name)
        if tier is None or tier.representative is None:
            raise ConfigError(
                f"{path}: inherits: {parent!r} needs a `representative` in config/tiers/{name}.yaml "
                "until results decide; name a sub-test there"
            )
        return f"{name}/{tier.representative}"

    def _from(self, declaration: Declaration) -> "Tiers":
        """Return the tiers that a sub-test may inherit from."""
        roots = declaration.roots
        return self if roots == self.roots else self._later.setdefault(roots, Tiers(roots, self._digests))

    def _materials(self, treatment: Treatment, where: str) -> dict[str, str]:
        digests: dict[str, str] = {}
        faults: list[str] = []
        for kind, names in material_names(treatment).items():
            for name in names:
                try:
                    digests[f"{kind}/{name}"] = self._material_digest(kind, treatment.folder(kind), name)
                except ConfigError as error:
                    faults += [f"{where}: {line}" for line in str(error).splitlines()]
        try:
            require_read_skills(treatment, self.roots)
            digests |= agent_file_digests(chosen_agent_files(treatment.agent_files or (), self.roots[0]))
        except ConfigError as error:
            faults += [f"{where}: {line}" for line in str(error).splitlines()]
        if faults:
            raise ConfigError("\n".join(faults))
        return digests

    def _material_digest(self, kind: str, folder: str, name: str) -> str:
        if (folder, name) not in self._checked:
            path = material_path(self.roots, folder, name)
            if path not in self._digests:
                self._digests[path] = material_digest(kind, path)
            self._checked[folder, name] = self._digests[path]
        return self._checked[folder, name]


def _without_block(whole: Variant, prompt: SystemPrompt, block: str) -> Variant:
    blocks = tuple(name for name in prompt.blocks if name != block)
    treatment = whole.treatment.model_copy(update={"system_prompt": prompt.model_copy(update={"blocks": blocks})})
    materials = {name: digest for name, digest in whole.materials.items() if name != f"blocks/{block}"}
    return Variant(id=f"{whole.id}{_WITHOUT}{block.lower()}", treatment=treatment, materials=materials)


def _add(declarations: dict[str, Declaration], path: Path, roots: tuple[Path, ...]) -> None:
    """Add the sub-tests of a tier's file and of the folder beside it."""
    tier = load_yaml(path, Tier)
    added: dict[str, None] = {}
    for sub_test, source in (*((sub_test, path) for sub_test in tier.sub_tests), *_in_folder(path, roots)):
        name = f"{tier.id}/{sub_test.id}"
        if name in declarations:
            raise ConfigError(f"{source}: sub-test {name} is given twice; rename one")
        declarations[name] = Declaration(sub_test, tier, source, roots)
        added[sub_test.id] = None
    if not added:
        raise ConfigError(f"{path}: the tier has no sub-test; write one in {path.parent / path.stem.lower()}/")
    if tier.representative and tier.representative not in added:
        hint = did_you_mean(tier.representative, list(added))
        raise ConfigError(f"{path}: representative: there is no sub-test {tier.representative!r}{hint}")


def _in_folder(path: Path, roots: tuple[Path, ...]) -> Iterator[tuple[SubTest, Path]]:
    for file in sorted((path.parent / path.stem.lower()).glob("*.yaml")):
        yield load_named(resolve_inside(file, roots), SubTest), file


def _refuse_strange_folders(folder: Path, stems: set[str]) -> None:
    known = {stem.lower() for stem in stems}
    for path in sorted(folder.glob("*/")):
        if path.name not in known:
            raise ConfigError(
                f"{path}: there is no {path.name.upper()}.yaml beside it; write one with id, name and focus"
            )


def unite(parents: Sequence[tuple[str, Treatment]], own: Treatment, where: Path) -> Treatment:
    """Unite treatments: join lists without duplicates; other fields have at most one value.

    Values of the sub-test's `own` treatment override the values of its named parents, except in lists; settings are
    joined key by key. Two parents must not set one field differently; `where` is the file for messages.
    """
    if not parents:
        return own
    united: dict[str, object] = {
        name: tuple(dict.fromkeys(item for _, treatment in (*parents, ("", own)) for item in getattr(treatment, name)))
        for name in _LISTS
    }
    for name in (
        "setting_sources",
        "tools",
        "orchestration",
        "verification",
        "agent_files",
        "instructions",
        "skill_listing",
    ):
        united[name] = _one_value(name, parents, own, where)
    united["skills_folder"] = own.skills_folder
    united["system_prompt"] = _one_prompt(parents, own, where)
    settings = [treatment.settings for _, treatment in (*parents, ("", own)) if treatment.settings is not None]
    united["settings"] = {key: value for part in settings for key, value in part.items()} if settings else None
    return Treatment.model_validate(united)


def _one_value(name: str, parents: Sequence[tuple[str, Treatment]], own: Treatment, where: Path) -> object:
    if (value := getattr(own, name)) is not None:
        return value
    values = {parent: value for parent, treatment in parents if (value := getattr(treatment, name)) is not None}
    if len({repr(value) for value in values.values()}) > 1:
        raise ConfigError(f"{where}: inherits: {' and '.join(values)} set {name} differently; set it here")
    return next(iter(values.values()), None)


def _one_prompt(parents: Sequence[tuple[str, Treatment]], own: Treatment, where: Path) -> SystemPrompt | None:
    """Return the system prompt; join the blocks of several prompts if all append or all replace."""
    prompts = {
        name: treatment.system_prompt
        for name, treatment in (*parents, ("this sub-test", own))
        if treatment.system_prompt
    }
    if all(prompt.blocks for prompt in prompts.values()) and len({prompt.replaces for prompt in prompts.values()}) == 1:
        blocks = dict.fromkeys(block for prompt in prompts.values() for block in prompt.blocks)
        return next(iter(prompts.values())).model_copy(update={"blocks": tuple(blocks)})
    prompt = _one_value("system_prompt", parents, own, where)
    return prompt if isinstance(prompt, SystemPrompt) else None


def mode_paths(roots: Sequence[Path]) -> dict[str, Path]:
    """Return the files of all modes by id; an earlier root hides the same id in a later one."""
    return {path.stem: path for root in reversed(roots) for path in sorted((root / "config" / "modes").glob("*.yaml"))}


def read_mode(name: str, roots: Sequence[Path]) -> Mode:
    """Read and resolve the mode with that id; refuse an unknown id, and a mode that `resolve_mode` refuses."""
    paths = mode_paths(roots)
    if name not in paths:
        hint = did_you_mean(name, list(paths)) or there_are(sorted(paths))
        raise ConfigError(f"mode {name!r}: not found in config/modes/ of this repository or of the toolkit{hint}")
    return resolve_mode(resolve_inside(paths[name], roots), roots)


def program_files(mode: Mode, roots: Sequence[Path]) -> dict[str, Path]:
    """Return the files of a mode's programs, by the names of the programs."""
    folder = mode_paths(roots)[mode.id].parent
    return {name: folder / program.file for name, program in mode.programs.items() if program.file}


def resolve_mode(path: Path, roots: Sequence[Path]) -> Mode:
    """Resolve a mode file: read its instructions, and compute the digests of its files.

    Args:
        path: file of the mode.
        roots: folders of configuration, in which MCP servers are looked up.

    Raises:
        ConfigError: the file is invalid, or it names a file or an MCP server that is missing or invalid.
    """
    declared = load_named(path, ModeFile)
    materials, faults = dict[str, str](), list[str]()
    for name in declared.mcp_servers:
        try:
            materials[f"mcp/{name}"] = material_digest("mcp", material_path(roots, "mcp", name))
        except ConfigError as error:
            faults.append(f"{path}: mcp_servers: {error}")
    for name, program in declared.programs.items():
        if program.file is not None:
            file = resolve_inside(path.parent / program.file, roots)
            if file.is_file() and os.access(file, os.X_OK):
                materials[f"modes/{program.file}"] = hashlib.sha256(file.read_bytes()).hexdigest()
            else:
                faults.append(
                    f"{path}: programs.{name}.file: {file} is missing or not executable; "
                    "put the program there, and make it executable by `chmod +x`"
                )
    if faults:
        raise ConfigError("\n".join(faults))
    return Mode(
        id=declared.id,
        programs=declared.programs,
        mcp_servers=declared.mcp_servers,
        env=declared.env,
        clients=declared.clients,
        instructions=_instructions(declared, path, roots),
        materials=materials,
    )


def _instructions(declared: ModeFile, path: Path, roots: Sequence[Path]) -> str | None:
    """Return the instructions without surrounding blank lines; None if there are none."""
    if declared.instructions_file is None:
        return declared.instructions and declared.instructions.strip()
    file = resolve_inside(path.parent / declared.instructions_file, roots)
    text = read_text(file).strip()
    if not text:
        raise ConfigError(f"{path}: instructions_file: {file} is empty; describe the tools in it")
    return text
