"""Reader of Bash scripts that runs nothing: it finds the simple commands of a script, and the folder of each.

It follows quotes, expansions, lists, pipes, subshells, substitutions, here-documents, `cd` and assignments. A value
that is known only when the script runs is UNKNOWN. The module is copied into the agent's sandbox with `hook`, so it
uses only the standard library of Python 3.9.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

UNKNOWN = "\ufffc"  # part of a word that is known only when the script runs

_MOST_LEVELS = 8  # of nested scripts; many more would exceed the call stack
_MOST_CHARACTERS = 500_000  # of all scripts of a call and of their expansions, which can grow without a bound
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(&>>?|<<<|<<-?|>>|>\||[<>]&|<>|[<>](?!\())[ \t]*")
_ARITHMETIC = re.compile(r"\(\((?:[^()]|\([^()]*\))*\)\)")
_NAME = re.compile(r"(?P<name>[A-Za-z_]\w*|[0-9@*#?$!-])")
_SET_NAME = re.compile(r"(?<![\w${])[A-Za-z_]\w*")
_BRACED = re.compile(r"\{(?P<name>[A-Za-z_]\w*)(?::?[-=](?P<default>[^{}$]*))?\}")
_OTHER_BRACED = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}?")


class ShellCommand:
    """Simple command: words, files of redirections, standard input, folder, and the command before it in a pipe."""

    def __init__(self, cwd: str, before: ShellCommand | None = None, words: list[str] | None = None) -> None:
        self.words: list[str] = words or []
        self.writes: list[str] = []
        self.reads: list[str] = []
        self.stdin, self.cwd, self.before, self.clear = "", cwd, before, True


class ShellEnvironment:
    """Variables with which a script starts, and the number of characters that may still be read."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values, self.left = values, _MOST_CHARACTERS

    def allows(self, characters: int) -> bool:
        """Count further characters; return False if they are too many."""
        self.left -= characters
        return self.left >= 0


