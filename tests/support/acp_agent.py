"""An agent of the Agent Client Protocol, made with the protocol's own library, which checks each message it gets.

The prompt says what it does: `say`, `permission` (prints the option that the client chose), `refuse`, `unknown` (asks
the client for a method that it has not), `noise` (prints a line that is no message), `servers`, `die` or `fail`.
"""

import asyncio
import json
import sys
from typing import Any, cast

import acp
from acp.schema import (
    InitializeResponse,
    McpServerStdio,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    StopReason,
    ToolCallUpdate,
)

OPTIONS = [
    PermissionOption(option_id="no", name="No", kind="reject_once"),
    PermissionOption(option_id="once", name="Once", kind="allow_once"),
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
]
STOPS: dict[str, StopReason] = {"refuse": "refusal", "turns": "max_turn_requests"}


class ScriptedAgent:
    """Does what the prompt says."""

    def __init__(self) -> None:
        self.client: Any = None
        self.servers: list[Any] = []
        self.cwd = ""

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=99 if "--new" in sys.argv else protocol_version)

    async def new_session(self, cwd: str, mcp_servers: list[Any], **_: Any) -> NewSessionResponse:
        self.cwd, self.servers = cwd, mcp_servers
        return NewSessionResponse(session_id="s1")

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        word = prompt[0].text.strip()
        if word == "die":
            sys.exit(7)
        if word == "fail":
            raise acp.RequestError(-32000, "the model is not there", {"model": "m"})
        if word == "noise":
            sys.stdout.write("Loading...\n[1]\n")
            sys.stdout.flush()
        await self.say(session_id, await self.text(word, session_id))
        return PromptResponse(stop_reason=STOPS.get(word, "end_turn"))

    async def text(self, word: str, session: str) -> str:
        if word == "permission":
            call = ToolCallUpdate(tool_call_id="t1", title="edit")
            answer = await self.client.request_permission(options=OPTIONS, session_id=session, tool_call=call)
            return json.dumps(answer.outcome.model_dump(by_alias=True, exclude_none=True))
        if word == "unknown":
            try:
                await self.client.read_text_file(path="/etc/passwd", session_id=session)
            except acp.RequestError as error:
                return f"refused with {error.code}"
        if word == "servers":
            servers = [server.model_dump(exclude_none=True) for server in self.servers]
            assert all(isinstance(server, McpServerStdio) for server in self.servers)
            return json.dumps({"cwd": self.cwd, "servers": servers})
        return "Hello."

    async def say(self, session: str, text: str) -> None:
        await self.client.session_update(session, acp.update_agent_message_text(text))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast("acp.Agent", ScriptedAgent())))
