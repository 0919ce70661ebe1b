"""Programs of agent CLIs that have a manifest, installed into the cache from npm or PyPI.

If the manifest names a day for the version, npm and uv install the newest dependencies that existed at the end of that
day, so that an installation today equals the measured one.

Node.js is installed beside the packages of a CLI that needs it, and a script finds it there. So sandboxes and images
need only the folder of packages.
"""

import os
import tempfile
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.model import digest
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.prepare.mcp_packages import node_package
from scylla_gha.prepare.tools import (
    create_environment,
    install_packages,
    link_native,
    make_once,
    newest_npm_version,
    npm_program,
    run_npm,
    run_uv,
)
from scylla_gha.store import write_text

_LAUNCHER: Final = """\
#!/bin/sh
folder=$(dirname "$(readlink -f "$0")")
{path}exec {program} "$@"
"""


def cli_program(package: CliPackage, version: str, cache: Path) -> Path:
    """Return the program of an agent CLI at a version, installed into the cache if it is missing.

    Raises:
        ToolError: the package cannot be installed, or has no such program.
    """
    if package.registry is None:
        raise ToolError(f"{package.program} has no package; put it on PATH, and name the agent without a version")
    if package.npm and not package.install_options:
        return npm_program(package.npm, version, package.program, cache)
    key = digest(
        package.model_dump(mode="json", exclude={"oldest", "dates"}) | {"day": str(package.dates.get(version))}
    )
    name = f"{package.id}-{version}-{key[:8]}".replace("/", "+")
    kind, install = ("npm", _install_npm) if package.npm else ("pypi", _install_pypi)
    folder = make_once(cache / kind / name, lambda new: install(package, version, new))
    program = folder / ("node_modules/.bin" if package.npm else "bin") / package.program
    if not program.exists():
        raise ToolError(f"{package.id} {version} has no program {package.program!r}")
    return program


def newest_version(package: CliPackage) -> str:
    """Return the newest version of an agent CLI in its registry.

    Raises:
        ToolError: the registry does not answer.
    """
    if package.registry is None:
        raise ToolError(f"{package.program} has no package in its manifest, so its newest version is unknown")
    if package.npm:
        return newest_npm_version(package.npm)
    with tempfile.TemporaryDirectory() as folder:
        names, pins = Path(folder, "names"), Path(folder, "pins")
        names.write_text(f"{package.pypi}\n", encoding="utf-8")
        options = ("--quiet", "--no-deps", "--no-header", "--no-annotate", "--output-file", str(pins))
        run_uv("pip", "compile", *options, str(names), fault=f"uv could not look up {package.pypi}")
        return pins.read_text("utf-8").strip().partition("==")[2]


def _install_npm(package: CliPackage, version: str, folder: Path) -> None:
    node = f"{node_package(package.node)}@{package.node}" if package.node else None
    pins = [f"{package.npm}@{version}", *(f"{name}@{pin}" for name, pin in sorted(package.extra.items()))]
    pins += [node] if node else []
    day = package.dates.get(version)
    before = [f"--before={day}T23:59:59Z"] if day else []
    run_npm(folder, "install", "--force", *before, *pins, installs=", ".join(pins))
    if package.native is not None:
        link_native(folder / "node_modules", package.program, package.native)
    if package.node or package.path:
        _write_launcher(folder / "node_modules", package)


def _write_launcher(modules: Path, package: CliPackage) -> None:
    """Replace the link to the program by a script that starts it, with the Node.js and the folders beside it."""
    link = modules / ".bin" / package.program
    target = f'"$folder/{os.path.relpath(link.resolve(), link.parent)}"'
    node = f'"$folder/../{node_package(package.node)}/bin/node" ' if package.node else ""
    folders = [path for pattern in package.path for path in sorted(modules.glob(pattern))]
    names = "".join(f"$folder/{os.path.relpath(path, link.parent)}:" for path in folders)
    path = f'PATH="{names}$PATH" ' if names else ""
    link.unlink()
    write_text(link, _LAUNCHER.format(path=path, program=node + target))
    link.chmod(0o755)


def pypi_requirements(package: CliPackage, version: str) -> list[str]:
    """Return the arguments of `uv pip install` for an agent CLI of PyPI at a version."""
    pins = [f"{package.pypi}=={version}", *(f"{name}=={pin}" for name, pin in sorted(package.extra.items()))]
    day = package.dates.get(version)
    return [*(["--exclude-newer", f"{day}T23:59:59Z"] if day else []), *pins]


def _install_pypi(package: CliPackage, version: str, folder: Path) -> None:
    create_environment(folder, "uv venv failed")
    install_packages(folder, pypi_requirements(package, version), f"uv could not install {package.pypi} {version}")
