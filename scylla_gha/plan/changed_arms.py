"""Arms that a change alters: by their variant, or by the repository's own files for agents (CLAUDE.md, .claude/, ...).

If variants of the experiment name such files, only these files count. Otherwise both versions of all files for agents
are compared, with one variant that names no such files.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from scylla_gha.config.agent_files import (
    KIND,
    agent_file_digests,
    agent_files,
    project_servers,
    skills_without_description,
    with_agent_files,
)
from scylla_gha.config.library import Library
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.variant import MCP_FILE, file_changes, reads_by_itself

_BASE, _HEAD = "base", "head"
_ALL = ("*",)
_TREATMENT_FOLDERS = ("agents", "blocks", "mcp", "modes", "skills", "tiers")
_MOST_BYTES = 200_000  # size of a file whose lines are compared
_MOST_DIFF = 20_000  # maximum number of characters in plans and reports


def changed_arms(
    experiment: Experiment, here: Sequence[Arm], head: Sequence[Arm], library: Library, head_library: Library
) -> tuple[Arm, ...]:
    """Return the arms that a change alters, in this checkout's version and in the change's version.

    They differ by their variant, or by the repository's own files for agents.

    Raises:
        RefusedError: the change alters no arm.
    """
    by_id, arms = {arm.id: arm for arm in here}, dict[str, Arm]()
    for pair in _agent_file_arms(experiment, here, head, library, head_library):
        arms |= {arm.id: arm for arm in pair}
    for arm in head:
        before = by_id.get(arm.id)
        if f"{arm.id}.{_HEAD}" in arms:  # listed already, with files for agents
            continue
        if before and _treatment_digests(before) == _treatment_digests(arm):
            continue
        before = before or by_id[experiment.baseline]
        arms[before.id] = before
        name = f"{arm.id}.{_HEAD}"
        arms[name] = arm.model_copy(update={"id": name, "side": _HEAD, "against": before.id})
    if not arms:
        raise RefusedError(_nothing_to_compare(experiment, head, _agent_file_changes(library, head_library)))
    return tuple(arms.values())


def _nothing_to_compare(experiment: Experiment, arms: Sequence[Arm], changes: Mapping[str, Sequence[str]]) -> str:
    count = counted(len(arms), "arm")
    if not changes:
        return (
            f"experiment {experiment.id}: there is nothing to compare: no file for agents (CLAUDE.md, .claude/, "
            f"...) and no variant of its {count} differs between this checkout and --head; commit the change to "
            "its branch, and run this command on the base branch"
        )
    files = "; ".join(f"{word}: {', '.join(paths)}" for word, paths in changes.items())
    return (
        f"experiment {experiment.id}: there is nothing to compare: files for agents differ ({files}), but none of "
        f"its {count} reads them; give the experiment an agent CLI, a model and a variant such as T0/01-vanilla, "
        "or use --agent claude-code --model ID --variant T0/01-vanilla"
    )


def _treatment_digests(arm: Arm) -> tuple[str | None, str | None]:
    return arm.variant.digest if arm.variant else None, arm.mode.digest if arm.mode else None


def _agent_file_changes(base: Library, head: Library) -> dict[str, tuple[str, ...]]:
    """Return the paths of files for agents that a change alters, by `added`, `changed` and `removed`."""
    before, after = (agent_file_digests(agent_files(library.roots[0])) for library in (base, head))
    changes = file_changes(before, after)
    return {word: tuple(path.removeprefix(f"{KIND}/") for path in paths) for word, paths in changes.items()}


def change_note(base: Library, head: Library) -> str:
    """Return a line with the files for agents that a change adds, changes and removes; "" without such files."""
    changes = _agent_file_changes(base, head)
    listed = [f"{word} {', '.join(paths)}" for word, paths in changes.items()]
    return f"the change differs from this checkout in files for agents: {'; '.join(listed)}" if listed else ""


def change_diff(base: Library, head: Library) -> str:
    """Return the unified diff of a change in files for agents and in the configuration of variants."""
    before, after = _files_of_treatments(base), _files_of_treatments(head)
    lines = chain.from_iterable(_file_diff(path, before, after) for path in sorted({*before, *after}))
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    return text if len(text) <= _MOST_DIFF else f"{text[:_MOST_DIFF]}\n... cut after {_MOST_DIFF:,} characters\n"


def _files_of_treatments(library: Library) -> dict[str, Path]:
    root = library.roots[0]
    config = (path for name in _TREATMENT_FOLDERS for path in (root / "config" / name).rglob("*"))
    # A link of a change could lead to any file of this machine, and the diff is published
    inside = (path for path in config if path.is_file() and path.resolve().is_relative_to(root.resolve()))
    own = {str(path.relative_to(root)): path for path in inside}
    return {**agent_files(root), **own}


def _file_diff(path: str, before: Mapping[str, Path], after: Mapping[str, Path]) -> Iterator[str]:
    old, new = (files[path].read_bytes() if path in files else b"" for files in (before, after))
    if old != new and max(len(old), len(new)) > _MOST_BYTES:
        yield f"{path} differs, but is too large to be shown\n"
    elif old != new:
        lines = [text.decode(errors="replace").splitlines(keepends=True) for text in (old, new)]
        name, new_name = f"a/{path}" if path in before else "/dev/null", f"b/{path}" if path in after else "/dev/null"
        yield from difflib.unified_diff(lines[0], lines[1], name, new_name)


def _agent_file_arms(
    experiment: Experiment, arms: Sequence[Arm], head_arms: Sequence[Arm], base: Library, head: Library
) -> Iterator[tuple[Arm, Arm]]:
    """Yield pairs of arms: one with the base's files for agents, and one with the change's.

    The arms have one variant that names no such files: the baseline's if possible, otherwise the first. There are no
    pairs if the files are equal, or if a variant that the change alters names its files itself.
    """
    changes, after = _agent_file_changes(base, head), {arm.id: arm for arm in head_arms}
    if not changes or any(_names_changed_files(arm, after.get(arm.id)) for arm in arms):
        return
    open_variants = {arm.id: arm.variant for arm in arms if _leaves_files_to_start(arm)}
    variant = open_variants.get(experiment.baseline) or next(iter(open_variants.values()), None)
    roots = base.roots[0], head.roots[0]
    patterns = _ALL if any(MCP_FILE in paths for paths in changes.values()) else _startable(roots[0])
    for arm in arms:
        if arm.id in open_variants and open_variants[arm.id] == variant:
            before = _with_files(arm, _BASE, roots[0], patterns)
            changed = _with_files(after.get(arm.id, arm), _HEAD, roots[1], patterns)
            yield before, changed.model_copy(update={"side": _HEAD, "against": before.id})


def skill_notes(plan: Plan, roots: Mapping[str, Path]) -> Iterator[str]:
    """Yield a note for each skill of the repository that agents cannot choose, since it has no description.

    Args:
        plan: plan whose arms name their files for agents.
        roots: checkouts of the repository by an arm's side: "" for this one, "head" for the change.
    """
    for side, root in roots.items():
        names = [name for arm in plan.arms if (arm.side or "") == side for name in _named_files(arm)]
        for path in skills_without_description({name: root / name for name in names}):
            where = " of the change" if side else ""
            yield (
                f"{path}{where} has no front matter with a description, so agents do not choose this skill by "
                "themselves; begin the file with lines `---`, `name: ...`, `description: ...`, `---`"
            )


def unread_notes(plan: Plan) -> Iterator[str]:
    """Yield a note for each agent that does not read some altered files by itself."""
    arms = {arm.id: arm for arm in plan.arms}
    unread: dict[str, dict[str, None]] = {}
    for arm in (arm for arm in plan.arms if arm.side and arm.against):
        before, after = _named_files(arms[arm.against or ""]), _named_files(arm)
        paths = [path for names in file_changes(before, after).values() for path in names]
        files = {**before, **after}
        unread.setdefault(arm.agent, {}).update(
            dict.fromkeys(path for path in paths if not reads_by_itself(arm.agent, path, files))
        )
    for agent, names in unread.items():
        if names:
            yield (
                f"{agent} does not read {', '.join(names)} by itself; it does if the prompt or another file points "
                "to it, as `@AGENTS.md` in CLAUDE.md does"
            )


def _leaves_files_to_start(arm: Arm) -> bool:
    treatment = arm.variant.treatment if arm.variant else None
    return treatment is not None and treatment.agent_files is None and treatment.reads_project


def _names_changed_files(before: Arm, after: Arm | None) -> bool:
    """Return whether the variant has two versions that name different files for agents."""
    versions = [_named_files(arm) for arm in (before, after) if arm is not None]
    return len(versions) > 1 and versions[0] != versions[1]


def _named_files(arm: Arm) -> dict[str, str]:
    materials = arm.variant.materials if arm.variant else {}
    return {name.removeprefix(f"{KIND}/"): digest for name, digest in materials.items() if name.startswith(f"{KIND}/")}


def _startable(root: Path) -> tuple[str, ...]:
    """Return patterns of all files, without an `.mcp.json` whose servers a trial cannot start."""
    try:
        if (root / MCP_FILE).is_file():
            project_servers(root / MCP_FILE)
    except ConfigError:
        return (*_ALL, f"!{MCP_FILE}")
    return _ALL


def _with_files(arm: Arm, version: str, root: Path, patterns: tuple[str, ...]) -> Arm:
    if arm.variant is None:
        raise AssertionError("an arm with files for agents has a variant")
    variant = with_agent_files(arm.variant, patterns, root)
    return arm.model_copy(update={"id": f"{arm.id}.{version}", "variant": variant})
