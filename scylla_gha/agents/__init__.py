"""The agents by name."""

from typing import Final

from scylla_gha.agents import builtin
from scylla_gha.agents.base import Agent
from scylla_gha.agents.claude import agent

AGENTS: Final[dict[str, Agent]] = {
    "oracle": builtin.Oracle(),
    "nop": builtin.BuiltIn(),
    "claude-code": agent.ClaudeCode(),
}
