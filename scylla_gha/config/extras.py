"""The command that installs an extra of this distribution, fitting the way in which it was installed.

An installed distribution says by `direct_url.json` where it came from (packaging.python.org, "Recording the Direct URL
Origin", read 2026-11-22).
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


def need(*packages: str, what: str) -> None:
    """Make sure that optional packages are there.

    Raises:
        ToolError: they are not; the message says how to install them.
    """
    if not all(importlib.util.find_spec(package) for package in packages):
        extra = "parquet" if "pyarrow" in packages else "report"
        raise ToolError(f"{what} needs {' and '.join(packages)}, which the extra `{extra}` has: {installation(extra)}")


def direct_url() -> dict[str, Any]:
    """Return the content of `direct_url.json`, which says where the distribution came from; empty if there is none."""
    try:
        text = importlib.metadata.distribution(_NAME).read_text("direct_url.json")
        content = json.loads(text or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def installation(extra: str) -> str:
    """The command that installs an extra."""
    return installation_from(extra, toolkit_root(), direct_url())


def installation_from(extra: str, root: Path, url: dict[str, Any]) -> str:
    """The same, for a toolkit at `root` that was installed from there.

    Args:
        extra: of the distribution.
        root: a checkout, or a folder inside of the installed package.
        url: the distribution's `direct_url.json`.
    """
    commit = dict(url.get("vcs_info") or {}).get("commit_id")
    if commit:
        return f"uvx --from {shlex.quote(f'{_NAME}[{extra}] @ git+{_plain(url)}@{commit}')} {_NAME}"
    python = shlex.quote(sys.executable)
    if (root / "uv.lock").is_file():
        return f"{python} -m uv sync --inexact --project {shlex.quote(str(root))} --extra {extra}"
    return f"{python} -m uv pip install --python {python} {shlex.join(packages_of(extra))}"


def _plain(url: dict[str, Any]) -> str:
    """The address, without a password in it."""
    return re.sub(r"(?<=://)[^/@]+@", "", str(url["url"])).removeprefix("git+")


def packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra, with their lowest versions."""
    wanted = importlib.metadata.requires(_NAME) or []
    mark = re.compile(rf";\s*extra\s*==\s*['\"]{extra}['\"]")
    return [mark.sub("", line).strip() for line in wanted if mark.search(line)]
