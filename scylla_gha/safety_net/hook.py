"""A safety net for an agent's tool calls: blocks destructive ones by rule, before they happen.

A net against accidents, not the wall: a script, `python -c` and a coded command go through it; the container is the
wall. It is laid into the agent's box with `safety_rules` and `bash_script`, and started there by `python3` for each
call: standard library only, Python 3.9, without the imports that are slow to start (dataclasses, pathlib, shlex).

What cannot be read to its end (an open quote) is judged by what was read, as Bash too runs the lines before; what no
rule names then is allowed and told as `unclear`. A fault of this file is told as `error` and allowed: a broken net must
not stand in the way. The agent may change files of the workspace, of its own HOME and of the temporary folders;
nothing in the workspace is a credential; history becomes shared by a push, until then to rewrite it is ordinary work.

Each decision is told as a line of JSON on standard error, which the agent CLI writes into its transcript.
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
    operands,
    searched,
)
from scylla_gha.safety_net.shell_reader import ShellCommand, ShellReader

MARK = "[safety net]"
WATCHED = ("Bash", "Edit", "MultiEdit", "NotebookEdit", "Read", "Write")

_SHOWN, _DEEPEST = 300, 8
_BOMB = re.compile(r"(?<![\w:.])([\w:.]{1,40})\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash"}
_WORDS = {"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}"}
# A program that starts another one: its options that take a value, and how many words stand before the other.
_WRAPPERS = {"sudo": ("ugpCDRTUh", 0), "doas": ("uC", 0), "env": ("uC", 0), "nohup": ("", 0), "nice": ("n", 0),
             "ionice": ("cnp", 0), "timeout": ("sk", 1), "stdbuf": ("ioe", 0), "setsid": ("", 0), "command": ("", 0),
             "builtin": ("", 0), "exec": ("a", 0), "xargs": ("InPLdEsa", 0), "busybox": ("", 0), "watch": ("n", 0),
             "flock": ("wE", 1), "time": ("fo", 0), "npx": ("p", 0)}  # fmt: skip


class CallVerdict:
    """What the net says of a call: the rule it breaks, if any, and whether all of it could be read."""

    def __init__(self, rule: SafetyRule | None = None, *, clear: bool = True) -> None:
        self.rule, self.clear = rule, clear


def judge_call(tool: str, arguments: Mapping[str, object], cwd: str, workspace: str) -> CallVerdict:
    """Judge a call of a tool by the rules."""
    ground = WritablePaths(workspace)
    if tool == "Bash":
        return _judge_script(str(arguments.get("command", "")), cwd, ground)
    path = str(arguments.get("file_path") or arguments.get("notebook_path") or "")
    if tool == "Read":
        return CallVerdict(CREDENTIALS if ground.secret(path, cwd) else None)
    return CallVerdict(WRITE if ground.outside(path, cwd) else None)


def _judge_script(text: str, cwd: str, ground: WritablePaths) -> CallVerdict:
    if _BOMB.search(text):
        return CallVerdict(SYSTEM)
    script = ShellReader(text, cwd, {})
    clear = not script.unclear
    for command in script.commands:
        started = list(_started(command, 0))
        clear = clear and all(each.clear for each in started)
        rule = next((rule for each in started if (rule := broken_rule(each, ground))), None)
        if rule:
            return CallVerdict(rule, clear=clear)
    return CallVerdict(clear=clear)


def _started(command: ShellCommand, depth: int) -> Iterator[ShellCommand]:
    """The command without what stands before its program, and all commands that it starts."""
    words = _bare(command.words, command.before)
    mine = ShellCommand(command.cwd, command.before, words)
    mine.writes, mine.reads, mine.stdin, mine.clear = command.writes, command.reads, command.stdin, depth < _DEEPEST
    yield mine
    if not mine.clear or not words:
        return
    for text in _scripts(mine):
        script = ShellReader(text, command.cwd, {})
        mine.clear = mine.clear and not script.unclear
        for inner in script.commands:
            yield from _started(inner, depth + 1)
    if os.path.basename(words[0]) == "find":
        yield from (
            each for one in _executed(words) for each in _started(ShellCommand(command.cwd, None, one), depth + 1)
        )


def _bare(words: list[str], before: ShellCommand | None) -> list[str]:
    while words:
        name = os.path.basename(words[0])
        if words[0] in _WORDS or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif name in _WRAPPERS:
            words = _unwrapped(name, words[1:])
            words = [*words, *_found(before)] if name == "xargs" else words
        else:
            break
    return words


def _unwrapped(name: str, words: list[str]) -> list[str]:
    valued, skipped = _WRAPPERS[name]
    while words and words[0].startswith("-"):
        takes = bool(valued) and re.fullmatch(f"-[A-Za-z]*[{valued}]", words[0])
        words = words[2:] if takes else words[1:]
    return words[skipped:]


def _found(before: ShellCommand | None) -> list[str]:
    """What xargs is fed, as far as it can be told."""
    words = _bare(before.words, None) if before else []
    name = os.path.basename(words[0]) if words else ""
    return searched(words) if name == "find" else operands(words) if name in ("echo", "printf", "ls") else []


def _scripts(command: ShellCommand) -> list[str]:
    """The texts that the command gives to a shell."""
    words, name = command.words, os.path.basename(command.words[0])
    if name == "eval":
        return [" ".join(words[1:])]
    if name == "trap":
        return words[1:2]
    if name not in _SHELLS and name != "su":
        return []
    for at, word in enumerate(words):
        if re.fullmatch("-[a-z]*c|--command", word):
            return words[at + 1 : at + 2]
    if name == "su" or operands(words):
        return []  # a file
    return [command.stdin, _said(command.before)]


def _said(before: ShellCommand | None) -> str:
    words = _bare(before.words, None) if before else []
    if words[:1] in (["echo"], ["printf"]):
        return " ".join(operands(words)).replace("\\n", "\n")
    return before.stdin if before else ""


def _executed(words: list[str]) -> Iterator[list[str]]:
    """What a find's -exec runs, on what it may find."""
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = words[at + 1 :]
            end = next((n for n, each in enumerate(rest) if each in (";", "+")), len(rest))
            yield [part for each in rest[:end] for part in (searched(words) if each == "{}" else [each])]


