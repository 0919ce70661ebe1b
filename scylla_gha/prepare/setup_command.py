"""The user's own command that installs what tests need (`--setup`), run in a copy of the code base."""

import os
import shutil
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.model import digest
from scylla_gha.model.sandbox import Tools
from scylla_gha.prepare.tools import (
    install_packages,
    prepare_once,
    prepared_code,
    virtual_environment,
    write_finder,
)
from scylla_gha.prepare.tree_manifest import scan_tree
from scylla_gha.system import process
from scylla_gha.system.process import ProcessLimits, ProcessStreams

_SECONDS: Final = 1800.0
_SHOWN: Final = 1500
_LEFT_OUT: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".git"})
_KEPT: Final = frozenset({"PATH", "HOME", "USER", "LANG", "TMPDIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"})
_KEPT_PREFIXES: Final = (
    "PIP_",
    "UV_",
    "npm_config_",
    "NPM_CONFIG_",
    "XDG_",
    "GOPROXY",
    "GOSUMDB",
    "SSL_CERT_",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)
_MOST_FILES: Final = 500
_MOST_BYTES: Final = 2_000_000  # of a file


def run_setup(tree: Path, command: str, cache: Path, tools: str = "") -> str:
    """Run the command in a copy of the tree, unless it has run there before; return the name for `Tools.prepared`.

    It runs on this machine, with its network and as its user. Folders of `tools` come first on PATH. It gets only the
    environment variables that installers read, so no key of a provider or of GitHub.

    Raises:
        ToolError: the command fails.
    """

    def make(folder: Path) -> None:
        shutil.copytree(tree, folder / "code", symlinks=True)
        _run(command, folder, tools)

    name = digest([scan_tree(tree).tree, command])[:16]
    prepare_once(name, cache, make)
    return name


def _run(command: str, folder: Path, tools: str) -> None:
    streams = ProcessStreams(folder / "stdout", folder / "stderr")
    limits = ProcessLimits(_SECONDS)
    ended = process.run(
        ("/bin/sh", "-c", command), cwd=folder / "code", env=_environment(tools), streams=streams, limits=limits
    )
    if ended.code or ended.timed_out:
        output = "".join(
            path.read_text(encoding="utf-8", errors="replace") for path in (streams.stdout, streams.stderr)
        )
        why = f"no end within {_SECONDS:.0f} s" if ended.timed_out else f"exit code {ended.code}"
        raise ToolError(f"the setup command failed ({why}): {output.strip()[-_SHOWN:]}")


def _environment(tools: str) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    variables["PATH"] = f"{tools}:{variables.get('PATH', '')}" if tools else variables.get("PATH", "")
    # Builds take their versions from tags, which a clone does not have.
    return {"SETUPTOOLS_SCM_PRETEND_VERSION": "0.0.0", "LANG": "C.UTF-8", **variables}


def install_editable(tools: Tools, cache: Path) -> None:
    """Let programs of the environment that the command made import the project that they run in, not the copy."""
    environment = virtual_environment(prepared_code(tools.prepared, cache)) if tools.prepared else None
    if environment and tools.editable:
        (packages,) = environment.glob("lib/python*/site-packages")
        write_finder(tools.editable, packages)


def add_packages(code: Path, requirements: tuple[str, ...]) -> None:
    """Install what the test runner needs into the virtual environment that the command made, if there is one.

    Raises:
        ToolError: a package cannot be installed.
    """
    if environment := virtual_environment(code):
        fault = f"--setup: {', '.join(requirements)} cannot be installed into its environment"
        install_packages(environment, requirements, fault)


def left_files(tree: Path, code: Path) -> dict[str, bytes]:
    """Return the files that the command added to the code base, such as compiled modules, without those on PATH."""
    files: dict[str, bytes] = {}
    for path in sorted(code.rglob("*")):
        name = path.relative_to(code)
        is_new = path.is_file() and not path.is_symlink() and not (tree / name).exists()
        if is_new and _LEFT_OUT.isdisjoint(name.parts) and path.stat().st_size <= _MOST_BYTES:
            files[name.as_posix()] = path.read_bytes()
        if len(files) >= _MOST_FILES:
            break
    return files
