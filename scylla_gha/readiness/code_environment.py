"""Environment that a code base's tests run in: its pinned packages, and the sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scylla_gha.model.sandbox import Tools
from scylla_gha.readiness.source_code import Language
from scylla_gha.sandboxes.base import SandboxTarget

Framework = Literal["pytest", "node", "vitest", "jest", "mocha", "go"]


@dataclass(frozen=True, slots=True)
class CodeEnvironment:
    """Installed environment of a code base's tests, which is frozen before the first of them runs.

    Attributes:
        framework: what runs the tests; None: nothing is known that could, for `reason`.
        tools: what a scenario on the code base pins, so that agent and checks have the same.
        path: PATH in sandboxes without an image.
        target: where the tests run.
        options: options of the framework that the code base sets for itself.
        import_roots: folders below the root from which modules are imported.
        programs: folders by their absolute path inside, for sandboxes without an image.
        files: files that the tests need and the tree has not, by path; they belong into every copy.
        notes: what was left out, in sentences.
        reason: why tests cannot be run, and what to do; None: they can.
    """

    language: Language
    framework: Framework | None
    tools: Tools
    path: str
    target: SandboxTarget
    options: tuple[str, ...] = ()
    import_roots: tuple[str, ...] = (".", "src")
    programs: Mapping[str, Path] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reason: str | None = None
