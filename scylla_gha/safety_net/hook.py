"""Safety net for an agent's tool calls: a hook that blocks destructive calls by rules before they run.

It protects against accidents, not against attacks, since a script, `python -c` or an encoded command passes it; only
the sandbox isolates. The module is copied into the agent's sandbox with `rules` and `shell_reader`, and `python3`
starts it there for each call. So it uses only the standard library of Python 3.9, without imports that are slow to load
(dataclasses, pathlib, shlex).

If a script cannot be read to its end (because of an open quote), the part that was read is judged, since Bash runs the
lines before. If no rule blocks it, the call is allowed and reported as `unclear`. An error of the hook is reported as
`error`, and the call is allowed. The agent may change files in the workspace, in its HOME and in temporary folders. No
file in the workspace counts as a credential. History is shared when it has been pushed, so rewriting it before that is
ordinary work.

Each decision is a line of JSON on standard error, which the agent CLI writes into its transcript.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping

from scylla_gha.safety_net.rules import (
    CREDENTIALS,
    SYSTEM,
    WRITE,
    SafetyRule,
    WritablePaths,
    broken_rule,
    find_patterns,
    operands,
)
from scylla_gha.safety_net.shell_reader import ShellCommand, ShellEnvironment, ShellReader

MARK = "[safety net]"
WATCHED = ("Bash", "Edit", "MultiEdit", "NotebookEdit", "Read", "Write")

SHOWN_CHARS, _MOST_LEVELS = 300, 8
_FORK_BOMB = re.compile(r"(?<![\w:.])([\w:.]{1,40})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash"}
_KEYWORDS = {"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}"}
# Programs that start another program: their options with a value, and the number of words before the other program.
_WRAPPERS = {
    "sudo": ("ugpCDRTUh", 0),
    "doas": ("uC", 0),
    "env": ("uC", 0),
    "nohup": ("", 0),
    "nice": ("n", 0),
    "ionice": ("cnp", 0),
    "timeout": ("sk", 1),
    "stdbuf": ("ioe", 0),
    "setsid": ("", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "xargs": ("InPLdEsa", 0),
    "busybox": ("", 0),
    "watch": ("n", 0),
    "flock": ("wE", 1),
    "time": ("fo", 0),
    "npx": ("p", 0),
}


class CallVerdict:
    """Verdict on a call: the rule that it breaks, if any; `clear` is True if all of it could be read."""

    def __init__(self, rule: SafetyRule | None = None, *, clear: bool = True) -> None:
        self.rule, self.clear = rule, clear


def judge_call(
    tool: str, arguments: Mapping[str, object], cwd: str, workspace: str, environ: Mapping[str, str] | None = None
) -> CallVerdict:
    """Judge a call of a tool by the rules; `environ` as in `WritablePaths`."""
    writable = WritablePaths(workspace, environ)
    if tool == "Bash":
        return _judge_script(str(arguments.get("command", "")), cwd, writable)
    path = str(arguments.get("file_path") or arguments.get("notebook_path") or "")
    if tool == "Read":
        return CallVerdict(CREDENTIALS if writable.is_secret(path, cwd) else None)
    return CallVerdict(WRITE if writable.is_outside(path, cwd) else None)


def _judge_script(text: str, cwd: str, writable: WritablePaths) -> CallVerdict:
    if _FORK_BOMB.search(text):
        return CallVerdict(SYSTEM)
    script = ShellReader(text, cwd, {}, environment=writable.environment)
    clear = not script.unclear
    for command in script.commands:
        started = list(_started_commands(command, 0, writable.environment))
        clear = clear and all(inner.clear for inner in started)
        rule = next((rule for inner in started if (rule := broken_rule(inner, writable))), None)
        if rule:
            return CallVerdict(rule, clear=clear)
    return CallVerdict(clear=clear and not writable.is_guessing)


def _started_commands(command: ShellCommand, depth: int, environment: ShellEnvironment) -> Iterator[ShellCommand]:
    """Yield the command without the words before its program, and all commands that it starts."""
    words = _unwrap(command.words, command.before)
    bare = ShellCommand(command.cwd, command.before, words)
    bare.writes, bare.reads, bare.stdin, bare.clear = command.writes, command.reads, command.stdin, depth < _MOST_LEVELS
    yield bare
    if not bare.clear or not words:
        return
    for text in _scripts(bare):
        script = ShellReader(text, command.cwd, {}, environment=environment)
        bare.clear = bare.clear and not script.unclear
        for inner in script.commands:
            yield from _started_commands(inner, depth + 1, environment)
    if os.path.basename(words[0]) == "find":
        for executed in _find_commands(words):
            yield from _started_commands(ShellCommand(command.cwd, None, executed), depth + 1, environment)


def _unwrap(words: list[str], before: ShellCommand | None) -> list[str]:
    while words:
        name = os.path.basename(words[0])
        if words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif name in _WRAPPERS:
            words = _skip_options(name, words[1:])
            words = [*words, *_xargs_operands(before)] if name == "xargs" else words
        else:
            break
    return words


def _skip_options(name: str, words: list[str]) -> list[str]:
    valued, skipped = _WRAPPERS[name]
    while words and words[0].startswith("-"):
        takes = bool(valued) and re.fullmatch(f"-[A-Za-z]*[{valued}]", words[0])
        words = words[2:] if takes else words[1:]
    return words[skipped:]


def _xargs_operands(before: ShellCommand | None) -> list[str]:
    """Return the arguments that the command before a pipe writes for xargs, as far as they are known."""
    words = _unwrap(before.words, None) if before else []
    name = os.path.basename(words[0]) if words else ""
    return find_patterns(words) if name == "find" else operands(words) if name in ("echo", "printf", "ls") else []


def _scripts(command: ShellCommand) -> list[str]:
    """Return the scripts that the command passes to a shell."""
    words, name = command.words, os.path.basename(command.words[0])
    if name == "eval":
        return [" ".join(words[1:])]
    if name == "trap":
        return words[1:2]
    if name not in _SHELLS and name != "su":
        return []
    for index, word in enumerate(words):
        if re.fullmatch("-[a-z]*c|--command", word):
            return words[index + 1 : index + 2]
    if name == "su" or operands(words):
        return []  # the script is a file
    return [command.stdin, _output(command.before)]


def _output(before: ShellCommand | None) -> str:
    """Return the output of the command before a pipe, as far as it is known."""
    words = _unwrap(before.words, None) if before else []
    if words[:1] in (["echo"], ["printf"]):
        return " ".join(operands(words)).replace("\\n", "\n")
    return before.stdin if before else ""


def _find_commands(words: list[str]) -> Iterator[list[str]]:
    """Yield the commands of `find -exec` with the paths that find may pass to them."""
    for index, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = words[index + 1 :]
            end = next((at for at, part in enumerate(rest) if part in (";", "+")), len(rest))
            yield [path for part in rest[:end] for path in (find_patterns(words) if part == "{}" else [part])]


def refusal_text(rule: SafetyRule) -> str:
    """Return what the agent is told about a call that breaks a rule."""
    return f"{MARK} {rule.name}: blocked, since this {rule.what}. Instead, {rule.instead}."


def hook_response(call: Mapping[str, object]) -> tuple[dict[str, object], str]:
    """Return the report on a call, and the answer to the agent CLI, which is empty if the call is allowed."""
    tool, tool_input, cwd = str(call.get("tool_name")), call.get("tool_input"), str(call.get("cwd") or "/")
    arguments = tool_input if isinstance(tool_input, dict) else {}
    shown = str(arguments.get("command") or arguments.get("file_path") or arguments.get("notebook_path") or "")
    report: dict[str, object] = {
        "safety_net": 1,
        "call": call.get("tool_use_id"),
        "tool": tool,
        "command": shown[:SHOWN_CHARS],
    }
    try:
        verdict = judge_call(tool, arguments, cwd, os.environ.get("CLAUDE_PROJECT_DIR") or cwd)
    except Exception as error:  # noqa: BLE001 an error of the hook must not block the call
        return {**report, "decision": "error", "error": f"{type(error).__name__}: {error}"[:SHOWN_CHARS]}, ""
    if verdict.rule is None:
        return {**report, "decision": "allowed" if verdict.clear else "unclear"}, ""
    rule = verdict.rule
    denied = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": refusal_text(rule),
    }
    return {**report, "decision": "blocked", "rule": rule.name}, json.dumps({"hookSpecificOutput": denied})


def main() -> None:
    """Read a call from standard input and answer as the agent CLI's hook."""
    try:
        call = json.load(sys.stdin)
    except (ValueError, RecursionError) as error:
        call = {"tool_name": f"unreadable: {error}"}
    report, answer = hook_response(call if isinstance(call, dict) else {})
    sys.stdout.write(answer)
    sys.stderr.write(json.dumps(report) + "\n")
