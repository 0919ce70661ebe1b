"""Installed packages: the command that installs a missing extra, and the model ids that the anthropic SDK knows.

An installed distribution names its origin in `direct_url.json` (packaging.python.org, "Recording the Direct URL
Origin", read 2026-11-22). The SDK's source is parsed instead of imported, since an import takes seconds.
"""

import importlib.metadata
import importlib.util
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final

from scylla_gha.config.library import toolkit_root
from scylla_gha.errors import ToolError

_NAME: Final = "scylla-gha"


def require_extra(*packages: str, what: str) -> None:
    """Require optional packages.

    Raises:
        ToolError: they are missing; the message says how to install them.
    """
    if not all(importlib.util.find_spec(package) for package in packages):
        extra = "parquet" if "pyarrow" in packages else "readiness" if "tree_sitter" in packages else "report"
        raise ToolError(f"{what} needs {' and '.join(packages)}; install the extra `{extra}`: {installation(extra)}")


def direct_url() -> dict[str, Any]:
    """Return the content of `direct_url.json`, the origin of the distribution; empty if there is no such file."""
    try:
        text = importlib.metadata.distribution(_NAME).read_text("direct_url.json")
        content = json.loads(text or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def source_url() -> str:
    """Return the address of the commit from which a release was built; empty if this is not a release."""
    try:
        addresses = importlib.metadata.metadata(_NAME).get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    return next((address.removeprefix("Source, ") for address in addresses if address.startswith("Source, ")), "")


def installation(extra: str) -> str:
    """Return the command that installs an extra."""
    return installation_from(extra, toolkit_root(), direct_url())


def installation_from(extra: str, root: Path, url: dict[str, Any]) -> str:
    """Return the command that installs an extra for a toolkit at `root`, a checkout or an installed package.

    `url` is the content of the distribution's `direct_url.json`.
    """
    commit = dict(url.get("vcs_info") or {}).get("commit_id")
    if commit:
        address = re.sub(r"(?<=://)[^/@]+@", "", str(url["url"])).removeprefix("git+")  # without a password
        return f"uvx --from {shlex.quote(f'{_NAME}[{extra}] @ git+{address}@{commit}')} {_NAME}"
    python = shlex.quote(sys.executable)
    if (root / "uv.lock").is_file():
        return f"{python} -m uv sync --inexact --project {shlex.quote(str(root))} --extra {extra}"
    return f"{python} -m uv pip install --python {python} {shlex.join(packages_of(extra))}"


def packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra, with their lowest versions."""
    requirements = importlib.metadata.requires(_NAME) or []
    mark = re.compile(rf";\s*extra\s*==\s*['\"]{extra}['\"]")
    return [mark.sub("", line).strip() for line in requirements if mark.search(line)]
