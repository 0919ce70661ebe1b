"""The user's own files for coding agents (`CLAUDE.md`, `.claude/`, `.mcp.json`, ...): lookup and checks.

Files that git ignores are left out. A link is followed if it stays inside the repository, as from `CLAUDE.md` to
`AGENTS.md`; the trial gets a copy of the file in its place.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from scylla_gha.config import require_small_yaml
from scylla_gha.counting import first_of
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model.variant import MCP_FILE, PLACES, ServerCommand, Variant, is_agent_file
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.system.git import run_git

KIND: Final = "agent_files"  # prefix of the files' names in a variant's materials
_MOST_BYTES: Final = 20_000_000
_MOST_NAMED: Final = 20
_ALL: Final = frozenset({"*", f"!{MCP_FILE}"})  # patterns that are also valid in a repository without files for agents
_FOLDERS_OF_THE_TOOLKIT: Final = ("fixtures", "runs", "scenarios")
_SERVER_NAME: Final = re.compile(r"[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")
_SKILL: Final = re.compile(r"\.(claude|agents)/skills/[^/]+/SKILL\.md")
_DESCRIPTION: Final = re.compile(r"^description:[ \t]*(\S|[>|])", re.MULTILINE)
_TRUE: Final = frozenset({"true", "yes", "on"})
_NO: Final = frozenset({"false", "no", "off"})
_FIELD: Final = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(.*)$", re.MULTILINE)
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}")


def agent_files(root: Path) -> dict[str, Path]:
    """Return the repository's files for agents (with links followed), by their paths in the repository.

    Raises:
        ConfigError: a link leads out of the repository or to no file, or the files are too large.
    """
    files: dict[str, Path] = {}
    for path in sorted(filter(is_agent_file, _listed(root))):
        if path.split("/")[0] in _FOLDERS_OF_THE_TOOLKIT:  # start states and records of trials have such files too
            continue
        if (root / path).is_symlink() or (root / path).exists():  # git also lists a deleted file
            files |= _behind_links(root, path)
    size = sum(file.stat().st_size for file in files.values())
    if size > _MOST_BYTES:
        raise ConfigError(
            f"{root}: its files for agents total {size / 1e6:.1f} MB (maximum: {_MOST_BYTES / 1e6:.0f}); "
            "let git ignore what no agent needs"
        )
    return files


def chosen_agent_files(patterns: Sequence[str], root: Path) -> dict[str, Path]:
    """Return the repository's files for agents that match a pattern; `!` before a pattern excludes files.

    Raises:
        ConfigError: a pattern leads out of the repository, a pattern other than `*` matches nothing, or `.mcp.json`
            cannot be used.
    """
    known = agent_files(root) if patterns else {}
    for pattern in patterns:
        _require_match(pattern, known, root)
    chosen = PathPatterns([pattern.removeprefix("./") for pattern in patterns if not pattern.startswith("!")])
    left_out = PathPatterns([pattern[1:].removeprefix("./") for pattern in patterns if pattern.startswith("!")])
    files = {path: file for path, file in known.items() if chosen.match(path) and not left_out.match(path)}
    if MCP_FILE in files:
        project_servers(files[MCP_FILE])
    return files


def _require_match(pattern: str, known: Iterable[str], root: Path) -> None:
    if ".." in pattern.split("/"):
        raise ConfigError(f"{KIND}: {pattern!r} leads out of the repository {root}; name a path inside it")
    plain = PathPatterns([pattern.removeprefix("!").removeprefix("./")])
    if pattern in _ALL or any(map(plain.match, known)):
        return
    names = list(known)
    listing = f"there are: {first_of(names, _MOST_NAMED)}" if names else "it has none"
    places = ", ".join(path.removeprefix("/") for paths in PLACES.values() for path in paths)
    raise ConfigError(f"{KIND}: {pattern!r} matches no file for agents in {root}; {listing} (looked for: {places})")


def skills_without_description(files: Mapping[str, Path]) -> list[str]:
    """Return the paths of skills without a description in their front matter; agents choose a skill by it."""
    # Claude Code 2.1.197 and 2.1.332 do not offer such a skill to the model (seen on 2026-11-28)
    skills = {path: file for path, file in files.items() if _SKILL.fullmatch(path)}
    return [path for path, file in skills.items() if not _DESCRIPTION.search(front_matter(file))]


def front_matter(file: Path) -> str:
    """Return the front matter of a file with any content; "" if the file is missing or has none."""
    text = file.read_bytes().decode(errors="replace") if file.is_file() else ""
    return text.partition("\n---")[0] if text.startswith("---") else ""


def front_fields(file: Path) -> dict[str, object]:
    """Return the fields of a file's front matter, with scalars as strings; if it is not YAML, read it line by line."""
    head = front_matter(file).removeprefix("---")
    try:
        require_small_yaml(head)
        fields = yaml.load(head, Loader=yaml.BaseLoader)  # noqa: S506 it makes texts, lists and mappings
    except (yaml.YAMLError, ValueError):
        return {name: value.strip().strip("'\"") for name, value in _FIELD.findall(head)}
    return fields if isinstance(fields, dict) else {}


