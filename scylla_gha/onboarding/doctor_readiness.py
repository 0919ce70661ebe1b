"""The checks of `doctor` on the measurement of agent readiness: what it needs on this machine."""

import importlib.util
import shutil
from collections.abc import Iterator, Mapping
from typing import Final

from scylla_gha.agents import AGENTS
from scylla_gha.agents.installed import find_agent
from scylla_gha.config.installed_packages import installation
from scylla_gha.errors import ToolError
from scylla_gha.onboarding.doctor import Finding
from scylla_gha.providers import PROVIDERS, missing_key
from scylla_gha.sandboxes import SANDBOXES

_ID: Final = "readiness"
_PACKAGES: Final = ("tree_sitter", "tree_sitter_python", "numpy", "scipy")
_AGENT: Final = "claude-code"
_SCRIPTS: Final = ("node", "npm")


def readiness_findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about the requirements of `readiness`, or one finding that all are met.

    Args:
        environ: with credentials of providers, if there are any.
    """
    scripts = [program for program in _SCRIPTS if shutil.which(program) is None]
    boxes = [name for name, sandbox in SANDBOXES.items() if name != "host" and sandbox.missing_reason() is None]
    lacks = [*_missing_packages(), *_missing_agent(), *_missing_access(environ)]
    if not boxes:
        lacks.append(_lack("sandbox: neither docker nor bubblewrap works, so tests and agents are not isolated",
                           "see docker and bubblewrap above"))  # fmt: skip
    if scripts:
        lacks.append(_lack(f"{' and '.join(scripts)} not on PATH: tests in JavaScript and TypeScript cannot be run",
                           "https://nodejs.org/en/download"))  # fmt: skip
    if lacks:
        yield from lacks
        return
    what = f"can measure Python, JavaScript and TypeScript with their tests, in {' or '.join(boxes)}, with {_AGENT}"
    yield Finding(_ID, "ok", what)


def _lack(what: str, mend: str) -> Finding:
    return Finding(_ID, "optional", what, mend)


def _missing_packages() -> Iterator[Finding]:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        yield _lack(f"the extra `readiness` is not installed: {', '.join(missing)}", installation("readiness"))


def _missing_agent() -> Iterator[Finding]:
    package = AGENTS[_AGENT].package
    try:
        find_agent(_AGENT, install=True)
    except ToolError as error:
        name = f" {package.npm}" if package else ""
        yield _lack(
            f"agent CLI: {str(error).partition(';')[0]}",
            f"npm install --global{name}, or --agent {_AGENT}@VERSION, which fetches it",
        )


def _missing_access(environ: Mapping[str, str]) -> Iterator[Finding]:
    styles = AGENTS[_AGENT].api_styles
    variables = [missing_key(name, environ) for name, provider in PROVIDERS.items() if provider.api_style in styles]
    if missing := [name for name in variables if name] if None not in variables else []:
        what = "no key of a model provider is set here: only what could be asked can be shown"
        yield _lack(what, f"export {' or '.join(f'{name}=...' for name in missing)}; oracle and nop need none")
