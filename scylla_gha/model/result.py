"""Result: one flat row per trial, the only input of the statistics."""

import datetime
from typing import Annotated

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.github_requests import CallCounts, GitHubServer
from scylla_gha.model.judgment import Fraction, Grade
from scylla_gha.model.sandbox import Files, Keys, Network
from scylla_gha.model.trial import Outcome


class Result(Record):
    """One line of `results.jsonl`. Null is unknown; every planned cell that left a trial has a row."""

    schema_version: int = 2
    experiment: str
    cell: str
    key: str
    epoch: str
    scenario: str
    category: str
    size: str
    difficulty: str
    arm: str
    agent: str
    agent_version: str | None
    model: str | None
    variant: str | None
    mode: Annotated[str | None, Field(description="toolset for GitHub; null: the task has no GitHub")] = None
    repetition: int
    started_at: datetime.datetime | None = None
    outcome: Outcome
    reason: str
    measures_agent: Annotated[bool, Field(description="false: excluded from rates, but counted")]
    judged: bool
    unjudged: Annotated[
        str | None,
        Field(
            description="why there is no verdict on an imported row; in rows of earlier versions, why judges who were "
            "reached gave none"
        ),
    ] = None
    judges_withheld: Annotated[
        int,
        Field(
            description="judges who were reached and gave no verdict on an item, which counts as not met",
            exclude_if=lambda judges: judges == 0,
        ),
    ] = 0
    judging: Annotated[
        str | None, Field(description="digest of what judged it, the trial left out; null: not judged, or not known")
    ] = None
    passed: Annotated[bool | None, Field(description="null where the trial does not measure the agent")]
    score: Fraction | None
    grade: Grade | None
    progress: Fraction | None
    threshold: Annotated[Fraction | None, Field(description="of the score, to pass")] = None
    points: Annotated[float | None, Field(ge=0, description="of all items that apply, without weights")] = None
    points_max: Annotated[float | None, Field(ge=0, description="that the same items are worth")] = None
    judge_scores: Annotated[
        dict[str, Fraction | None],
        Field(description="by judge: the score, had it alone judged the items for judgment; null: not all"),
    ] = {}
    items_na: Annotated[int, Field(description="items that were not scored")]
    items_unjudged: Annotated[int, Field(description="those of them that are for the judge panel")]
    checkpoints: Annotated[int | None, Field(description="that code verified; null: not judged")] = None
    checkpoints_passed: Annotated[int | None, Field(description="those of them that hold, guards included")] = None
    guards: Annotated[int | None, Field(description="checks of the scenario that hold on the base")] = None
    broken_guards: Annotated[int, Field(description="checks that held on the base and no longer do")]
    attempts: int | None
    excused_attempts: Annotated[
        dict[str, int], Field(description="those that do not measure the agent, by outcome")
    ] = {}
    excuse: Annotated[str | None, Field(description="the reason of the last of them; null: there was none")] = None
    seconds: Annotated[float | None, Field(description="wall time of the attempt that stands; null: imported without")]
    check_seconds: Annotated[float | None, Field(description="wall time of all checks; null: unknown")] = None
    first_byte_seconds: Annotated[float | None, Field(description="mean wait for an answer's first byte")] = None
    generation_seconds: Annotated[float | None, Field(description="from first bytes to last ones, summed")] = None
    tool_seconds: Annotated[float | None, Field(description="between answers and the next requests, summed")] = None
    usd: Annotated[float | None, Field(description="model cost of all attempts, the failed ones included")]
    side_requests: Annotated[
        int | None, Field(description="of all attempts, to other models than the arm's; null: unknown")
    ] = None
    side_usd: Annotated[float | None, Field(description="what they cost, a part of usd; null: unknown")] = None
    judge_usd: Annotated[float | None, Field(description="model cost of all judging, by any panel, at any time")]
    unadjusted: Annotated[str, Field(description="configured settings that requests of the agent went without")] = ""
    judge_unadjusted: Annotated[str, Field(description="and requests of the panel")] = ""
    replayed: Annotated[bool, Field(description="answers of a recording: USD were not spent for this row")] = False
    subscription: Annotated[bool, Field(description="USD are list prices of what a subscription paid for")] = False
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    total_tokens: Annotated[int | None, Field(description="of all kinds, of a row that does not tell them apart")] = (
        None
    )
    characters: Annotated[dict[str, int], Field(description="of all requests of the agent, by component")] = {}
    requests: int | None = None
    repeated_requests: Annotated[int | None, Field(description="those of them that followed a failed one")] = None
    human_usd: Annotated[float | None, Field(description="what a person's solution of the scenario costs")] = None
    turns: int | None
    tool_calls: int | None
    tools: Annotated[dict[str, int], Field(description="tool calls by the tool's name")] = {}
    failed_tool_calls: int | None
    blocked_calls: Annotated[int | None, Field(description="by the safety net; null: there was none")]
    unread_calls: Annotated[int | None, Field(description="that the safety net allowed without reading them whole")]
    unguarded_calls: Annotated[
        int | None, Field(description="that ran without an event of the safety net's hook; null: there was none")
    ] = None
    network_refused: Annotated[
        int | None, Field(description="attempts at hosts that it may not reach, seen by the proxy; null: none")
    ] = None
    delivered: Annotated[bool | None, Field(description="its treatment was proved; null: there was none to prove")]
    delivery_unverified: Annotated[str | None, Field(description="what of it no source tells")]
    treatment_tokens: Annotated[
        dict[str, int],
        Field(
            description="of its first request by part, estimated from characters: prompt, skills, agents, mcp, tools"
        ),
    ] = {}
    short_skills: Annotated[
        int | None, Field(description="declared skills listed by name only or cut; null: no proof of delivery")
    ] = None
    deferred_tools: Annotated[
        int | None, Field(description="tools that the first request listed by name only; null: no proof of delivery")
    ] = None
    loaded_tools: Annotated[
        int | None, Field(description="deferred tools whose definitions a later request held; null: no proof")
    ] = None
    files_changed: int | None
    lines_changed: int | None
    base_commit: str | None
    workspace_digest: str | None
    agent_files: Annotated[
        tuple[str, ...] | None,
        Field(description="files for agents that the workspace had at the start, such as CLAUDE.md; null: not stored"),
    ] = None
    sandbox: str
    network: Annotated[Network | None, Field(description="that the agent could reach; null: not stored")] = None
    keys: Annotated[Keys | None, Field(description="whether the agent could get hold of the provider's key")] = None
    files: Annotated[Files | None, Field(description="of this machine, beside its programs")] = None
    redactions: Annotated[int, Field(description="secrets that were taken out of what all attempts left")] = 0
    github: Annotated[
        GitHubServer | None,
        Field(description="whose GitHub it was, which is never mixed with the other; null: the task has none"),
    ] = None
    github_requests: Annotated[int | None, Field(description="of the attempt that stands, to that GitHub")] = None
    github_writes: Annotated[int | None, Field(description="changes there: of records and refs")] = None
    github_gaps: Annotated[
        int | None, Field(description="requests for what GitHub has and the hub has not; such a trial is marked")
    ] = None
    github_calls: Annotated[
        CallCounts, Field(description="API operations by category: pr.read, pr.write, issue.read, git.write, ...")
    ] = {}
    github_other_clients: Annotated[
        dict[str, int],
        Field(description="requests that are not by the mode's clients with their tokens, by the name in User-Agent"),
    ] = {}
    github_failed: Annotated[int | None, Field(description="API operations that were answered with an error")] = None
    github_repeated: Annotated[int | None, Field(description="API operations that had failed right before")] = None

    @property
    def changes(self) -> int | None:
        """Changed files, and changes on GitHub; None if the files are unknown."""
        return None if self.files_changed is None else self.files_changed + (self.github_writes or 0)

    @property
    def isolation(self) -> str:
        """The sandbox, with what it isolates as far as the row says so."""
        parts = [f"{name}: {value}" for name in ("network", "keys", "files") if (value := getattr(self, name))]
        return f"{self.sandbox} ({', '.join(parts)})" if parts else self.sandbox

    @property
    def failure(self) -> str:
        """Why a judged trial that did not pass failed, in words that several trials share."""
        if self.outcome is not Outcome.COMPLETED:
            return self.outcome.value
        if self.changes == 0:
            return "changed nothing"
        if self.broken_guards:
            return "broke what worked before"
        if self.score is not None and self.threshold is not None and self.score < self.threshold:
            return "score below the threshold"
        if self.threshold is None or self.attempts is None:  # not of this toolkit, of which a row has both
            return "its source does not say why"
        return "a required check does not hold"
