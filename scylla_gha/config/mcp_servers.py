"""Files of MCP servers: `server.yaml`, and the lock of its packages beside it.

The lock pins each package that is installed, with a digest of its content: `package-lock.json` as npm writes it, or
`requirements.txt` with hashes as `uv pip compile --generate-hashes` writes it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from scylla_gha.config import load_yaml
from scylla_gha.errors import ConfigError
from scylla_gha.model.mcp_server import McpServer

NPM_LOCK: Final = "package-lock.json"
PYPI_LOCK: Final = "requirements.txt"
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;\\]+)")
_SEPARATORS: Final = re.compile(r"[-_.]+")


def read_server(folder: Path) -> McpServer:
    """Read an MCP server, and check that its lock has the versions that its file names.

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
    folders = {path.parent.name: path.parent
               for root in reversed(roots) for path in (root / "config" / "mcp").glob("*/server.yaml")}  # fmt: skip
    return dict(sorted(folders.items()))


def _differences(declared: Mapping[str, str], locked: Mapping[str, str], *, is_npm: bool) -> Iterator[str]:
    for name, version in declared.items():
        stored = locked.get(name if is_npm else _normal(name))
        if stored != version:
            yield f"{name} is {stored or 'missing'}, but server.yaml names {version}"


def _npm_versions(lock: Path) -> dict[str, str]:
    """Return the versions of a lock's packages at its top level.

    Raises:
        ConfigError: it is missing, is not a lock, or has a package without a digest of its content.
    """
    try:
        packages = json.loads(_text(lock))["packages"]
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
    """Return the versions of a lock's packages by their normal names.

    Raises:
        ConfigError: it is missing, or a line is not an exact version with hashes.
    """
    versions: dict[str, str] = {}
    lines = (line.partition("#")[0].strip() for line in _text(lock).replace("\\\n", " ").splitlines())
    for line in filter(None, lines):
        requirement = _REQUIREMENT.match(line)
        if requirement is None or "--hash=" not in line:
            raise ConfigError(f"{lock}: {line.split()[0]!r} is not an exact version with hashes; make the lock with "
                              "`uv pip compile --universal --generate-hashes`")  # fmt: skip
        versions[_normal(requirement[1])] = requirement[2]
    return versions


def _text(lock: Path) -> str:
    try:
        return lock.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{lock}: is missing; it pins the packages of server.yaml and all that they need") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{lock}: cannot be read: {error}") from None


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
