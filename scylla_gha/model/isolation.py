"""What a sandbox gives: how much of the network, of the harness's keys and of this machine's files is in reach."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.record import Record

Network = Literal["open", "gateway", "provider", "none"]
Keys = Literal["exposed", "hidden"]
Files = Literal["open", "own"]


class Isolation(Record):
    """Said in every trial, so that nobody has to guess it from a sandbox's name."""

    network: Annotated[
        Network,
        Field(description="open: all of it; gateway: models alone, by a socket; provider: and what tools that the "
                          "provider runs can reach; none"),
    ]  # fmt: skip
    keys: Annotated[Keys, Field(description="exposed: processes that hold the provider's key can be looked into")]
    files: Annotated[Files, Field(description="open: all that this user may read or write; own: the trial's")]
