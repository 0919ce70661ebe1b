"""Files of a repository that coding agents read by themselves: instructions, skills, sub-agents, settings, servers."""

from collections.abc import Collection
from typing import Final

from scylla_gha.path_patterns import PathPatterns

MCP_FILE: Final = ".mcp.json"
# Where each CLI looks by itself, as patterns of a `.gitignore`. Other tools than Codex read AGENTS.md too; Claude Code
# 2.1.332 reads it in a folder without CLAUDE.md.
PLACES: Final = {
    "claude-code": ("CLAUDE.md", "/.claude", f"/{MCP_FILE}"),
    "codex": ("AGENTS.md", "/.agents", "/.codex"),
    "copilot": ("/.github/copilot-instructions.md", "/.github/instructions", "/.github/prompts",
                "/.github/skills", "/.github/agents"),
    "gemini-cli": ("GEMINI.md", "/.gemini"),
    "cursor": ("/.cursor", "/.cursorrules"),
    "opencode": ("/.opencode", "/opencode.json"),
}  # fmt: skip
# Of one person or one machine; they may hold secrets.
_PERSONAL: Final = PathPatterns(["*.local.*", "/.claude/worktrees", ".env", ".env.*", "__pycache__"])
_AGENT_FILES: Final = PathPatterns([pattern for patterns in PLACES.values() for pattern in patterns])


def is_agent_file(path: str) -> bool:
    """Return whether an agent CLI reads this path of a repository by itself; personal files are left out."""
    return _AGENT_FILES.match(path) and not _PERSONAL.match(path)


def reads_by_itself(agent: str, path: str, files: Collection[str]) -> bool:
    """Return whether an agent CLI reads one of these files for agents; True for unknown agents."""
    folder, _, name = path.rpartition("/")
    instead = f"{folder}/CLAUDE.md".removeprefix("/")
    if name == "AGENTS.md" and agent == "claude-code":
        return instead not in files
    return agent not in PLACES or PathPatterns(PLACES[agent]).match(path)


def file_changes(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the paths that were added, changed and removed, by that word; arguments are digests by path."""
    changes = {
        "added": tuple(path for path in sorted(after) if path not in before),
        "changed": tuple(path for path in sorted(after) if path in before and after[path] != before[path]),
        "removed": tuple(path for path in sorted(before) if path not in after),
    }
    return {word: paths for word, paths in changes.items() if paths}
