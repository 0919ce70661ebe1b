"""Equal arms as text: how often a verdict is false where there is nothing to find."""

from collections.abc import Iterator

from scylla_gha.model.equal_arms import EqualArm, EqualArms, Shares
from scylla_gha.render.plain_table import columns, share
from scylla_gha.render.text import plain

_HEADINGS = ("arm", "scenarios", "repetitions", "as run", "halves", "false", "95 % interval", "equivalent", "flips")


def told(made: EqualArms) -> str:
    """A table, a line for each arm, and what it means."""
    return "\n".join(_lines(made))


def _lines(made: EqualArms) -> Iterator[str]:
    yield plain(f"{made.experiment}: each arm against itself; whatever a verdict finds is false")
    if made.over_all is not None:
        rows = [_row(one) for one in made.arms]
        yield from columns(_HEADINGS, [*rows, ("all", "", "", "", *_shares(made.over_all))])
        yield "as run: odd against even repetitions; halves: random ones; false: better or worse"
        yield "flips: the chance that two verdicts on random halves differ"
        yield (f"each p is multiplied by {made.family}, the comparisons of the experiment; "
               f"the margin is {100 * made.margin:g} points")  # fmt: skip
    for one in made.arms:
        if one.as_run in {"better", "worse"}:
            yield plain(f"{one.arm}: odd repetitions came out {one.as_run} than even ones: {one.why}; "
                        "by chance, or something changed while it ran")  # fmt: skip
    for arm in made.left_out:
        yield plain(f"{arm}: left out, since no scenario has two judged repetitions")
    yield f"meaning: {made.meaning}"


def _row(one: EqualArm) -> tuple[str, ...]:
    fewest, most = one.repetitions
    repetitions = str(most) if fewest == most else f"{fewest} to {most}"
    return (one.arm, str(one.scenarios), repetitions, one.as_run, *_shares(one.resampled))


def _shares(found: Shares) -> tuple[str, ...]:
    return (str(found.verdicts), share(found.false_share), f"{100 * found.low:.1f} to {100 * found.high:.1f} %",
            share(found.equivalent_share), share(found.flip_rate))  # fmt: skip
