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
    roots: Annotated[tuple[ImportRoot, ...], Field(min_length=1, description="Folders that modules are in")] = (".",)
    entry_points: Annotated[
        dict[str, dict[PackageName, EntryPoint]],
        Field(description="By group, e.g. console_scripts: {app: 'app.cli:main'}; those are programs on PATH"),
    ] = {}


class Tools(Record):
    """Tools on the PATH of agent and checks."""

    python: Annotated[dict[str, str], Field(description="PyPI packages at exact versions, e.g. pytest: 9.2.0")] = {}
    node: Annotated[
        dict[str, str],
        Field(description="npm packages at exact versions, e.g. vitest: 3.2.4; programs of Node.js can import them"),
    ] = {}
    editable: Annotated[
        EditableInstall | None,
        Field(description="The start state's own Python package; its modules come from the folder a program runs in"),
    ] = None
    setup: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Command that installs what tests need; it runs once on each machine, with its network, in a "
            "copy of the start state, and what it leaves in .venv, node_modules or go-modules is there for agent and "
            "checks",
        ),
    ] = None
    prepared: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9a-f]{16}$", description="Folder in the toolkit's cache that `readiness --setup` made here"
        ),
    ] = None
    system: Annotated[tuple[Slug, ...], Field(description="Programs that the machine must have")] = ()

    @model_serializer(mode="wrap")
    def _leave_out_unset(self, dump: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out what was added later if it is unset, so that keys of scenarios without it are as they were."""
        fields: dict[str, object] = dump(self)
        return {name: tools for name, tools in fields.items() if name in {"python", "system"} or tools}
