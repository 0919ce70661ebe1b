"""Safety net of an attempt: the tools whose calls are judged, and what was judged."""

from typing import Literal

from pydantic import Field

from scylla_gha.model import Record, Text


class GuardedTool(Record):
    """Tool whose calls the safety net judges, by the argument that it judges.

    A tool without such an argument runs commands in a form that cannot be read, such as a program.
    """

    runs: Text | None = Field(default=None, description="Argument with a shell command: a text, or a list of words")
    reads: Text | None = Field(default=None, description="Argument with the path of a file that is read")
    writes: Text | None = Field(default=None, description="Argument with the path of a file that is changed")
    patches: Text | None = Field(default=None, description="Argument with a patch in the form `*** Update File: PATH`")
    folder: Text | None = Field(default=None, description="Argument with the folder in which the command runs")

    @property
    def argument(self) -> str | None:
        """The argument that is judged; None: the tool's calls cannot be read."""
        return self.runs or self.reads or self.writes or self.patches


class BlockedCall(Record):
    """Call that the safety net blocked: the rule, and the command or path, cut at 300 characters."""

    rule: str
    tool: str
    command: str


class SafetyNetSummary(Record):
    """Calls that the safety net judged in an attempt.

    `by` tells how: a hook of the agent CLI before each call, or the gateway in each answer of the model. `none`: the
    safety net was asked for, and there is no way for this agent CLI.
    """

    by: Literal["hook", "gateway", "none"] = "hook"
    calls: int = Field(
        default=0, description="Number of tool calls that the safety net judged, those of sub-agents included"
    )
    blocked: tuple[BlockedCall, ...] = ()
    unread: int = Field(
        default=0,
        description="Number of calls allowed although the safety net could not read them completely, or had a fault",
    )
    unguarded: int = Field(
        default=0,
        description="Number of calls that ran without an event of the safety net's hook, as far as known",
    )
    unseen: int = Field(
        default=0, description="Number of calls that run commands in a form that the gateway cannot read"
    )

    @property
    def blocked_calls(self) -> int | None:
        """Number of blocked calls; None: unknown, since some calls could not be read, and none was blocked."""
        is_unknown = self.by == "none" or (self.unseen and not self.blocked)
        return None if is_unknown else len(self.blocked)

    def plus(self, other: "SafetyNetSummary") -> "SafetyNetSummary":
        """Return the sum of two summaries of the same kind."""
        counts = {name: getattr(self, name) + getattr(other, name) for name in ("calls", "unread", "unseen")}
        return self.model_copy(update={**counts, "blocked": (*self.blocked, *other.blocked)})
