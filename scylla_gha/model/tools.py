"""Tools that a scenario pins: packages with exact versions, the package of its start state, and a setup command."""

from typing import Annotated

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from scylla_gha.model import Record, Slug

PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$")]
EntryPoint = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*)?( *\[[\w ,.-]*\])?$")]
ImportRoot = Annotated[str, Field(pattern=r"^(\.|[\w-][\w.-]*(/[\w-][\w.-]*)*)$")]


class EditableInstall(Record):
    """Python package of the start state, which is installed as by `pip install -e`, without running its build."""

    name: PackageName
    version: Annotated[str, Field(pattern=r"^[0-9][\w.+!-]*$")] = "0.0.0"
    roots: tuple[ImportRoot, ...] = Field(
        default=(".",), min_length=1, description="Folders that contain the package's modules"
    )
    entry_points: dict[str, dict[PackageName, EntryPoint]] = Field(
        default={},
        description="Entry points by group, e.g. console_scripts: {app: 'app.cli:main'}, which become programs on PATH",
    )


class Tools(Record):
    """Tools on the PATH of agent and checks."""

    python: dict[str, str] = Field(default={}, description="PyPI packages with exact versions, e.g. pytest: 9.2.0")
    node: dict[str, str] = Field(
        default={},
        description="npm packages with exact versions, e.g. vitest: 3.2.4, which programs of Node.js can import",
    )
    editable: EditableInstall | None = Field(
        default=None,
        description="Python package of the start state; its modules are loaded from the folder that a program runs in",
    )
    setup: str | None = Field(
        default=None,
        min_length=1,
        description="Command that installs what tests need; it runs once on each machine, with the machine's "
        "network, in a copy of the start state; agent and checks get its .venv, node_modules and "
        "go-modules",
    )
    prepared: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{16}$",
        description="Folder in the toolkit's cache that `readiness --setup` made on this machine",
    )
    system: tuple[Slug, ...] = Field(default=(), description="Programs that must be installed on the machine")

    @model_serializer(mode="wrap")
    def _leave_out_unset(self, dump: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out what was added later if it is unset, so that keys of scenarios without it are as they were."""
        fields: dict[str, object] = dump(self)
        return {name: tools for name, tools in fields.items() if name in {"python", "system"} or tools}
