"""Resources that treatments name, such as MCP servers, and the judges' prompt texts: lookup, checks and digests.

```
<root>/config/blocks/<name>.md           a part of a system prompt
<root>/config/skills/<name>/SKILL.md     and other files of the skill
<root>/config/agents/<name>.md           front matter, followed by the sub-agent's prompt
<root>/config/mcp/<name>/server.yaml     and the server's own files
<root>/config/judge/                     system_prompt.md and user_template.md
```

The lock pins each package that is installed, with a digest of its content: `package-lock.json` as npm writes it, or
`requirements.txt` with hashes as `uv pip compile --generate-hashes` writes it.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Final

import yaml
from pydantic import ValidationError

from scylla_gha.config import (
    SafeYaml,
    complaint,
    did_you_mean,
    load_yaml,
    read_text,
    require_equal_names,
    require_small_yaml,
)
from scylla_gha.counting import first_of
from scylla_gha.errors import ConfigError
from scylla_gha.model import digest
from scylla_gha.model.variant import McpServer, SubAgent, Treatment, holds_answers

_MOST_SKILLS: Final = 5  # that a message names
_PLUGIN_BYTES: Final = 1024 * 1024
_PLUGIN_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
_PLACEHOLDERS: Final = ("task", "items", "steps", "checks", "told", "evidence", "again", "tag")
NPM_LOCK: Final = "package-lock.json"
PYPI_LOCK: Final = "requirements.txt"
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;\\]+)")
_LOCK_IS_MISSING: Final = "is missing; make it, so that it pins the packages of server.yaml and their dependencies"
_SEPARATORS: Final = re.compile(r"[-_.]+")


def resolve_inside(path: Path, roots: Sequence[Path]) -> Path:
    """Return the path of a configuration file or folder after checking that no link leads out of it.

    A pull request's configuration is read on a machine with other files, and its content reaches agents and reports.

    Args:
        path: a file; or the folder of a skill, an MCP server, a scenario or a fixture, which must be self-contained.
        roots: folders with `config/`, `scenarios/` and `fixtures/`; the path is below one of them.

    Raises:
        ConfigError: the path is stored outside of its root, or contains a link that leads out of it.
    """
    root = next(root for root in roots if path.is_relative_to(root))
    resolved = path.resolve()
    if not resolved.is_relative_to(root.resolve()):
        raise ConfigError(f"{path}: is stored outside of {root}, by a symbolic link; replace the link with a copy")
    for folder, folders, files in os.walk(path):
        for link in (Path(folder, name) for name in (*folders, *files)):
            if link.is_symlink() and not link.resolve().is_relative_to(resolved):
                raise ConfigError(
                    f"{link}: is a symbolic link that leads out of {path}; replace it with a copy of the file or "
                    "folder that it names"
                )
    return path


@dataclass(frozen=True, slots=True)
class Material:
    """A resource that a treatment names: its file or folder, and the digest of its contents."""

    path: Path
    digest: str


def materials(treatment: Treatment, roots: Sequence[Path]) -> dict[str, str]:
    """Return the digests of all resources of a treatment by `kind/name`, as `read_materials` computes them.

    Raises:
        ConfigError: something is missing or invalid; one line per fault.
    """
    return {name: material.digest for name, material in read_materials(treatment, roots).items()}


def read_materials(treatment: Treatment, roots: Sequence[Path]) -> dict[str, Material]:
    """Read all resources of a treatment, so that faults are reported before a run; return them by `kind/name`.

    Raises:
        ConfigError: something is missing or invalid; one line per fault.
    """
    resources: dict[str, Material] = {}
    faults: list[str] = []
    for kind, names in material_names(treatment).items():
        for name in names:
            try:
                path = material_path(roots, treatment.folder(kind), name)
                resources[f"{kind}/{name}"] = Material(path, material_digest(kind, path))
            except ConfigError as error:
                faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(faults))
    require_read_skills(treatment, roots)
    return resources


def require_read_skills(treatment: Treatment, roots: Sequence[Path]) -> None:
    """Check that the CLI reads the folder to which a treatment's skills are delivered.

    Raises:
        ConfigError: `setting_sources` excludes it, and the skills are not of a plugin.
    """
    if treatment.reads_user:
        return
    names = [
        name for name in treatment.skills if not skill_plugin(material_path(roots, treatment.folder("skills"), name))
    ]
    if names:
        raise ConfigError(
            f"setting_sources: leaves out `user`, and Claude Code reads the {'skill' if len(names) == 1 else 'skills'} "
            f"{first_of(names, _MOST_SKILLS)} only with it; add `user`, or leave setting_sources out"
        )


def skill_plugin(folder: Path) -> str:
    """Return the name of the author's plugin that a skill in `config/skills/` belongs to; empty if there is none."""
    return plugin_name(folder.parent.parent.parent)


