"""The rubric: weighted categories of items, each scored by code or by the judge panel."""

from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model.record import Record, Text

PASS_THRESHOLD: Final = 0.60  # the paper's default: grade B
WEIGHT_TOLERANCE: Final = 1e-9


class Item(Record):
    """One thing to score. With `checks` code scores it; without, the judge panel does."""

    id: Annotated[str, Field(pattern=r"^[A-Z][0-9]+$", description="letter of the category and a number, such as F1")]
    text: Annotated[Text, Field(description="what earns the points")]
    type: Annotated[
        Literal["binary", "graduated", "subjective"],
        Field(description="binary: all or nothing; graduated: mean of the checks' fractions; subjective: a judgment"),
    ]
    points: Annotated[float, Field(gt=0, description="what the item is worth within its category")] = 1.0
    checks: Annotated[tuple[str, ...], Field(description="checkpoints that decide it; none: the judge panel does")] = ()
    applies_if: Annotated[str | None, Field(description="a checkpoint; where it does not hold, the item is N/A")] = None


class Category(Record):
    """A weighted group of items."""

    id: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    weight: Annotated[float, Field(gt=0, le=1)]
    items: Annotated[tuple[Item, ...], Field(min_length=1)]


class Rubric(Record):
    """How a trial of one scenario is scored; weights of the categories sum to 1."""

    pass_threshold: Annotated[float, Field(gt=0, le=1)] = PASS_THRESHOLD
    categories: Annotated[tuple[Category, ...], Field(min_length=1)]

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, in the order of the categories."""
        return tuple(item for category in self.categories for item in category.items)
