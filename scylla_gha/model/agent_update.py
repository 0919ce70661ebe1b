"""Records of an agent CLI's sessions with a scripted model, and of the differences of its newest version."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.publication import Short


class SessionFacts(Record):
    """An agent CLI's sessions with a scripted model (`config/agent-sessions/AGENT-VERSION.yaml`)."""

    agent: str
    version: str
    events: dict[str, tuple[str, ...]] = Field(description="Fields of the transcript's events, by kind of event")
    models: dict[str, str] = Field(default={}, description="Model id that the CLI requests, by its short name")
    usd: dict[str, float] = Field(
        default={}, description="Cost in USD that the CLI reports for the same session, by model"
    )


class AgentDifference(Record):
    """A difference between a measured version and the stored one; `part` is its topic."""

    part: Short
    text: Annotated[str, Field(max_length=2_000)]


class AgentUpdate(Record):
    """The newest version of an agent CLI, and its differences from the stored version."""

    agent: Short
    version: Short
    stored: Short | None = Field(description="Version of the stored inventory; None: there is none")
    sub_tests: int = Field(default=0, ge=0, description="Number of sub-tests whose delivery was tried")
    differences: Annotated[tuple[AgentDifference, ...], Field(max_length=500)] = ()


class AgentUpdates(Record):
    """All agent CLIs that were measured, for the job that keeps the issue."""

    agents: Annotated[tuple[AgentUpdate, ...], Field(max_length=100)]
