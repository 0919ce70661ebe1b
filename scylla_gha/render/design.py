"""Designs as text: what scenarios x repetitions can see, and what they cost."""

from collections.abc import Iterator

from scylla_gha.model.design import Design, Power
from scylla_gha.render.plain_table import columns
from scylla_gha.render.text import number, plain, usd

_HEADINGS = ("scenarios", "repetitions", "smallest effect", "trials", "USD", "minutes", "")


def told(made: Power) -> str:
    """The variances, the table, and which design is the cheapest."""
    return "\n".join(_lines(made))


def _lines(made: Power) -> Iterator[str]:
    comparisons = "1 comparison" if made.comparisons == 1 else f"{made.comparisons} comparisons"
    yield plain(f"{made.experiment}: {made.arms} arms, {comparisons} with the baseline; by {made.basis}")
    for one in made.variances:
        yield plain(f"  {one.arm}: w^2 {one.between:.4f} between scenarios, s^2 {one.within:.4f} within "
                    f"(baseline {one.within_baseline:.4f}), over {one.scenarios} scenarios")  # fmt: skip
    yield from columns(_HEADINGS, [_row(one, made) for one in made.designs])
    yield "smallest effect: the difference of pass rates that is seen 4 times of 5; none: no difference would be"
    yield "minutes: of agents, one trial after the other; USD at the pilot's costs, judges included; ? and -: not known"
    yield _best(made)
    yield made.at_hand


def _best(made: Power) -> str:
    points, one = f"{100 * made.effect:g} points", made.cheapest
    if one is None:
        return f"no design of this table sees {points}"
    return (f"{_mark(one)} to see {points}: {one.scenarios} scenarios x {one.repetitions} repetitions, "
            f"{one.trials} trials")  # fmt: skip


def _mark(one: Design) -> str:
    return "cheapest" if one.usd else "fewest trials"


def _row(one: Design, made: Power) -> tuple[str, ...]:
    effect = "none" if one.smallest_effect is None else f"{100 * one.smallest_effect:.1f} points"
    seen = f"<- {_mark(one)}" if one == made.cheapest else "sees it" if one.sees else ""
    counts = str(one.scenarios), str(one.repetitions), effect, str(one.trials)
    return (*counts, usd(one.usd), number(one.minutes, 1), seen)
