"""Each job its part of a budget: jobs run on machines apart, and nobody could stop all of them together.

A part is what the shard's dearest cell may need at most (`limits.usd`: no cell is started that might not be paid), and
of what is left over so much as the shard's likely cost is of that of all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.errors import RefusedError

_LEAST: Final = 1e-6  # of a whole: a shard that is likely to cost nothing has a budget as well, and none is 0


@dataclass(frozen=True, slots=True)
class Claim:
    """What a shard may claim: what one of its cells may need at most, its likely cost (None: unknown), its cells."""

    need: float
    usd: float | None
    cells: int


def shares(field: str, budget: float | None, claims: Sequence[Claim]) -> list[float | None]:
    """The parts of a budget, which together are not above it; all None where there is none.

    Args:
        field: of the experiment, for the message.
        budget: in USD, without what is spent of it already.
        claims: of the shards, in their order.

    Raises:
        RefusedError: some shard could not start a single cell with its part.
    """
    if budget is None:
        return [None] * len(claims)
    needs = math.fsum(claim.need for claim in claims)
    rest = budget - needs
    if rest < 0 or budget <= 0:
        raise RefusedError(f"{field}: ${max(budget, 0):.2f} are for {len(claims)} jobs, each of which may need "
                           f"limits.usd for a single cell, ${needs:.2f} together, so some could start none; raise "
                           "--budget-usd, lower limits.usd, or plan fewer jobs (--most-shards)")  # fmt: skip
    weights = _weights(claims)
    whole = math.fsum(weights)
    return [claim.need + rest * weight / whole for claim, weight in zip(claims, weights, strict=True)]


def _weights(claims: Sequence[Claim]) -> list[float]:
    """By likely cost; by cells where that is unknown, or nothing is likely to cost anything."""
    known = [claim.usd for claim in claims if claim.usd is not None]
    total = math.fsum(known)
    if len(known) < len(claims) or total <= 0:
        return [float(claim.cells) for claim in claims]
    return [max(usd, _LEAST * total) for usd in known]
