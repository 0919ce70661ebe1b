"""Record of a proof, under a digest of everything that it depends on.

For a scenario these are its files (which pin the fixture), the GitHub state of the fixture and the modes, the
toolkit's code that prepares, runs and judges, the sandbox with its image, and the system whose programs the checks
start. All code counts except the packages named here, which only plan, reach models, or read results.
"""

import hashlib
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import scylla_gha
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.images import SandboxPool
from scylla_gha.model import digest
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.records import write_text

_WITHOUT_EFFECT: Final = frozenset({
    "aggregate", "analysis", "cli", "collect", "compare", "egress_proxy", "gateway", "github", "interop", "mining",
    "onboarding", "plan", "providers", "publish", "readiness", "report", "results_branch", "stats",
})  # fmt: skip
_SYSTEM: Final = Path("/etc/os-release")


def proof_digest(folder: ScenarioFolder, sandboxes: SandboxPool) -> str:
    """Compute the digest under which a scenario's proof is recorded.

    Raises:
        ToolError: the sandbox's image cannot be built.
    """
    image = sandboxes.image(folder.scenario.tools, None).digest if SANDBOXES[sandboxes.sandbox].needs_image else ""
    code = ((name, value) for name, value in _file_digests(Path(scylla_gha.__path__[0])) if name.endswith(".py"))
    system = _SYSTEM.read_text(encoding="utf-8") if _SYSTEM.is_file() else ""
    modes = {name: sandboxes.library.mode(name).digest for name in sandboxes.library.mode_names()}
    return digest({
        **({"github": [folder.task_digest, modes]} if folder.github else {}),
        "scenario": dict(_file_digests(folder.path)),
        "code": {name: value for name, value in code if name.split("/", 1)[0] not in _WITHOUT_EFFECT},
        "sandbox": [sandboxes.sandbox, image],
        "system": [platform.python_version(), platform.machine(), system],
    })  # fmt: skip


def recorded_proof(key: str) -> str | None:
    """Return the solutions tried in the proof that is recorded under a digest, in words; None if there is none."""
    file = _proof_file(key)
    return file.read_text(encoding="utf-8") if file.is_file() else None


def record_proof(key: str, trials: str) -> None:
    """Record that a scenario's proof holds; `trials` names the solutions tried."""
    write_text(_proof_file(key), trials)


def _proof_file(key: str) -> Path:
    return cache_root() / "proofs" / re.sub(r"[^0-9a-f]", "", key)


def _file_digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            yield path.relative_to(folder).as_posix(), f"{path.stat().st_mode & 0o111:o} {content}"
