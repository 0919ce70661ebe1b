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

    npm: Annotated[dict[str, ExactVersion], Field(description="npm packages; `package-lock.json` is their lock")] = {}
    pypi: Annotated[
        dict[str, ExactVersion], Field(description="PyPI packages; `requirements.txt` with hashes is their lock")
    ] = {}
    node: Annotated[ExactVersion | None, Field(description="Version of Node.js that runs npm packages")] = None

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
    command: Annotated[Text, Field(description="Program; with packages, the name of a program of theirs")]
    args: Annotated[
        tuple[str, ...],
        Field(description="Arguments; {folder} stands for the folder of this file, {workspace} for the workspace"),
    ] = ()
    env: Annotated[dict[str, str], Field(description="Environment, with the placeholders of args")] = {}
    packages: Annotated[
        ServerPackages | None, Field(description="What is installed before a trial; null: the folder is all it needs")
    ] = None
    programs: Annotated[
        tuple[Text, ...], Field(description="Debian packages, each with a program of the same name")
    ] = ()
    tools: Annotated[
        tuple[Text, ...] | None, Field(description="Names of all tools that it must offer; null: at least one")
    ] = None
    hosts: Annotated[
        tuple[NamedHost, ...], Field(description="Hosts that it needs; the agent may reach them in these trials")
    ] = ()

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