def hook_response(asked: Mapping[str, object]) -> tuple[dict[str, object], str]:
    """What is told of a call, and what the agent CLI is answered: nothing where the call is allowed."""
    tool, arguments, cwd = str(asked.get("tool_name")), asked.get("tool_input"), str(asked.get("cwd") or "/")
    given = arguments if isinstance(arguments, dict) else {}
    shown = str(given.get("command") or given.get("file_path") or given.get("notebook_path") or "")[:_SHOWN]
    told: dict[str, object] = {"safety_net": 1, "call": asked.get("tool_use_id"), "tool": tool, "command": shown}
    try:
        verdict = judge_call(tool, given, cwd, os.environ.get("CLAUDE_PROJECT_DIR") or cwd)
    except Exception as error:  # noqa: BLE001 whatever it is, the call must go on
        return {**told, "decision": "error", "error": f"{type(error).__name__}: {error}"[:_SHOWN]}, ""
    if verdict.rule is None:
        return {**told, "decision": "allowed" if verdict.clear else "unclear"}, ""
    rule = verdict.rule
    reason = f"{MARK} {rule.name}: blocked, since this {rule.what}. Instead, {rule.instead}."
    denied = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {**told, "decision": "blocked", "rule": rule.name}, json.dumps({"hookSpecificOutput": denied})


def main() -> None:
    """Answer the agent CLI's hook."""
    try:
        asked = json.load(sys.stdin)
    except ValueError as error:
        asked = {"tool_name": f"unreadable: {error}"}
    told, said = hook_response(asked if isinstance(asked, dict) else {})
    sys.stdout.write(said)
    sys.stderr.write(json.dumps(told) + "\n")
