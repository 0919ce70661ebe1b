"""A local stand-in for all model APIs: it makes an agent use a shell once and then end.

Each API style's `scripted.py` has the form of its requests and answers.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from scylla_gha.lenient_json import inner_object
from scylla_gha.providers.anthropic import scripted as messages
from scylla_gha.providers.base import Body, ToolRequest, parse_object
from scylla_gha.providers.gemini import scripted as gemini
from scylla_gha.providers.openai import scripted_chat, scripted_responses
from scylla_gha.providers.scripted_style import ScriptedAnswer, ScriptedStyle

SHELL_TEXT: Final = "scylla-gha was here"  # what the shell prints
_COMMAND: Final = f"echo {SHELL_TEXT}"
# Names of shells of agent CLIs, the preferred one first.
_SHELLS: Final = ("Bash", "exec_command", "run_shell_command", "shell_command", "shell", "bash", "Shell")
_COMMAND_ARGUMENTS: Final = ("command", "cmd")

STYLES: Final[Sequence[ScriptedStyle]] = (messages, scripted_responses, scripted_chat, gemini)


class _Server(ThreadingHTTPServer):
    command: str = _COMMAND
    call: ToolRequest | None = None


@contextmanager
def scripted_provider(command: str = _COMMAND, call: ToolRequest | None = None) -> Iterator[str]:
    """Serve scripted answers of all API styles on this machine; yield the base URL, without a version.

    Agents are asked for the `call`, or to run the `command` in their shell.
    """
    server = _Server(("127.0.0.1", 0), _Handler)
    server.command, server.call = command, call
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def next_answer(
    style: ScriptedStyle, body: Body, command: str = _COMMAND, asked: ToolRequest | None = None
) -> ScriptedAnswer:
    """Return the answer to a request: a use of a tool if it is offered and was not used yet, else a text.

    The tool is that of `asked`, or a shell.
    """
    if style.has_result(body):
        return ScriptedAnswer()
    if asked:
        return ScriptedAnswer(call=asked if asked.tool in dict(style.offered(body)) else None)
    return ScriptedAnswer(call=shell_call(style, body, command))


def shell_call(style: ScriptedStyle, body: Body, command: str, call_id: str = "scripted") -> ToolRequest | None:
    """Return a use of the shell that a request offers, with this id; None if it offers none."""
    schemas = dict(style.offered(body))
    names = (*_SHELLS, *(name for name, schema in schemas.items() if _runs(schema)))
    shell = next((name for name in names if name in schemas), None)
    return ToolRequest(call_id, shell, _arguments(schemas[shell], command)) if shell else None


def _runs(schema: Body) -> bool:
    """Tell if a tool of any name needs a command, and nothing else."""
    return schema.get("required") in [[name] for name in _COMMAND_ARGUMENTS]


def _arguments(schema: Body, command: str) -> Body:
    """Return the arguments of a shell's call: the command, and a text for the description and required arguments."""
    properties = inner_object(schema, "properties")
    name = next((name for name in _COMMAND_ARGUMENTS if name in properties), _COMMAND_ARGUMENTS[0])
    is_list = inner_object(properties, name).get("type") == "array"
    required = schema.get("required")
    others = {*(required if isinstance(required, list) else []), *({"description"} & properties.keys())} - {name}
    return {name: ["sh", "-c", command] if is_list else command, **dict.fromkeys(sorted(others), "Say hello")}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Answer a request for an answer, or for a count of tokens."""
        body = parse_object(self.rfile.read(int(self.headers.get("content-length", 0)))) or {}
        path = self.path.partition("?")[0]
        for style in STYLES:
            if style.COUNT_PATHS.search(path):
                return self._send(200, json.dumps(style.count()))
            if style.PATHS.search(path):
                answer = next_answer(style, body, self.server.command, self.server.call)
                if style.is_streamed(path, body):
                    return self._send(200, "".join(style.events(body, answer)), "text/event-stream")
                return self._send(200, json.dumps(style.whole(body, answer)))
        return self._send(404, json.dumps({"error": {"message": f"there is no {path}"}}))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base's name
        """Print nothing."""

    def _send(self, status: int, text: str, kind: str = "application/json") -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
