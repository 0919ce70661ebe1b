"""Settings with which clients of GitHub reach a cell's GitHub as if it were github.com."""

import base64
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HELPER: Final = '!f() { test "$1" = get && echo username=x-access-token && echo "password=$GIT_TOKEN"; }; f'


def gh_environment(socket: Path | str | None, token: str, folder: Path) -> dict[str, str]:
    """Write gh's configuration into a folder and return the environment for gh.

    It uses a socket, without TLS; None: it asks github.com itself.
    """
    config = folder / "gh"
    config.mkdir(parents=True, exist_ok=True)
    where = "" if socket is None else f"http_unix_socket: {socket}\n"
    (config / "config.yml").write_text(
        f'version: "1"\ngit_protocol: https\nprompt: disabled\nspinner: disabled\n{where}'
    )
    return {
        "GH_CONFIG_DIR": str(config),
        "GH_TOKEN": token,
        "GH_PROMPT_DISABLED": "1",
        "GH_NO_UPDATE_NOTIFIER": "1",
        "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
        "GH_TELEMETRY": "false",
        "DO_NOT_TRACK": "1",
    }


def git_configuration(port: int, token: str) -> str:
    """Return a git configuration that sends what is for github.com to a proxy on loopback, with a token.

    The token is a header, as actions/checkout sets it: gh runs git with no credential helper but its own, which knows
    https alone.
    """
    return f"""\
[url "http://github.com/"]
\tinsteadOf = https://github.com/
\tinsteadOf = git@github.com:
\tinsteadOf = ssh://git@github.com/
[http "http://github.com/"]
\tproxy = http://127.0.0.1:{port}
\textraHeader = "Authorization: Basic {basic_credentials(token)}"
"""


def basic_credentials(token: str) -> str:
    """Return a token as git sends it in a header."""
    return base64.b64encode(f"x-access-token:{token}".encode()).decode()


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def git_environment(port: int, token: str, folder: Path) -> dict[str, str]:
    """Write git's configuration into a folder and return the environment for git."""
    return _git_environment(git_configuration(port, token), folder)


def public_git_environment(token: str, folder: Path) -> dict[str, str]:
    """Write git's configuration for github.com itself into a folder and return the environment for git."""
    return {**_git_environment(_PUBLIC, folder), "GIT_TOKEN": token}


def _git_environment(configuration: str, folder: Path) -> dict[str, str]:
    config = folder / "gitconfig"
    config.touch(mode=0o600)
    config.write_text(configuration + "[user]\n\tname = Agent\n\temail = agent@example.com\n")
    return {
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }


def client_environment(declared: Mapping[str, str], socket: Path | str, port: int, token: str) -> dict[str, str]:
    """Return the environment that a mode declares, with the facts of its placeholders."""
    facts = {"{token}": token, "{address}": f"http://127.0.0.1:{port}", "{socket}": str(socket)}
    filled = dict(declared)
    for placeholder, fact in facts.items():
        filled = {name: text.replace(placeholder, fact) for name, text in filled.items()}
    return filled


def mcp_environment(port: int, token: str) -> dict[str, str]:
    """Return the environment of GitHub's MCP server alone: its host is a local one, reached through the proxy."""
    proxy = f"http://127.0.0.1:{port}"
    return {
        "GITHUB_HOST": "http://github.localhost",
        "GITHUB_PERSONAL_ACCESS_TOKEN": token,
        "HTTP_PROXY": proxy,
        "http_proxy": proxy,
    }


_PUBLIC: Final = f"""\
[url "https://github.com/"]
\tinsteadOf = git@github.com:
\tinsteadOf = ssh://git@github.com/
[credential "https://github.com"]
\thelper =
\thelper = {_quoted(_HELPER)}
"""


def shell_exports(environment: dict[str, str]) -> str:
    """Return lines for a shell that set an environment."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
