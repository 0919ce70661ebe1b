"""Images in an engine: made where they are missing, found by what they are made of, listed and removed."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scylla_gha.errors import ToolError
from scylla_gha.images.archive import ImageArchive, ImageLayer, assemble_image
from scylla_gha.images.layers import TOOLS, agent_layer, base_layer, supervisor_layer, tools_layer
from scylla_gha.model.record import digest
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.prepare.tools import locked, npm_program
from scylla_gha.sandboxes.docker.engine import OURS

if TYPE_CHECKING:
    from docker import APIClient

_DIGEST: Final = "io.scylla-gha.image"  # the label of an image's layers, by which it is found whatever its id is
_TITLE: Final = "io.scylla-gha.title"
_PATH: Final = f"{TOOLS}/bin:/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class AgentCli:
    """An agent's command line: an npm package at a version, and the program in it."""

    package: str
    version: str
    program: str


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """What an image is made of. Checks run in one without an agent."""

    recipe: ImageRecipe
    python: dict[str, str]
    cli: AgentCli | None = None

    @property
    def title(self) -> str:
        """For people."""
        tools = [f"{name} {version}" for name, version in sorted(self.python.items())]
        agent = [f"{self.cli.package}@{self.cli.version}"] if self.cli else []
        return ", ".join([self.recipe.id, *agent, *tools])


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image that an engine has."""

    id: str
    title: str
    bytes: int


def load_image(wanted: ImageSpec, cache: Path, *, fresh: bool = False) -> ImageArchive:
    """The image, from layers that are in the cache or are made now; no engine is needed.

    Raises:
        ToolError: a layer cannot be made.
    """
    layers = [base_layer(wanted.recipe, cache, fresh=fresh)]
    if wanted.python:
        layers.append(tools_layer(wanted.python, cache))
    if wanted.cli:
        layers.append(_agent(wanted.cli, cache))
    layers.append(supervisor_layer(cache))  # the smallest one last: an engine unpacks anew what lies above a change
    key = digest([[layer.sha256 for layer in layers], _PATH])
    return assemble_image(layers, f"scylla-gha:{key[:16]}", _PATH, {OURS: "1", _DIGEST: key, _TITLE: wanted.title})


def image_digest(wanted: ImageSpec, cache: Path) -> str:
    """What stands for the image in a trial's key: equal exactly where all of the image's files are."""
    return load_image(wanted, cache).digest


def ensure_image(api: "APIClient", image: ImageArchive, cache: Path) -> str:
    """The image's id in the engine, which gets it where it has it not.

    Raises:
        ToolError: the engine does not take it.
    """
    from docker.errors import APIError

    with locked(cache / "images" / image.name.rpartition(":")[2]):
        found = _find(api, image)
        if found is None:
            with tempfile.TemporaryFile(dir=cache) as file:
                image.write(file)
                file.seek(0)
                try:
                    api.load_image(iter(lambda: file.read(1 << 20), b""))  # type: ignore[no-untyped-call]
                except APIError as error:
                    raise ToolError(f"the engine does not take the image: {error.explanation or error}") from None
            found = _find(api, image)
    if found is None:
        raise ToolError(f"the engine took the image {image.name} and does not have it; look at its log")
    return found


def _find(api: "APIClient", image: ImageArchive) -> str | None:
    """An image with our label and the very same layers."""
    for found in api.images(image.name, filters={"label": OURS}):
        inspected = api.inspect_image(found["Id"])  # type: ignore[no-untyped-call]
        if inspected["RootFS"]["Layers"] == [f"sha256:{layer.sha256}" for layer in image.layers]:
            name: str = found["Id"]
            return name
    return None


def list_images(api: "APIClient") -> Iterator[StoredImage]:
    """The toolkit's images, and no others."""
    for found in api.images(filters={"label": OURS}):
        yield StoredImage(found["Id"], found["Labels"].get(_TITLE, ""), found["Size"])


def prune_images(api: "APIClient", cache: Path) -> tuple[int, int]:
    """Remove the toolkit's images that no container uses, and the cached layers; how many of each."""
    from docker.errors import APIError

    removed = 0
    for found in list(list_images(api)):
        try:
            api.remove_image(found.id, force=False)
            removed += 1
        except APIError as error:
            if error.status_code != 409:  # noqa: PLR2004 Conflict: a container uses it
                raise
    layers = list((cache / "layers").glob("*.tar"))
    for layer in layers:
        layer.with_suffix(".sha256").unlink(missing_ok=True)
        layer.unlink()
    return removed, len(layers)


def _agent(cli: AgentCli, cache: Path) -> ImageLayer:
    program = npm_program(cli.package, cli.version, cli.program, cache)
    package = program.parent.parent.parent
    return agent_layer(package, cli.program, f"{cli.package}@{cli.version}", cache)
