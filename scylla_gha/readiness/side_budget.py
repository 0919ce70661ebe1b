"""Budget of a measurement, which grows with its sides: the code, another commit, and changed copies of the code."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.errors import RefusedError
from scylla_gha.model.plan import CostRange
from scylla_gha.readiness.score import FEWEST_ANCHORS

SIDE_USD: Final = 1.0  # default budget of a side
_NAMES: Final = {"": "the code", "head": "--head"}


@dataclass(frozen=True, slots=True)
class SideBudget:
    """Budget of all sessions of a run.

    Attributes:
        chosen: budget that the user gave in USD; None: the default of each side.
        sides: names of the sides, as in the suite.
        anchors: wanted for each dimension on each side.
    """

    chosen: float | None
    sides: Sequence[str]
    anchors: int

    @property
    def usd(self) -> float:
        """Most that all sessions may cost together."""
        return SIDE_USD * len(self.sides) if self.chosen is None else self.chosen

    def line(self, cost: CostRange) -> str:
        """Return the likely cost of the sessions that are due, and the budget."""
        names = ", ".join(_NAMES.get(side, side) for side in self.sides)
        sides = f"{counted(len(self.sides), 'side')} ({names})"
        rule = "" if self.chosen is not None else f", {dollars(SIDE_USD)} a side"
        likely = (
            "of unknown cost" if cost.likely is None else f"likely {dollars(cost.likely)} (up to {dollars(cost.high)})"
        )
        return f"budget {dollars(self.usd)}{rule}; {sides} with up to {self.anchors} anchors a dimension: {likely}"

    def require(self, cost: CostRange) -> None:
        """Refuse sessions that are likely to cost more than the budget, and say what it buys.

        Raises:
            RefusedError: they are.
        """
        likely = cost.likely
        if likely is None or likely <= self.usd:
            return
        affordable = math.floor(self.anchors * self.usd / likely)
        least = likely * FEWEST_ANCHORS / self.anchors
        about = dollars(float(_upward(least)))
        fewest = f"{FEWEST_ANCHORS} anchors, the fewest, cost about {about}; fewer --dimensions cost less"
        buys = f"--anchors {affordable} fits" if affordable >= FEWEST_ANCHORS else fewest
        sides = f"{counted(len(self.sides), 'side')} with up to {self.anchors} anchors a dimension"
        raise RefusedError(f"{sides}: the likely cost, {dollars(likely)}, is above the budget of {dollars(self.usd)}; "
                           f"give --budget {_upward(likely)}, or: {buys}")  # fmt: skip


def _upward(usd: float) -> str:
    """Return an amount with two figures that is not below it."""
    digits = max(0, 1 - math.floor(math.log10(usd)))
    return f"{math.ceil(usd * 10**digits) / 10**digits:.{digits}f}"
