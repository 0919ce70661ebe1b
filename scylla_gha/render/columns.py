"""A table of arms by metrics: columns and rows that would say nothing are left out."""

from collections.abc import Callable, Iterator, Sequence

from scylla_gha.model.analysis import Measure
from scylla_gha.render.grid import more, table
from scylla_gha.render.metrics import estimate
from scylla_gha.render.page import Page

Written = Callable[[Measure | None], str]
Column = tuple[str, str]  # its heading, and the metric


def columns(page: Page, wanted: Sequence[Column], written: Written = estimate) -> Iterator[str]:
    """One row per arm; nothing where no arm knows any of it.

    Args:
        page: where arms and measures are.
        wanted: the columns.
        written: how a measure is written; as it is, with its 95 % interval.
    """
    shown = [(heading, metric) for heading, metric in wanted if any(says(page, arm.arm, metric) for arm in page.arms)]
    rows = [arm.arm for arm in page.arms if any(says(page, arm.arm, metric) for _, metric in shown)]
    if not rows:
        return
    yield from table(
        ("arm", *(heading for heading, _ in shown)),
        ((page.name(arm), *(written(page.measure(arm, metric)) for _, metric in shown)) for arm in rows),
    )
    yield from more(page.left_out, "more arms")


def says(page: Page, arm: str, metric: str) -> bool:
    """There is a number to show, or it is infinite."""
    found = page.measure(arm, metric)
    return found is not None and found.state in {"known", "infinite"}


def above_zero(page: Page, metric: str) -> bool:
    """Some arm has any of it."""
    found = (page.measure(arm.arm, metric) for arm in page.arms)
    return any(_amount(one) > 0 for one in found)


def _amount(measure: Measure | None) -> float:
    return 0.0 if measure is None or measure.value is None else measure.value
