"""What a trial is worth: verified conditions, scored items, and the score computed from them."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.panel import Flag, JudgeAnswer
from scylla_gha.model.record import Record, Seal, digest
from scylla_gha.model.trial import NO_USAGE, Trial, Usage

Grade = Literal["S", "A", "B", "C", "D", "F"]
Fraction = Annotated[float, Field(ge=0, le=1)]


class CheckResult(Record):
    """Whether a checkpoint holds, to which fraction, and what was seen."""

    id: str
    holds: bool
    value: Fraction
    evidence: str
    seconds: float = 0.0


class ItemScore(Record):
    """An item's value in 0..1, or None with the reason why it is N/A; of the panel, the consensus."""

    id: str
    category: str
    points: float
    value: Fraction | None
    by: Literal["check", "judge"]
    reason: str
    flags: tuple[Flag, ...] = ()


class CategoryScore(Record):
    """Points achieved of those that apply, and the weight after N/A categories left; None: all N/A."""

    id: str
    weight: float
    achieved: float
    maximum: float


class Score(Record):
    """The verdict on one trial, computed by code from items and checkpoints."""

    score: Fraction | None
    grade: Grade | None
    passed: bool
    why: Annotated[str, Field(description="the first reason for which it did not pass, or what it passed by")]
    progress: Annotated[Fraction | None, Field(description="weight of the expected steps that were achieved")]
    broken: Annotated[tuple[str, ...], Field(description="guards that held on the base and no longer do")] = ()


def judgment_key(trial: Trial, judging_digest: str, court_digest: str, image_digest: str | None = None) -> str:
    """Covers the trial, what it left, and all that judges it: by code, in an image or in none, and by a panel.

    The sandbox and its limits are those of the trial, whose key covers them.
    """
    diff = trial.last.diff
    parts = [trial.key, diff.sha256 if diff else None, judging_digest, court_digest]
    return digest(parts if image_digest is None else [*parts, image_digest])


def judging_digest(scenario: str, court: str, image: str | None = None) -> str:
    """Covers all that judges trials of a scenario, as `judgment_key` does, whichever trial it is.

    Args:
        scenario: digest of its checks, its rubric and its progress steps.
        court: digest of the panel; empty where there is none.
        image: digest of what the checks run in.
    """
    return digest([scenario, court, image])


class Judgment(Record):
    """One judgment of a trial; `key` covers the trial's key, checks, rubric and judges."""

    schema_version: int = 2
    cell: str
    key: str
    trial_key: str
    error: Annotated[str | None, Field(description="why it could not be judged; judging is tried again")] = None
    unjudged: Annotated[
        str | None, Field(description="judges were reached and gave no verdict, though asked again; this is final")
    ] = None
    checks: tuple[CheckResult, ...] = ()
    items: tuple[ItemScore, ...] = ()
    answers: Annotated[tuple[JudgeAnswer, ...], Field(description="each judge's own; empty: no panel was asked")] = ()
    usage: Annotated[Usage, Field(description="of the panel; what an agent cost stands in its trial")] = NO_USAGE
    unadjusted: Annotated[tuple[str, ...], Field(description="settings that some judges' requests went without")] = ()
    subscription: Annotated[bool, Field(description="USD are list prices of what a subscription paid for")] = False
    files: Annotated[dict[str, Seal], Field(description="the panel's requests, by name in the cell's folder")] = {}
    categories: tuple[CategoryScore, ...] = ()
    result: Annotated[Score | None, Field(description="also where a required check fails and judges gave no score")] = (
        None
    )
