"""Agents by name."""

from typing import Final

from scylla_gha.agents.base import Agent
from scylla_gha.agents.builtin import NopAgent, Oracle
from scylla_gha.agents.claude import ClaudeCode

AGENTS: Final[dict[str, Agent]] = {"oracle": Oracle(), "nop": NopAgent(), "claude-code": ClaudeCode()}
