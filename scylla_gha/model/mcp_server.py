"""MCP servers: how each is started, what is installed for it, and the tools that it must offer."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints, model_validator

from scylla_gha.model import Record, Text
from scylla_gha.model.sandbox import NamedHost

FOLDER: Final = "{folder}"
WORKSPACE: Final = "{workspace}"
NODE: Final = "/opt/node/bin/node"  # in sandboxes with files of their own
_PACKAGES: Final = "/opt/mcp"
_BARE: Final = frozenset("/{}")

ExactVersion = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+-]*$", max_length=60)]


class ServerPackages(Record):
    """Packages of an MCP server, of npm or of PyPI; a lock beside the file pins all that they need."""

    npm: dict[str, ExactVersion] = Field(
        default={}, description="npm packages with exact versions, locked by `package-lock.json`"
    )
    pypi: dict[str, ExactVersion] = Field(
        default={}, description="PyPI packages with exact versions, locked by `requirements.txt` with hashes"
    )
    node: ExactVersion | None = Field(
        default=None, description="Version of Node.js that runs the npm packages; null: no npm packages"
    )

    @model_validator(mode="after")
    def _one_registry(self) -> Self:
        if bool(self.npm) == bool(self.pypi):
            raise ValueError("give packages of exactly one of npm and pypi")
        if bool(self.npm) != bool(self.node):
            raise ValueError("give node, an exact version such as 22.23.3, with npm packages, and only with them")
        return self


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """Command line and environment of a started MCP server, with the paths of its sandbox."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]


class McpServer(Record):
    """MCP server over standard input and output (`config/mcp/<name>/server.yaml`)."""

    description: Text
    command: Text = Field(description="Program to start; with `packages`, the name of a program in them")
    args: tuple[str, ...] = Field(
        default=(),
        description="Arguments of the program; {folder} stands for the folder of this file, {workspace} for "
        "the workspace",
    )
    env: dict[str, str] = Field(
        default={}, description="Environment variables of the program, with the same placeholders as `args`"
    )
    packages: ServerPackages | None = Field(
        default=None, description="Packages to install before a trial; null: the server needs only its folder"
    )
    programs: tuple[Text, ...] = Field(
        default=(), description="Debian packages to install, each with a program of the same name"
    )
    tools: tuple[Text, ...] | None = Field(
        default=None, description="Names of all tools that the server must offer; null: at least one tool"
    )
    hosts: tuple[NamedHost, ...] = Field(
        default=(), description="Hosts that the server needs, which the agent may then reach too"
    )

    @model_validator(mode="after")
    def _program_of_packages(self) -> Self:
        if self.packages and _BARE & set(self.command):
            raise ValueError("with packages, command is the name of a program of theirs, without a path")
        return self

    def started(
        self, name: str, folder: str, workspace: str, installed: Mapping[str, str] = MappingProxyType({})
    ) -> ServerCommand:
        """Return how it is started.

        Args:
            name: its name, which is that of its folder in `config/mcp/`.
            folder: path of its folder in the sandbox.
            workspace: path of the workspace in the sandbox.
            installed: paths of installed programs on the host, by those in sandboxes with files of their own.
        """

        def fill(text: str) -> str:
            return text.replace(FOLDER, folder).replace(WORKSPACE, workspace)

        def path(inside: str) -> str:
            return installed.get(inside, inside)

        args = tuple(map(fill, self.args))
        env = {key: fill(value) for key, value in self.env.items()}
        if self.packages is None:
            return ServerCommand(fill(self.command), args, env)
        packages = path(packages_folder(name))
        if self.packages.npm:
            return ServerCommand(path(NODE), (f"{packages}/node_modules/.bin/{self.command}", *args), env)
        return ServerCommand(f"{packages}/bin/{self.command}", args, env)


def packages_folder(name: str) -> str:
    """Return the folder of a server's packages in sandboxes with files of their own."""
    return f"{_PACKAGES}/{name}"
