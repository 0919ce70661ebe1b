"""Images in an engine: load, find, list and remove them."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scylla_gha.errors import ToolError
from scylla_gha.images.archive import ImageArchive, assemble_image
from scylla_gha.images.layers import TOOLS, agent_layer, base_layer, supervisor_layer, tools_layer
from scylla_gha.model.record import digest
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.prepare.tools import locked, npm_program
from scylla_gha.sandboxes.docker.engine import OURS

if TYPE_CHECKING:
    from docker import APIClient

_DIGEST: Final = "io.scylla-gha.image"  # label with a digest of the image's layers
_TITLE: Final = "io.scylla-gha.title"
_PATH: Final = f"{TOOLS}/bin:/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class AgentCli:
    """Agent's command line: an npm package at a version, and the program in it."""

    package: str
    version: str
    program: str


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """Contents of an image. The one for checks has no agent."""

    recipe: ImageRecipe
    python: dict[str, str]
    cli: AgentCli | None = None

    @property
    def title(self) -> str:
        """Contents in words."""
        tools = [f"{name} {version}" for name, version in sorted(self.python.items())]
        agent = [f"{self.cli.package}@{self.cli.version}"] if self.cli else []
        return ", ".join([self.recipe.id, *agent, *tools])


@dataclass(frozen=True, slots=True)
class StoredImage:
    """Image in an engine."""

    id: str
    title: str
    bytes: int


def build_image(spec: ImageSpec, cache: Path, *, fresh: bool = False) -> ImageArchive:
    """Return the image, of layers that are in the cache or are made now; no engine is needed.

    Raises:
        ToolError: a layer cannot be made.
    """
    layers = [base_layer(spec.recipe, cache, fresh=fresh)]
    if spec.python:
        layers.append(tools_layer(spec.python, cache))
    if cli := spec.cli:
        package = npm_program(cli.package, cli.version, cli.program, cache).parent.parent.parent
        layers.append(agent_layer(package, cli.program, f"{cli.package}@{cli.version}", cache))
    layers.append(supervisor_layer(cache))  # the smallest one last: an engine unpacks all layers above a change again
    key = digest([[layer.sha256 for layer in layers], _PATH])
    return assemble_image(layers, f"scylla-gha:{key[:16]}", _PATH, {OURS: "1", _DIGEST: key, _TITLE: spec.title})


def ensure_image(api: "APIClient", image: ImageArchive, cache: Path) -> str:
    """Load the image into the engine if it is absent; return its id there.

    Raises:
        ToolError: the engine does not accept it.
    """
    from docker.errors import APIError

    with locked(cache / "images" / image.name.rpartition(":")[2]):
        image_id = _find(api, image)
        if image_id is None:
            with tempfile.TemporaryFile(dir=cache) as file:
                image.write(file)
                file.seek(0)
                try:
                    api.load_image(iter(lambda: file.read(1 << 20), b""))  # type: ignore[no-untyped-call]
                except APIError as error:
                    raise ToolError(f"the engine does not accept the image: {error.explanation or error}") from None
            image_id = _find(api, image)
    if image_id is None:
        raise ToolError(f"the engine accepted the image {image.name} and does not have it; look at its log")
    return image_id


def _find(api: "APIClient", image: ImageArchive) -> str | None:
    """Return the id of an image with the toolkit's label and the same layers."""
    for entry in api.images(image.name, filters={"label": OURS}):
        image_id: str = entry["Id"]
        layers = api.inspect_image(image_id)["RootFS"]["Layers"]  # type: ignore[no-untyped-call]
        if layers == [f"sha256:{layer.sha256}" for layer in image.layers]:
            return image_id
    return None


def list_images(api: "APIClient") -> Iterator[StoredImage]:
    """Return the toolkit's images."""
    for entry in api.images(filters={"label": OURS}):
        yield StoredImage(entry["Id"], entry["Labels"].get(_TITLE, ""), entry["Size"])


def prune_images(api: "APIClient", cache: Path) -> tuple[int, int]:
    """Remove the toolkit's images that no container uses, and the cached layers; return the number of each."""
    from docker.errors import APIError

    removed = 0
    for image in list(list_images(api)):
        try:
            api.remove_image(image.id, force=False)
            removed += 1
        except APIError as error:
            if error.status_code != 409:  # noqa: PLR2004 Conflict: a container uses it
                raise
    layers = list((cache / "layers").glob("*.tar"))
    for layer in layers:
        layer.with_suffix(".sha256").unlink(missing_ok=True)
        layer.unlink()
    return removed, len(layers)