def skill_exposure(file: Path, *, is_of_plugin: bool = False) -> tuple[bool, bool]:
    """Return whether Claude Code offers a skill to users and to its model at the start, by its SKILL.md.

    A skill with `paths` is offered only when the agent reads a matching file, unless a plugin provides it.
    """
    fields = front_fields(file)
    paths, text = fields.get("paths"), {name: str(value).lower() for name, value in fields.items()}
    is_for_paths = bool(paths) and paths not in ("**", ["**"]) and not is_of_plugin
    is_for_users = text.get("user-invocable") not in _NO
    is_for_model = text.get("disable-model-invocation") not in _TRUE  # 2.1.197 ignores `yes` and `on` here
    is_offered = not is_for_paths and (is_for_users or is_for_model)
    return is_offered and is_for_users, is_offered and is_for_model


def agent_file_digests(files: dict[str, Path]) -> dict[str, str]:
    """Return the digests of files for agents by `agent_files/path`."""
    return {f"{KIND}/{path}": hashlib.sha256(file.read_bytes()).hexdigest() for path, file in files.items()}


def with_agent_files(variant: Variant, patterns: tuple[str, ...], root: Path) -> Variant:
    """Return a variant with the repository's files for agents that match the patterns.

    Raises:
        ConfigError: for the same reasons as in `chosen_agent_files`.
    """
    return variant.model_copy(
        update={
            "treatment": variant.treatment.model_copy(update={KIND: patterns}),
            "materials": {**variant.materials, **agent_file_digests(chosen_agent_files(patterns, root))},
        }
    )


def _listed(root: Path) -> list[str]:
    """Return the paths of all files that git does not ignore; without a repository, all files."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is not None:
        listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        below = f"{root.relative_to(top)}/" if root != top else ""
        done = run_git(top / ".git", *listing, "--", below or ".", work_tree=top)
        if done.code:
            raise ToolError(f"git ls-files in {top} failed: {done.message}")
        paths = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        return [path.removeprefix(below) for path in paths if path]
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() or path.is_symlink()]


def _behind_links(root: Path, path: str) -> dict[str, Path]:
    file = root / path
    source = file.resolve()
    if source.is_dir() and not file.absolute().is_relative_to(source):
        inside = [item for item in sorted(source.rglob("*")) if item.is_file()]
        below = {f"{path}/{item.relative_to(source)}": item.resolve() for item in inside}
        sources = {name: item for name, item in below.items() if is_agent_file(name)}
    else:
        sources = {path: source}
    for name, item in sources.items():
        if not item.is_relative_to(root.resolve()) or ".git" in item.relative_to(root.resolve()).parts:
            raise ConfigError(f"{root / name}: is a symbolic link that leads out of {root}; replace it with a copy")
        if not item.is_file():
            raise ConfigError(f"{root / name}: is a broken link; replace it with the file that it stands for")
    return sources


def project_servers(path: Path) -> dict[str, ServerCommand]:
    """Read the MCP servers of `.mcp.json`; `${NAME:-default}` becomes the default.

    Raises:
        ConfigError: the file is invalid, or a trial cannot start a server (a remote one, or one with a user's
            variable).
    """
    try:
        servers = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]
        return {name: _server(path, name, server) for name, server in servers.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path}: is not a file of MCP servers ({error!r}); it must have `mcpServers` with a "
            "`command` for each name"
        ) from None


def _server(path: Path, name: str, server: dict[str, Any]) -> ServerCommand:
    alternative = f"or leave the file out of the variant: {KIND}: ['*', '!{MCP_FILE}']"
    if not _SERVER_NAME.fullmatch(name):
        raise ConfigError(f"{path}: {name!r}: use letters, digits, dashes and single underscores in its name")
    if "command" not in server:
        raise ConfigError(
            f"{path}: {name}: is a remote server, which a trial cannot reach; give it a `command`, {alternative}"
        )

    def fill(text: str) -> str:
        for variable, default in _VARIABLE.findall(text):
            if f"${{{variable}}}" in text:
                raise ConfigError(
                    f"{path}: {name}: needs the variable {variable}, but trials get none of your variables or "
                    f"secrets; write ${{{variable}:-default}}, {alternative}"
                )
            text = text.replace(f"${{{variable}:-{default}}}", default)
        return text

    args, env = server.get("args", []), server.get("env", {})
    return ServerCommand(
        fill(server["command"]), tuple(map(fill, args)), {key: fill(value) for key, value in env.items()}
    )
