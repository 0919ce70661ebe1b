"""The safety net as Claude Code's own PreToolUse hook: laid into HOME, named in the settings, read from the transcript.

Forms as of version 2.1.197. With `--include-hook-events` the transcript has a `hook_response` event for each call that
the hook was asked about, with what it wrote to standard error; calls that the CLI itself refuses (`<tool_use_error>`)
do not come that far. The events tell of nested sub-agents too, whose calls the transcript leaves out.
"""

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from scylla_gha.agents import bash_script, claude_session, safety_net, safety_rules
from scylla_gha.model.delivery import Observed
from scylla_gha.model.trial import Blocked, Watched
from scylla_gha.store import write_text

_FOLDER: Final = "safety-net"  # in HOME
_TIMEOUT_SECONDS: Final = 60  # far above what it takes, so that a busy machine blocks nothing and lets nothing through
_MODULES: Final = (bash_script, safety_rules, safety_net)
_REFUSED: Final = "<tool_use_error>"

Json = dict[str, Any]


def flags(settings: Mapping[str, Any] | None, home: Path) -> list[str]:
    """Lay the net into HOME, and name it beside the settings and hooks of the treatment."""
    folder = home / _FOLDER
    for module in _MODULES:
        source = Path(str(module.__file__))
        place = folder.joinpath(*module.__name__.split(".")).with_suffix(".py")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        place.chmod(0o444)
    write_text(folder / "__main__.py", f"from {safety_net.__name__} import main\n\nmain()\n")
    given = dict(settings or {})
    hooks = dict(given.get("hooks") or {})
    # Without the user's site-packages and PYTHON* variables: nothing of the workspace can stand in for the library.
    run = {"type": "command", "command": f"python3 -IS {shlex.quote(str(folder))}", "timeout": _TIMEOUT_SECONDS}
    watch = {"matcher": "|".join(safety_net.WATCHED), "hooks": [run]}
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", []), watch]
    return ["--settings", json.dumps({**given, "hooks": hooks}), "--include-hook-events"]


def watched(transcript: Path) -> Watched:
    """What the net did, as the transcript tells it."""
    told = list(_told(transcript))
    blocked = (one for one in told if one.get("decision") == "blocked")
    seen = observe(transcript)
    return Watched(
        calls=len(told),
        blocked=tuple(Blocked(rule=str(one.get("rule")), tool=str(one.get("tool")), command=str(one.get("command")))
                      for one in blocked),
        unread=sum(1 for one in told if one.get("decision") in ("unclear", "error")),
        unguarded=len(seen.unguarded) if seen else 0,
    )  # fmt: skip


def observe(transcript: Path) -> Observed | None:
    """Which calls the net was asked about and which not; None where there was none that it watches."""
    asked = {str(one.get("call")) for one in _told(transcript)}
    calls = claude_session.read(transcript).calls.values()
    ran = [call for call in calls if call.name in safety_net.WATCHED
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
