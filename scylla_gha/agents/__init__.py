"""The agents by name."""

from typing import Final

from scylla_gha.agents import builtin, claude_code
from scylla_gha.agents.base import Agent

AGENTS: Final[dict[str, Agent]] = {
    "oracle": builtin.Oracle(),
    "nop": builtin.BuiltIn(),
    "claude-code": claude_code.ClaudeCode(),
}