def plugin_name(root: Path) -> str:
    """Return the name in `.claude-plugin/plugin.json` of a folder; empty if there is no valid one."""
    path = root / ".claude-plugin" / "plugin.json"
    if not path.is_file() or path.stat().st_size > _PLUGIN_BYTES:
        return ""
    try:
        name = json.loads(path.read_bytes()).get("name")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return name if isinstance(name, str) and _PLUGIN_NAME.fullmatch(name) else ""


def material_names(treatment: Treatment) -> dict[str, tuple[str, ...]]:
    """Return the names of all resources of a treatment, by the folder of their kind in `config/`."""
    leads = (treatment.orchestration.lead,) if treatment.orchestration else ()
    return {
        "blocks": prompt_blocks(treatment),
        "mcp": treatment.mcp_servers,
        "instructions": (treatment.instructions,) if treatment.instructions else (),
        "skills": treatment.skills,
        "agents": tuple(dict.fromkeys((*treatment.agents, *leads))),
    }


def prompt_blocks(treatment: Treatment) -> tuple[str, ...]:
    """Return the names of the blocks of a treatment's system prompt and of its verification block."""
    blocks = treatment.system_prompt.blocks if treatment.system_prompt else ()
    return (*blocks, f"verification-{treatment.verification}") if treatment.verification else blocks


def material_digest(kind: str, path: Path) -> str:
    """Read and check the files of a resource, and return their digest."""
    match kind:
        case "mcp":
            read_server(path)
        case "skills":
            _check_skill(path)
        case "agents":
            read_agent(path)
        case _:
            read_block(path)
    plugin = skill_plugin(path) if kind == "skills" else ""
    return digest([_digest(path, kind), plugin]) if plugin else _digest(path, kind)


def read_block(path: Path) -> str:
    """Read a block of a system prompt, without blank lines around it.

    Raises:
        ConfigError: the file cannot be read, or is empty.
    """
    text = read_text(path).strip()
    if not text:
        raise ConfigError(f"{path}: is empty; write the text that is added to the system prompt")
    return text


def material_path(roots: Sequence[Path], kind: str, name: str) -> Path:
    """Return a resource's folder or file in the first root that has it.

    Raises:
        ConfigError: no root has the resource, or a symbolic link leads out of it.
    """
    file = f"{name}.md" if kind in {"agents", "blocks", "instructions"} else name
    for root in roots:
        if (root / "config" / kind / file).exists():
            return resolve_inside(root / "config" / kind / file, roots)
    known = {path.name.removesuffix(".md") for root in roots for path in (root / "config" / kind).glob("*")}
    hint = did_you_mean(name, known) or f"; there are: {', '.join(sorted(known)) or 'none'}"
    raise ConfigError(f"{kind}: {name!r} is not in config/{kind}/ of this repository or of the toolkit{hint}")


def read_agent(path: Path) -> SubAgent:
    """Read the file of a sub-agent.

    Raises:
        ConfigError: the file is invalid, or has another name than the sub-agent.
    """
    front, body = _front_matter(path)
    tools = front.get("tools")
    if isinstance(tools, str):  # Claude Code's form, such as `Read, Grep`
        front["tools"] = [tool.strip() for tool in tools.split(",")]
    try:
        agent = SubAgent.model_validate({**front, "prompt": body}, strict=False)
    except ValidationError as error:
        faults = (
            f"{path}: {'.'.join(map(str, fault['loc']))}: {complaint(SubAgent, fault)}" for fault in error.errors()
        )
        raise ConfigError("\n".join(faults)) from None
    require_equal_names(path, "name", agent.name, path.stem)
    return agent


