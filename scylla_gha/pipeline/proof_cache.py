"""Records of scenarios that were proved, by a digest of everything that a proof depends on.

A proof depends on the scenario's files (which pin the fixture), on the toolkit's code that prepares, runs and judges,
on the sandbox with its image, and on the system whose programs the checks start. All code counts but that of the
packages named here, which only plan, reach models, or read results; a new package counts until it is named.
"""

import hashlib
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import scylla_gha
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.images.sandbox_pool import SandboxPool
from scylla_gha.model.record import digest
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.workspaces.cache import cache_root

_WITHOUT_EFFECT: Final = frozenset({
    "aggregate", "analysis", "cli", "collect", "compare", "egress_proxy", "gateway", "github", "interop", "onboarding",
    "plan", "providers", "publish", "report", "results_branch", "stats",
})  # fmt: skip
_SYSTEM: Final = Path("/etc/os-release")


def proof_digest(folder: ScenarioFolder, boxes: SandboxPool) -> str:
    """Compute the digest under which a scenario's proof is recorded.

    Raises:
        ToolError: the sandbox's image cannot be made.
    """
    image = boxes.digest(folder.scenario.tools, None) if SANDBOXES[boxes.sandbox].needs_image else ""
    system = _SYSTEM.read_text(encoding="utf-8") if _SYSTEM.is_file() else ""
    return digest({
        "scenario": dict(_file_digests(folder.path)),
        "code": dict(_code_digests()),
        "sandbox": [boxes.sandbox, image],
        "system": [platform.python_version(), platform.machine(), system],
    })  # fmt: skip


def recorded_proof(key: str) -> str | None:
    """Return what was tried in the proof that is recorded under a digest, in words; None if there is none."""
    file = _record(key)
    return file.read_text(encoding="utf-8") if file.is_file() else None


def record_proof(key: str, trials: str) -> None:
    """Record that a scenario's proof holds; `trials` is what was tried, in words."""
    file = _record(key)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".tmp")
    unfinished.write_text(trials, encoding="utf-8")
    unfinished.replace(file)


def _record(key: str) -> Path:
    return cache_root() / "proofs" / re.sub(r"[^0-9a-f]", "", key)


def _code_digests() -> Iterator[tuple[str, str]]:
    package = Path(scylla_gha.__path__[0])
    for name, value in _file_digests(package):
        if name.endswith(".py") and name.split("/", 1)[0] not in _WITHOUT_EFFECT:
            yield name, value


def _file_digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            yield path.relative_to(folder).as_posix(), f"{path.stat().st_mode & 0o111:o} {content}"
