"""The safety net as Claude Code's own PreToolUse hook: laid, named in settings, and read from the transcript.

In a box it is laid beside managed settings, which are read-only and which `disableAllHooks` of other settings leaves
in force; on the host into HOME, where the agent can change it. Forms as of version 2.1.197. With
`--include-hook-events` the transcript has a `hook_response` event for each call that the hook was asked about, with
what it wrote to standard error; calls that the CLI itself refuses (`<tool_use_error>`) do not come that far. The events
tell of nested sub-agents too, whose calls the transcript leaves out.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from scylla_gha.agents.base import AgentTask
from scylla_gha.agents.claude import stream_json
from scylla_gha.model.trial import BlockedCall, SafetyNetSummary
from scylla_gha.model.variant import Observed
from scylla_gha.safety_net import hook, rules, shell_reader
from scylla_gha.store.records import write_text

_FOLDER: Final = "safety-net"  # in HOME, or beside the administrator's settings
_MANAGED: Final = "/etc/claude-code"  # where the CLI looks for managed-settings.json
_TIMEOUT_SECONDS: Final = 60  # far above what it takes, so that a busy machine blocks nothing and lets nothing through
_MODULES: Final = (shell_reader, rules, hook)
_READABLE: Final = 0o755  # for the user of the box, who may be another one
_REFUSED: Final = "<tool_use_error>"

Json = dict[str, Any]


def write_managed_settings(task: AgentTask) -> dict[str, Path]:
    """Lay the administrator's settings, which no other settings override: the hook, and the gateway's address.

    The agent can read them and not change them. Where there is no place for them, nothing is laid.
    """
    if task.managed is None:
        return {}
    task.managed.mkdir()
    task.managed.chmod(_READABLE)
    settings: Json = {}
    if task.limits.safety_net:
        _lay(task.managed / _FOLDER)
        # the system's Python first: a PATH of the project's settings must not stand in for it
        command = f"PATH=/usr/local/bin:/usr/bin:/bin:$PATH python3 -IS {_MANAGED}/{_FOLDER}"
        settings["hooks"] = {"PreToolUse": [_watch(command)]}
    if task.access:
        settings["env"] = {"ANTHROPIC_BASE_URL": task.access.url}
    place = task.managed / "managed-settings.json"
    write_text(place, json.dumps(settings))
    place.chmod(0o444)
    return {_MANAGED: task.managed}


def install_hook(settings: Mapping[str, Any] | None, home: Path) -> Json:
    """Lay the net into HOME, where the agent can change it; the treatment's settings and hooks with its own."""
    folder = home / _FOLDER
    _lay(folder)
    given = dict(settings or {})
    hooks = dict(given.get("hooks") or {})
    watch = _watch(f"python3 -IS {shlex.quote(str(folder))}")
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", []), watch]
    return {**given, "hooks": hooks}


def _watch(command: str) -> Json:
    """The hook: without the user's site-packages and PYTHON* variables, so the workspace cannot replace a library."""
    run = {"type": "command", "command": command, "timeout": _TIMEOUT_SECONDS}
    return {"matcher": "|".join(hook.WATCHED), "hooks": [run]}


def _lay(folder: Path) -> None:
    """Lay the net's modules side by side, under names that tell nothing of the toolkit."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(_READABLE)
    package = hook.__name__.rpartition(".")[0]
    texts = {module.__name__.rpartition(".")[2]: Path(str(module.__file__)).read_text(encoding="utf-8")
             for module in _MODULES}  # fmt: skip
    for name, text in {**texts, "__main__": "from hook import main\n\nmain()\n"}.items():
        place = folder / f"{name}.py"
        write_text(place, text.replace(f"from {package}.", "from "))
        place.chmod(0o444)


def safety_net_summary(transcript: Path) -> SafetyNetSummary:
    """What the net did, as the transcript tells it."""
    told = list(_told(transcript))
    blocked = (one for one in told if one.get("decision") == "blocked")
    seen = observed_hooks(transcript)
    return SafetyNetSummary(
        calls=len(told),
        blocked=tuple(BlockedCall(rule=str(one.get("rule")), tool=str(one.get("tool")), command=str(one.get("command")))
                      for one in blocked),
        unread=sum(1 for one in told if one.get("decision") in ("unclear", "error")),
        unguarded=len(seen.unguarded) if seen else 0,
    )  # fmt: skip


def observed_hooks(transcript: Path) -> Observed | None:
    """Which calls the net was asked about and which not; None where there was none that it watches."""
    asked = {str(one.get("call")) for one in _told(transcript)}
    calls = stream_json.read_transcript(transcript).calls.values()
    ran = [call for call in calls if call.name in hook.WATCHED
           and call.result is not None and not call.result.startswith(_REFUSED)]  # fmt: skip
    if not asked and not ran:
        return None
    past = tuple(f"{call.name} {call.id}" for call in ran if call.id not in asked)
    return Observed(source="hook events", guarded=len(asked), unguarded=past)


def _told(transcript: Path) -> Iterator[Json]:
    """What the net wrote; other hooks write other things."""
    with transcript.open("rb") as file:
        for line in file:
            event = _object(line) if b'"hook_response"' in line else {}
            if event.get("subtype") == "hook_response" and event.get("hook_event") == "PreToolUse":
                told = (_object(said.encode()) for said in str(event.get("stderr")).splitlines())
                yield from (one for one in told if "safety_net" in one)


def _object(text: bytes) -> Json:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
