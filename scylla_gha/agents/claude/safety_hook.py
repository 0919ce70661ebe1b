"""The safety net as Claude Code's PreToolUse hook: its files, its settings, and its decisions in the transcript.

In a sandbox that isolates files, the hook is in managed settings: they are read-only, and `disableAllHooks` in other
settings does not switch it off. On the host it is in HOME, where the agent can change it.

Forms as of version 2.1.332: with `--include-hook-events`, the transcript has a `hook_response` event for each call that
the hook judged, with the hook's standard error. That includes calls of nested sub-agents, which the transcript itself
leaves out. Calls that the CLI refuses (`<tool_use_error>`) are not passed to the hook.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scylla_gha.agents.base import AgentTask
from scylla_gha.agents.claude.transcript import read_transcript
from scylla_gha.agents.json_lines import events_with
from scylla_gha.model.safety_net import BlockedCall, SafetyNetSummary
from scylla_gha.model.trial import Observed
from scylla_gha.providers.base import parse_object
from scylla_gha.safety_net import hook, rules, shell_reader
from scylla_gha.store import write_text

Json = dict[str, Any]

_FOLDER: Final = "safety-net"  # in HOME, or beside the managed settings
_MANAGED: Final = "/etc/claude-code"  # the CLI's folder of managed-settings.json
_TIMEOUT_SECONDS: Final = 60  # far more than it needs, so that it also decides in time on a busy machine
_MODULES: Final = (shell_reader, rules, hook)
_READABLE: Final = 0o755  # the sandbox's user may be another user
_REFUSED: Final = "<tool_use_error>"


def write_managed_settings(task: AgentTask) -> dict[str, Path]:
    """Write the administrator's settings, which no other settings override: the hook, and the gateway's address.

    Returns:
        The folder by its path in the sandbox; empty if the agent could write anywhere.
    """
    if task.managed is None:
        return {}
    task.managed.mkdir()
    task.managed.chmod(_READABLE)
    settings: Json = {}
    if task.limits.safety_net:
        _write_modules(task.managed / _FOLDER)
        # The system's folders come first, since the project's settings may set another PATH.
        command = f"PATH=/usr/local/bin:/usr/bin:/bin:$PATH python3 -IS {_MANAGED}/{_FOLDER}"
        settings["hooks"] = {"PreToolUse": [_hook_entry(command)]}
    if task.access:
        settings["env"] = {"ANTHROPIC_BASE_URL": task.access.url}
    path = task.managed / "managed-settings.json"
    write_text(path, json.dumps(settings))
    path.chmod(0o444)
    return {_MANAGED: task.managed}


def install_hook(settings: Mapping[str, Any] | None, home: Path) -> Json:
    """Write the hook into HOME, where the agent can change it; return the settings with the hook added."""
    folder = home / _FOLDER
    _write_modules(folder)
    hooks = dict((settings or {}).get("hooks") or {})
    entry = _hook_entry(f"python3 -IS {shlex.quote(str(folder))}")
    return {**(settings or {}), "hooks": {**hooks, "PreToolUse": [*hooks.get("PreToolUse", []), entry]}}


def _hook_entry(command: str) -> Json:
    """Return the settings' entry of the hook.

    `python3 -IS` ignores site-packages and PYTHON* variables, so the workspace cannot replace a library.
    """
    run = {"type": "command", "command": command, "timeout": _TIMEOUT_SECONDS}
    return {"matcher": "|".join(hook.WATCHED), "hooks": [run]}


def _write_modules(folder: Path) -> None:
    """Write the modules of the safety net into one folder, without the toolkit's name in their imports."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(_READABLE)
    package = hook.__name__.rpartition(".")[0]
    texts = {
        module.__name__.rpartition(".")[2]: Path(str(module.__file__)).read_text(encoding="utf-8")
        for module in _MODULES
    }
    for name, text in {**texts, "__main__": "from hook import main\n\nmain()\n"}.items():
        path = folder / f"{name}.py"
        write_text(path, text.replace(f"from {package}.", "from "))
        path.chmod(0o444)


def safety_net_summary(transcript: Path) -> SafetyNetSummary:
    """Summarise the decisions of the safety net in a transcript."""
    decisions = list(_decisions(transcript))
    observed = observed_hooks(transcript)
    return SafetyNetSummary(
        calls=len(decisions),
        blocked=tuple(
            BlockedCall(rule=str(call.get("rule")), tool=str(call.get("tool")), command=str(call.get("command")))
            for call in decisions
            if call.get("decision") == "blocked"
        ),
        unread=sum(1 for call in decisions if call.get("decision") in ("unclear", "error")),
        unguarded=len(observed.unguarded) if observed else 0,
    )


def observed_hooks(transcript: Path) -> Observed | None:
    """Return which calls the safety net judged, and which it missed; None if there was no call to judge."""
    judged = {str(call.get("call")) for call in _decisions(transcript)}
    ran = [
        call
        for call in read_transcript(transcript).calls.values()
        if call.name in hook.WATCHED and call.result is not None and not call.result.startswith(_REFUSED)
    ]
    if not judged and not ran:
        return None
    unguarded = tuple(f"{call.name} {call.id}" for call in ran if call.id not in judged)
    return Observed(source="hook events", guarded=len(judged), unguarded=unguarded)


def _decisions(transcript: Path) -> Iterator[Json]:
    """Yield the safety net's decisions; skip lines of other hooks."""
    for event in events_with(transcript, b'"hook_response"'):
        if event.get("subtype") == "hook_response" and event.get("hook_event") == "PreToolUse":
            lines = (parse_object(line) for line in str(event.get("stderr")).splitlines())
            yield from (decision for decision in lines if decision and "safety_net" in decision)