def skill_description(folder: Path) -> tuple[str, ...]:
    """Return the texts by which agents choose a skill: its description, and its `when_to_use` if it has one.

    Raises:
        ConfigError: the skill's front matter is invalid.
    """
    front, _ = _front_matter(folder / "SKILL.md")
    return tuple(text for key in ("description", "when_to_use") if isinstance(text := front.get(key), str))


def _check_skill(folder: Path) -> None:
    path = folder / "SKILL.md"
    front, _ = _front_matter(path)
    require_equal_names(path, "name", front.get("name"), folder.name, "folder")
    description = front.get("description")
    if not isinstance(description, str) or not description.strip():
        raise ConfigError(f"{path}: description: is missing or not text; write one, since agents choose a skill by it")


def _front_matter(path: Path) -> tuple[dict[str, Any], str]:
    text = read_text(path, "there is no such file; write it, with a front matter of name and description")
    begin, _, rest = text.partition("---\n")
    head, mark, body = f"\n{rest}\n".partition("\n---\n")
    try:
        require_small_yaml(head)
        front = yaml.load(head, Loader=SafeYaml) if mark and not begin.strip() else None  # noqa: S506 it is a safe loader
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""  # `head` begins with the mark's own line
        raise ConfigError(
            f"{path}{line}: the front matter is not valid YAML: {error.problem or error.context}; "
            "put a text with a colon in quotes"
        ) from None
    except (yaml.YAMLError, ValueError) as error:  # an invalid character or date
        raise ConfigError(f"{path}: the front matter is not valid YAML: {error}") from None
    if not isinstance(front, dict):
        raise ConfigError(f"{path}: must begin with a front matter between two lines `---`, with name and description")
    return front, body.strip()


def _digest(path: Path, kind: str) -> str:
    files = _files(path) if path.is_dir() else [path]
    files = (file for file in files if kind != "skills" or not is_undelivered(path, file))
    return digest(
        {
            str(file.relative_to(path)): [
                hashlib.sha256(file.read_bytes()).hexdigest(),
                bool(file.stat().st_mode & stat.S_IXUSR),
            ]
            for file in files
        }
    )


def is_undelivered(skill: Path, path: Path) -> bool:
    """Return whether agents do not get a path of a skill's folder: it holds answers, or no part of the skill."""
    relative, target = path.relative_to(skill), path.resolve()
    if {"__pycache__", ".git"} & set(relative.parts) or holds_answers(relative.as_posix()):
        return True
    inside = target.relative_to(skill.resolve()) if target.is_relative_to(skill.resolve()) else relative
    return holds_answers(inside.as_posix())


def _files(folder: Path) -> Iterator[Path]:
    paths: Iterable[Path] = sorted(folder.rglob("*"))
    for path in paths:
        if "__pycache__" in path.relative_to(folder).parts:
            continue
        if path.is_symlink() and not path.is_file():
            raise ConfigError(f"{path}: is a broken link; replace it with the file that it stands for")
        if path.is_file():
            yield path


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """System prompt of the judges, template of the user's message, and its version."""

    system: str
    template: str
    version: int

    @property
    def digest(self) -> str:
        """SHA-256 of both texts."""
        return digest([self.system, self.template])


def read_prompt_texts(roots: Iterable[Path]) -> PromptTexts:
    """Read the prompt texts of the first root that has `config/judge/`; a user's repository may bring its own.

    Raises:
        ConfigError: a file is missing, has no version, or lacks a placeholder.
    """
    folders = [root / "config" / "judge" for root in roots]
    folder = next((path for path in folders if path.is_dir()), None)
    if folder is None:
        raise ConfigError(f"{', '.join(map(str, folders))}: no such folder; create one with the judges' prompts")
    return prompt_texts(folder)


