"""Help of a skill: what each trial of an eval met, and the comparison with no skill and with its last version."""

from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.analysis import Ruling, Verdict
from scylla_gha.model.judgment import Fraction

HELP_FILE: Final = "help.json"
SkillArm = Literal["with", "without", "base"]
AssertionGroup = Literal["tells apart", "holds less", "always holds", "never holds", "no difference", "not judged"]


class EvalTrial(Record):
    """One judged trial of an eval."""

    eval: str = Field(description="Id of the eval")
    arm: SkillArm
    items: dict[str, Fraction | None] = Field(description="Value of each assertion by its id; null: not judged")
    votes: dict[str, tuple[Fraction | None, ...]] = Field(default={}, description="Value by each judge, by assertion")
    usd: float | None = None
    seconds: float | None = None
    tokens: int | None = None
    used: bool | None = Field(default=None, description="True if the skill was used; null: unknown, or not installed")


class AssertionText(Record):
    """An assertion, as the author wrote it."""

    eval: str
    id: str
    text: str
    by_code: bool
    about_skill: bool = False


class AssertionResult(Record):
    """Counts of an assertion in each arm, and the difference from the arm that it is compared with."""

    assertion: AssertionText
    against: Literal["none", "base"] | None = Field(
        default=None, description="What the difference and the group are about; null: there is only one arm"
    )
    counts: dict[SkillArm, tuple[int, int]] = Field(description="Trials in which it held, and judged trials, by arm")
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    alpha: float | None = Field(
        default=None, description="Krippendorff's alpha of the judges; null: by code, or all values are equal"
    )
    group: AssertionGroup
    is_unclear: bool = Field(default=False, description="True if the judges disagree, so that it should be reworded")


class HereClaim(Record):
    """Difference on these evals alone: repetitions are the random units."""

    verdict: Verdict
    value: float
    low: float
    high: float
    p: float
    least_p: float
    evals: int
    why: str


class Ratio(Record):
    """Ratio of the skill's arm to the other one, geometric mean over evals, with its 95 % interval."""

    value: float
    low: float | None = None
    high: float | None = None


class WhereUsed(Record):
    """Difference divided by the difference in uptake, with Fieller's interval: the effect where the skill was used."""

    value: float
    low: float
    high: float


class HelpContrast(Record):
    """Comparison of the skill with no skill, or with its last version."""

    against: Literal["none", "base"]
    trials: Annotated[int, Field(description="Number of judged trials of both arms")]
    here: HereClaim | None = Field(default=None, description="Null: no eval has three judged trials of both")
    no_claim: str = Field(default="", description="Reason why there is no claim on these evals; empty: there is one")
    informative: HereClaim | None = Field(
        default=None, description="The same without assertions that always or never held; null: they all tell apart"
    )
    other_work: HereClaim | None = Field(
        default=None, description="Difference on the evals that should not trigger the skill; null: too few trials"
    )
    alike: Ruling | None = Field(default=None, description="On tasks like these; null: too few evals")
    too_few: str = Field(default="", description="What would suffice for a claim on tasks like these; empty: enough")
    all_hold: HereClaim | None = Field(default=None, description="Difference of trials in which all assertions held")
    where_used: WhereUsed | None = Field(default=None, description="Null: not shown, as its conditions do not hold")
    ratios: dict[str, Ratio] = Field(default={}, description="Ratio of usd, seconds and tokens")


class ArmTotals(Record):
    """Figures of one arm, means over evals; null: unknown."""

    arm: SkillArm
    trials: int
    share: float | None = Field(description="Share of assertions that hold, without those about the skill itself")
    all_hold: float | None
    usd: float | None
    seconds: float | None
    tokens: float | None
    uptake: float | None = Field(default=None, description="Share of trials that used the skill")
    uptake_low: float | None = None
    uptake_high: float | None = None


class SkillHelp(Record):
    """Answer for one skill: does it help, and at what cost?"""

    schema_version: int = 1
    skill: str
    agent: str
    model: str
    evals: int
    planned: int = Field(description="Number of planned trials")
    arms: tuple[ArmTotals, ...]
    contrasts: tuple[HelpContrast, ...]
    assertions: tuple[AssertionResult, ...]
    notes: tuple[str, ...] = ()
