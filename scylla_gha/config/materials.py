"""What treatments name: skills, sub-agents and MCP servers, found by name and covered by digests.

```
<root>/config/skills/<name>/SKILL.md     and whatever the skill brings along
<root>/config/agents/<name>.md           front matter, and the sub-agent's prompt below it
<root>/config/mcp/<name>/server.yaml     and the server's own files
```
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from scylla_gha.config.links import contained
from scylla_gha.config.load import complaint, did_you_mean, load
from scylla_gha.errors import ConfigError
from scylla_gha.model.outfit import McpServer, SubAgent
from scylla_gha.model.record import digest
from scylla_gha.model.variant import Treatment


def materials(treatment: Treatment, roots: Sequence[Path]) -> dict[str, str]:
    """The digests of all that a treatment names, by `kind/name`; each is read, so that a fault shows before a run.

    Raises:
        ConfigError: something is missing, or is not what it should be; one line per fault.
    """
    found: dict[str, str] = {}
    faults: list[str] = []
    for kind, names, check in (
        ("mcp", treatment.mcp_servers, _check_server),
        ("skills", treatment.skills, _check_skill),
        ("agents", treatment.agents, read_agent),
    ):
        for name in names:
            try:
                path = place(roots, kind, name)
                check(path)
                found[f"{kind}/{name}"] = _digest(path)
            except ConfigError as error:
                faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(faults))
    return found


def place(roots: Sequence[Path], kind: str, name: str) -> Path:
    """The folder or file of that name in the first root that has it.

    Raises:
        ConfigError: no root has it, or a symbolic link leads out of it.
    """
    file = f"{name}.md" if kind == "agents" else name
    for root in roots:
        if (root / "config" / kind / file).exists():
            return contained(root / "config" / kind / file, roots)
    known = {path.name.removesuffix(".md") for root in roots for path in (root / "config" / kind).glob("*")}
    hint = did_you_mean(name, known) or f"; there are: {', '.join(sorted(known)) or 'none'}"
    raise ConfigError(f"{kind}: {name!r} is not in config/{kind}/ of this repository or of the toolkit{hint}")


def read_agent(path: Path) -> SubAgent:
    """A sub-agent's file.

    Raises:
        ConfigError: it is none, or is named otherwise than its file.
    """
    front, body = _front_matter(path)
    tools = front.get("tools")
    if isinstance(tools, str):  # as Claude Code writes them: Read, Grep
        front["tools"] = [tool.strip() for tool in tools.split(",")]
    try:
        agent = SubAgent.model_validate({**front, "prompt": body}, strict=False)
    except ValidationError as error:
        faults = (f"{path}: {'.'.join(map(str, each['loc']))}: {complaint(SubAgent, each)}" for each in error.errors())
        raise ConfigError("\n".join(faults)) from None
    if agent.name != path.stem:
        raise ConfigError(f"{path}: name: is {agent.name!r}, but the file is named {path.stem!r}; make them equal")
    return agent


def _check_server(folder: Path) -> None:
    load(folder / "server.yaml", McpServer)


def _check_skill(folder: Path) -> None:
    path = folder / "SKILL.md"
    front, _ = _front_matter(path)
    if front.get("name") != folder.name:
        raise ConfigError(f"{path}: name: is {front.get('name')!r}, but the folder is named {folder.name!r}; "
                          "make them equal")  # fmt: skip
    said = front.get("description")
    if not isinstance(said, str) or not said.strip():
        raise ConfigError(f"{path}: description: is missing or no text; write one, since agents choose a skill by it")


def _front_matter(path: Path) -> tuple[dict[str, Any], str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: there is no such file; write it, with a front matter of name and description"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    begin, _, rest = text.partition("---\n")
    head, mark, body = f"\n{rest}\n".partition("\n---\n")
    try:
        front = yaml.safe_load(head) if mark and not begin.strip() else None
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""  # `head` begins with the mark's own line
        raise ConfigError(f"{path}{line}: the front matter is not valid YAML: {error.problem or error.context}; "
                          "put a text with a colon in quotes") from None  # fmt: skip
    except (yaml.YAMLError, ValueError) as error:  # a character or a date that there is not
        raise ConfigError(f"{path}: the front matter is not valid YAML: {error}") from None
    if not isinstance(front, dict):
        raise ConfigError(f"{path}: must begin with a front matter between two lines `---`, with name and description")
    return front, body.strip()


def _digest(path: Path) -> str:
    files = _files(path) if path.is_dir() else [path]
    return digest({str(f.relative_to(path)): [hashlib.sha256(f.read_bytes()).hexdigest(), _mode(f)] for f in files})


def _mode(file: Path) -> bool:
    return bool(file.stat().st_mode & 0o100)


def _files(folder: Path) -> Iterator[Path]:
    paths: Iterable[Path] = sorted(folder.rglob("*"))
    for path in paths:
        if "__pycache__" in path.relative_to(folder).parts:
            continue
        if path.is_symlink() and not path.is_file():
            raise ConfigError(f"{path}: is a link to no file; put what it stands for in its place")
        if path.is_file():
            yield path