def prompt_texts(folder: Path) -> PromptTexts:
    """Read `system_prompt.md` and `user_template.md` of a folder.

    Raises:
        ConfigError: a file is missing, has no version, or lacks a placeholder.
    """
    texts = []
    for path in (folder / "system_prompt.md", folder / "user_template.md"):
        try:
            texts.append(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}; the judges need this prompt text") from None
    system, template = texts
    first, _, rest = template.partition("\n")
    version = re.fullmatch(r"version: (\d{1,6})", first.strip())
    if not version:
        raise ConfigError(f"{folder / 'user_template.md'}:1: must be `version: 1` or a later number, not {first!r}")
    placeholders = Template(rest)
    if not placeholders.is_valid() or set(placeholders.get_identifiers()) != set(_PLACEHOLDERS):
        names = ", ".join(f"${name}" for name in _PLACEHOLDERS)
        raise ConfigError(f"{folder / 'user_template.md'}: must use exactly {names} (a dollar sign is written $$)")
    return PromptTexts(system, rest, int(version[1]))


def read_server(folder: Path) -> McpServer:
    """Read an MCP server, and check that its lock has the versions in `server.yaml`.

    Raises:
        ConfigError: the file is invalid, or the lock is missing or has other versions.
    """
    server = load_yaml(folder / "server.yaml", McpServer)
    if server.packages:
        is_npm = bool(server.packages.npm)
        declared = server.packages.npm or server.packages.pypi
        lock = folder / (NPM_LOCK if is_npm else PYPI_LOCK)
        locked = _npm_versions(lock) if is_npm else _pypi_versions(lock)
        faults = list(_differences(declared, locked, is_npm=is_npm))
        if faults:
            raise ConfigError(
                "\n".join(f"{lock}: {fault}; make the lock again, or correct server.yaml" for fault in faults)
            )
    return server


def server_folders(roots: Sequence[Path]) -> dict[str, Path]:
    """Return the folders of all MCP servers by name, sorted; an earlier root hides the same name in a later one."""
    folders = {
        path.parent.name: path.parent
        for root in reversed(roots)
        for path in (root / "config" / "mcp").glob("*/server.yaml")
    }
    return dict(sorted(folders.items()))


def _differences(declared: Mapping[str, str], locked: Mapping[str, str], *, is_npm: bool) -> Iterator[str]:
    for name, version in declared.items():
        stored = locked.get(name if is_npm else _normal(name))
        if stored != version:
            yield f"{name}: is {stored or 'missing'}, but {version} in server.yaml"


def _npm_versions(lock: Path) -> dict[str, str]:
    """Return the versions of a lock's top-level packages; each package needs a digest of its content."""
    try:
        packages = json.loads(read_text(lock, _LOCK_IS_MISSING))["packages"]
        versions = {name: package["version"] for name, package in packages.items() if name}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(
            f"{lock}: is not a lock of npm 7 or newer; make it with `npm install --package-lock-only`"
        ) from None
    loose = [name for name, package in packages.items() if name and "integrity" not in package]
    if loose:
        raise ConfigError(
            f"{lock}: {loose[0]} has no `integrity`; take it from a registry, so that its content is pinned"
        )
    return {name.removeprefix("node_modules/"): str(version) for name, version in versions.items()}


def _pypi_versions(lock: Path) -> dict[str, str]:
    """Return the versions of a lock's packages by their normal names; each line needs an exact version with hashes."""
    versions: dict[str, str] = {}
    lines = (
        line.partition("#")[0].strip() for line in read_text(lock, _LOCK_IS_MISSING).replace("\\\n", " ").splitlines()
    )
    for line in filter(None, lines):
        requirement = _REQUIREMENT.match(line)
        if requirement is None or "--hash=" not in line:
            raise ConfigError(
                f"{lock}: {line.split()[0]!r} is not an exact version with hashes; make the lock with "
                "`uv pip compile --universal --generate-hashes`"
            )
        versions[_normal(requirement[1])] = requirement[2]
    return versions


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
