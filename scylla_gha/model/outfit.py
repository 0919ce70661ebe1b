"""What a treatment's names stand for, read from their files: what an agent is started with. Never stored."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from scylla_gha.model.record import Record, Text
from scylla_gha.model.variant import Name

FOLDER = "{folder}"


class McpServer(Record):
    """An MCP server over standard input and output (`config/mcp/<name>/server.yaml`)."""

    description: Text
    command: Text
    args: Annotated[tuple[str, ...], Field(description="{folder} stands for where the files beside this one lie")] = ()
    env: dict[str, str] = {}


class SubAgent(Record):
    """A sub-agent (`config/agents/<name>.md`): the front matter, and the text below it as its prompt."""

    name: Name
    description: Text
    tools: Annotated[tuple[Text, ...] | None, Field(description="none given: all that the agent has")] = None
    model: str | None = None
    prompt: Text


class Outfit(Record):
    """All that a treatment names, by name; `folders` are those of skills and of MCP servers, as `skills/<name>`."""

    mcp_servers: dict[str, McpServer] = {}
    agents: dict[str, SubAgent] = {}
    folders: dict[str, Path] = {}
