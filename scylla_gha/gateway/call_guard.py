"""Safety net of agent CLIs without a hook: the gateway judges tool calls in answers before the agent gets them.

From the first call of a tool, an answer is held back until it ends and all its calls are judged by the rules of
`safety_net`. A call that breaks a rule gets other arguments: a command that prints the refusal and fails, or a path
that cannot exist and has the refusal in its name. So the call has no effect, the agent reads the refusal as the call's
result and goes on, as with a hook. An end of the session would treat these agents worse than agents with a hook.

The gateway sees neither the agent's files nor the folder that an earlier command has entered. It does not follow links,
and takes a relative path as one in the workspace. Calls that it cannot read are passed on and counted.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.gateway.settings import GuardSettings
from scylla_gha.model.safety_net import BlockedCall, GuardedTool, SafetyNetSummary
from scylla_gha.providers.base import Body, ToolRequest, UsageReader
from scylla_gha.safety_net.hook import SHOWN_CHARS, CallVerdict, judge_call, refusal_text
from scylla_gha.safety_net.rules import SafetyRule

_MAX_CHARACTERS: Final = 20_000  # of the judged argument: reading takes up to a quarter of a second
_MAX_CALLS: Final = 20  # of an answer; further calls are not read
_NOWHERE: Final = "/dev/null"  # it is no folder, so no path in it can exist
_PATCHED_FILE: Final = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JudgedCalls:
    """Verdicts on the calls of an answer: their summary, and the arguments of refused calls, by the calls' keys."""

    summary: SafetyNetSummary
    arguments: Mapping[object, Body] = field(default_factory=dict)


class CallGuard:
    """The safety net of one session."""

    def __init__(self, settings: GuardSettings) -> None:
        self._tools = settings.tools
        self._workspace = settings.workspace
        self._environ = {"HOME": settings.home}

    def reads(self, tool: str) -> bool:
        """Tell if the arguments of a tool's calls are judged."""
        return tool in self._tools

    def judge(self, usage: UsageReader) -> JudgedCalls | None:
        """Judge the calls of an answer; None if it has none of a guarded tool."""
        calls = {key: call for key, call in usage.begun_calls.items() if call.tool in self._tools}
        if not calls and not usage.has_gap:
            return None
        total = SafetyNetSummary(by="gateway", unseen=int(usage.has_gap))
        arguments: dict[object, Body] = {}
        for number, (key, call) in enumerate(calls.items()):
            tool = self._tools[call.tool]
            if tool.argument is None:
                total = total.plus(SafetyNetSummary(by="gateway", unseen=1))
                continue
            value = call.arguments.get(tool.argument)
            text = value if isinstance(value, str) else _script(value)
            is_read = text is not None and number < _MAX_CALLS
            verdict = self._verdict(tool, text or "", call) if is_read else CallVerdict(clear=False)
            total = total.plus(_summary(verdict, call.tool, text or ""))
            if verdict.rule:
                refusal = _refusal(tool, verdict.rule, text or "", is_list=isinstance(value, list))
                arguments[key] = {**call.arguments, tool.argument: refusal}
        return JudgedCalls(total, arguments)

    def _verdict(self, tool: GuardedTool, text: str, call: ToolRequest) -> CallVerdict:
        folder = call.arguments.get(tool.folder) if tool.folder else None
        cwd = f"{self._workspace}/{folder}" if isinstance(folder, str) and folder[:1] != "/" else folder
        cwd = cwd if isinstance(cwd, str) and cwd else self._workspace
        if len(text) > _MAX_CHARACTERS and not tool.patches:
            return CallVerdict(clear=False)
        name, key = ("Bash", "command") if tool.runs else ("Read" if tool.reads else "Write", "file_path")
        paths = _PATCHED_FILE.findall(text) if tool.patches else [text]
        verdicts = [judge_call(name, {key: path}, cwd, self._workspace, self._environ) for path in paths]
        return next((verdict for verdict in verdicts if verdict.rule), verdicts[0] if verdicts else CallVerdict())


def _script(words: object) -> str | None:
    """Return a command that is a list of words as a script; None if it is not such a list."""
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        return shlex.join(words)
    return None


def _summary(verdict: CallVerdict, tool: str, text: str) -> SafetyNetSummary:
    blocked = (BlockedCall(rule=verdict.rule.name, tool=tool, command=text[:SHOWN_CHARS]),) if verdict.rule else ()
    unread = int(not (verdict.clear or verdict.rule))
    return SafetyNetSummary(by="gateway", calls=1, blocked=blocked, unread=unread)


def _refusal(tool: GuardedTool, rule: SafetyRule, text: str, *, is_list: bool) -> str | list[str]:
    """Return an argument with which the call has no effect, and fails with the refusal as its message."""
    message = refusal_text(rule)
    if tool.runs:
        shown = f"{message} The call was: {text[:SHOWN_CHARS]}"
        command = f"printf '%s\\n' {shlex.quote(shown)}; false"
        return ["sh", "-c", command] if is_list else command
    path = f"{_NOWHERE}/{message}"
    if tool.patches:
        return f"*** Begin Patch\n*** Update File: {path}\n@@\n-x\n+y\n*** End Patch\n"
    return path


class CallHolder:
    """Holds back an answer from its first call on, until `judged` tells that its calls are judged."""

    def __init__(
        self,
        usage: Callable[[], UsageReader],
        judged: Callable[[], JudgedCalls | None],
        is_closed: Callable[[], bool],
        replace: Callable[..., bytes],
    ) -> None:
        self._usage, self._judged, self._is_closed, self._replace = usage, judged, is_closed, replace
        self._held = b""

    def __call__(self, chunk: bytes) -> bytes:
        """Return the bytes that the client may have; an empty piece ends the answer."""
        self._held += chunk
        usage = self._usage()
        if self._is_closed():
            held, self._held = self._held, b""
            judged = self._judged()
            return self._replace(held, judged.arguments, streamed=usage.streamed) if judged else held
        if usage.has_call or not usage.streamed:
            return b""
        lines, newline, self._held = self._held.rpartition(b"\n")
        return lines + newline
