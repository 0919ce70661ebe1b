"""Mode: programs, MCP servers and instructions for work on GitHub, which are compared under equal prompts."""

import re
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints, model_validator

from scylla_gha.model import Record, Slug, Text, digest
from scylla_gha.model.variant import ExactVersion, Name

DEFAULT_MODE: Final = "baseline"  # mode of scenarios with GitHub in experiments without `modes`

ProgramName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=60)]
_NAME: Final = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_PLACEHOLDERS: Final = ("{token}", "{address}", "{socket}")
RelativePath = Annotated[str, StringConstraints(pattern=rf"^{_NAME}(/{_NAME})*$")]


class ModeProgram(Record):
    """Source of a program: a package of PyPI, npm or Debian, or a file beside the mode's own."""

    python: Text | None = Field(default=None, description="PyPI package that contains the program")
    npm: Text | None = Field(
        default=None, description="npm package that contains the program; its install scripts are not run"
    )
    version: ExactVersion | None = Field(default=None, description="Version of the PyPI or npm package")
    node: ExactVersion | None = Field(default=None, description="Version of Node.js that runs the npm package")
    system: Slug | None = Field(default=None, description="Debian package that contains the program")
    file: RelativePath | None = Field(
        default=None, description="Path in config/modes/ of an executable file, such as mytool/mytool"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if [self.python, self.npm, self.system, self.file].count(None) != 3:  # noqa: PLR2004 all but one
            raise ValueError("give exactly one of python, npm, system and file")
        if (self.version is None) != (self.python is None and self.npm is None):
            raise ValueError("`version` needs python or npm, and they need `version`")
        if (self.node is None) != (self.npm is None):
            raise ValueError("`node` (an exact version such as 22.23.3) needs npm, and npm needs `node`")
        return self


class ModeFile(Record):
    """Toolset, compared with others under equal prompts (`config/modes/<id>.yaml`). Every mode has git."""

    id: Slug
    description: Text
    programs: dict[ProgramName, ModeProgram] = Field(
        default={}, description="Programs on PATH, by name; gh is configured automatically"
    )
    mcp_servers: tuple[Name, ...] = Field(default=(), description="MCP servers, as names of folders in config/mcp/")
    env: dict[str, str] = Field(
        default={},
        description="Environment variables of the agent; {token}, {address} and {socket} stand for the token, "
        "the address and the Unix socket of the trial's GitHub, whose API is below "
        "{address}/api/v3",
    )
    clients: tuple[Text, ...] | None = Field(
        default=None,
        description="Names of the clients of this mode besides git, as in User-Agent before the slash; "
        "requests of other clients, or without a token of the mode, are counted separately; null: "
        "any client",
    )
    instructions: Text | None = Field(
        default=None, description="Text about the tools that is added to the agent's system prompt; null: none"
    )
    instructions_file: RelativePath | None = Field(
        default=None, description="Path in config/modes/ of a file with the instructions; null: none"
    )

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if self.instructions is not None and self.instructions_file is not None:
            raise ValueError("give at most one of instructions and instructions_file")
        if "git" in self.programs:
            raise ValueError("programs: git is in every mode; remove it")
        if "PATH" in self.env:
            raise ValueError("env: PATH is set from the programs; remove it")
        for name, value in self.env.items():
            if unknown := [found for found in re.findall(r"\{\w+\}", value) if found not in _PLACEHOLDERS]:
                raise ValueError(
                    f"env.{name}: {unknown[0]} is not a placeholder; use one of {', '.join(_PLACEHOLDERS)}"
                )
        return self


class Mode(Record):
    """A resolved mode, with its instructions as text."""

    id: str
    programs: dict[str, ModeProgram] = {}
    mcp_servers: tuple[str, ...] = ()
    env: dict[str, str] = {}
    clients: tuple[str, ...] | None = None
    instructions: str | None = None
    materials: dict[str, str] = Field(
        default={}, description="Digests of the files that the mode uses, as mcp/<name> and modes/<file>"
    )

    @property
    def digest(self) -> str:
        """Digest of the toolset, independent of its name."""
        return digest(self.model_dump(mode="json", exclude={"id"}))

    @property
    def python(self) -> dict[str, str]:
        """Versions of the PyPI packages of the mode's programs."""
        programs = self.programs.values()
        return {program.python: program.version for program in programs if program.python and program.version}

    @property
    def system(self) -> tuple[str, ...]:
        """Debian packages of the mode's programs."""
        return tuple(dict.fromkeys(program.system for program in self.programs.values() if program.system))


NO_MODE: Final = Mode(id="none")  # mode of an agent without GitHub