class ShellReader:
    """Reader of one script into `commands`, which include those of substitutions; `unclear`: not all could be read."""

    def __init__(
        self,
        text: str,
        cwd: str,
        values: Mapping[str, str],
        depth: int = 0,
        environment: ShellEnvironment | None = None,
    ) -> None:
        self.text, self.at, self.cwd, self.values, self.depth = text, 0, cwd, dict(values), depth
        self.environment = environment or ShellEnvironment(os.environ)
        self.names: set[str] | None = None
        self.commands: list[ShellCommand] = []
        self.pending: list[tuple[ShellCommand, str, bool]] = []
        self.unclear = depth > _MOST_LEVELS or not self.environment.allows(len(text))
        self.current = ShellCommand(cwd)
        if not self.unclear:
            self.run("")

    def run(self, closing: str) -> None:
        """Read commands up to and including the closing character."""
        while self.at < len(self.text) and self.text[self.at] != closing:
            char, redirect = self.text[self.at], _REDIRECT.match(self.text, self.at)
            if char in " \t\r":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                self.at = (self.text + "\n").index("\n", self.at)
            elif redirect:
                self.redirect(redirect)
            elif char in ";&|\n()":
                self.operator(char)
            else:
                self.current.words.append(self.word())
        self.unclear = self.unclear or (bool(closing) and self.at >= len(self.text))
        self.at += len(closing)
        self.finish()

    def operator(self, char: str) -> None:
        """Read a character that ends a command or begins a subshell."""
        piped = char == "|" and self.text[self.at + 1 : self.at + 2] != "|"
        self.at += 1
        self.finish(self.current if piped else None)
        if char == "\n":
            self.documents()
        elif char == "(":
            self.subshell()

    def subshell(self) -> None:
        """Read a subshell; its changes of folder and variables end with it."""
        if arithmetic := _ARITHMETIC.match(self.text, self.at - 1):
            self.at = arithmetic.end()
            return
        outer, cwd, values = self.current, self.cwd, dict(self.values)
        self.current, self.depth = ShellCommand(cwd), self.depth + 1
        if self.depth > _MOST_LEVELS:
            self.at, self.unclear = len(self.text), True
        self.run(")")
        self.current, self.cwd, self.values, self.depth = outer, cwd, values, self.depth - 1

    def finish(self, before: ShellCommand | None = None) -> None:
        """End the current command; follow its changes of folder and variables."""
        command, words = self.current, self.current.words
        if words or command.writes or command.reads:
            self.commands.append(command)
        for word in words[1:] if words[:1] == ["export"] else words:
            name, sign, value = word.partition("=")
            if not (sign and name.isidentifier()):
                break
            self.values[name] = value
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            self.values[words[1]] = next((word for word in words[3:] if word.startswith("/")), "".join(words[3:4]))
        if words[:1] in (["cd"], ["pushd"]):
            folder = words[1] if words[1:] else self.environment.values.get("HOME", "/")
            self.cwd = os.path.join(self.cwd, UNKNOWN if folder[:1] in ("-", UNKNOWN) else folder)
        self.current = ShellCommand(UNKNOWN if UNKNOWN in self.cwd else self.cwd, before)

    def redirect(self, operator: re.Match[str]) -> None:
        """Read a redirection and its word."""
        start = self.at = operator.end()
        word = self.word() if self.at < len(self.text) and self.text[self.at] not in ";&|\n()" else ""
        if operator[1] in ("<<", "<<-"):
            self.pending.append((self.current, word, bool(set("'\"\\") & set(self.text[start : self.at]))))
        elif operator[1] == "<<<":
            self.current.stdin = word
        elif not (operator[1][-1] == "&" and re.fullmatch(r"\d+-?|-", word)):
            (self.current.reads if operator[1][0] == "<" else self.current.writes).append(word)

    def documents(self) -> None:
        """Read the here-documents that begin after this line; if they are not quoted, also their substitutions."""
        waiting, self.pending = self.pending, []
        for command, end, quoted in waiting:
            last = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(self.text, self.at)
            self.unclear = self.unclear or not last
            command.stdin = self.text[self.at : last.start() if last else len(self.text)]
            self.at = min(last.end() + 1 if last else len(self.text), len(self.text))
            if not quoted and re.search(r"\$\(|`", command.stdin):
                self.nested(': "' + command.stdin.replace('"', " ") + '"')

    def nested(self, text: str) -> None:
        """Read an inner script that starts in the same folder."""
        inner = ShellReader(text, self.cwd, self.values, self.depth + 1, self.environment)
        self.commands += inner.commands
        self.unclear = self.unclear or inner.unclear

    def word(self) -> str:
        """Read one word; return its value after expansion."""
        parts, begin = [], self.at
        if re.compile(r"~(?![^/\s;&|)])").match(self.text, self.at):
            parts.append(self.environment.values.get("HOME", "/"))
            self.at += 1
        while self.at < len(self.text) and self.text[self.at] not in " \t\r\n;&|<>()":
            parts.append(self.piece(quoted=False))
        self.at += self.at == begin  # skips a lone < or >
        return "".join(parts)

    def piece(self, *, quoted: bool) -> str:
        """Read one character, one quoted part, or one expansion."""
        char, after = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        if char == "\\":
            self.at += 2
            return "" if after == "\n" else after
        if char == "`":
            self.nested(self.until("`"))
            return UNKNOWN
        if char == "$" and (after in ("(", "{") or (after in ("'", '"') and not quoted) or _NAME.match(after)):
            self.at += 1
            return self.piece(quoted=False) if after in ("'", '"') else self.expansion(after)
        if char in "'\"" and not quoted:
            return self.until("'") if char == "'" else self.double()
        self.at += 1
        return char

    def until(self, end: str) -> str:
        """Read the text up to the next `end`, which is also the current character."""
        inner, closed, _ = self.text[self.at + 1 :].partition(end)
        self.unclear = self.unclear or not closed
        self.at += len(inner) + 2
        return inner

    def double(self) -> str:
        """Read a text in double quotes."""
        self.at += 1
        parts = []
        while self.at < len(self.text) and self.text[self.at] != '"':
            parts.append(self.piece(quoted=True))
        self.unclear = self.unclear or self.at >= len(self.text)
        self.at += 1
        return "".join(parts)

    def expansion(self, char: str) -> str:
        """Read the text after a dollar sign; a variable that is never set is empty, as in Bash."""
        if char == "(":
            self.at += 1
            self.subshell()
            return UNKNOWN
        variable = (_BRACED if char == "{" else _NAME).match(self.text, self.at)
        other = _OTHER_BRACED.match(self.text, self.at)
        self.at = variable.end() if variable else other.end() if other else self.at
        if not variable:
            return UNKNOWN
        name, default = variable["name"], variable.groupdict().get("default")
        value = self.cwd if name == "PWD" else self.values.get(name, self.environment.values.get(name, default))
        if value is not None:
            return self.known(value or default or "")
        return UNKNOWN if not name.isidentifier() or name in self.set_names() else ""

    def known(self, value: str) -> str:
        """Return a variable's value; UNKNOWN if the expansions have become too long."""
        if self.environment.allows(len(value)):
            return value
        self.unclear = True
        return UNKNOWN

    def set_names(self) -> set[str]:
        """Return the words of the text that may be names of variables that it sets."""
        if self.names is None:
            self.names = set(_SET_NAME.findall(self.text))
        return self.names
