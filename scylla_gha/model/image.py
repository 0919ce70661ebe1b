"""The recipe of an image's lowest layer."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.record import Record, Slug


class Recipe(Record):
    """A Debian system: its release, and the packages that it has beside the ones that every system must have."""

    id: Slug
    release: Annotated[Slug, Field(description="the name of a Debian release, e.g. bookworm")]
    packages: Annotated[tuple[str, ...], Field(min_length=1, description="what is installed; python3 has to be there")]
