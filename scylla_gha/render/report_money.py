"""What a pass takes, where tokens go, and the least that a pass costs."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.model.analysis import Frontier
from scylla_gha.render.columns import Column, above_zero, columns
from scylla_gha.render.grid import escape, table
from scylla_gha.render.metrics import estimate, value
from scylla_gha.render.page import Page
from scylla_gha.render.text import percent, usd

_MOST_NAMED: Final = 8
_PER_PASS: Final[tuple[Column, ...]] = (
    ("USD", "cost_of_pass"), ("tokens", "tokens_per_pass"), ("time", "seconds_per_pass"),
    ("USD per point of score", "usd_per_score"),
)  # fmt: skip
_TOKENS: Final[tuple[Column, ...]] = (
    ("input", "input_tokens_share"), ("output", "output_tokens_share"), ("read from cache", "cache_read_tokens_share"),
    ("written to cache", "cache_write_tokens_share"), ("cache hits", "cache_hit_rate"),
)  # fmt: skip
_REQUESTS: Final[tuple[Column, ...]] = (
    ("system prompt", "system_prompt_share"), ("tool schemas", "tool_schemas_share"),
    ("tool input", "tool_input_share"), ("tool output", "tool_output_share"), ("conversation", "conversation_share"),
)  # fmt: skip


def money(page: Page) -> Iterator[str]:
    """Only where something was paid, or tokens were used."""
    if not above_zero(page, "usd") and not above_zero(page, "tokens"):
        return
    yield "\n## What a pass takes\n"
    yield "Failed trials are paid for as well: each number is the mean per trial over the pass rate."
    yield from columns(page, _PER_PASS)
    yield from _side(page)
    yield from _frontier(page)
    yield "Where tokens go, as shares of all tokens; a cache hit is input that was read from the cache:"
    yield from columns(page, _TOKENS, value)
    requests = list(columns(page, _REQUESTS, value))
    if requests:
        yield "What requests consist of, as shares of their characters:"
        yield from requests


def _side(page: Page) -> Iterator[str]:
    """What arms paid for other models than their own: of sub-agents, and those that the CLI asks for by itself."""
    for arm in page.arms:
        if arm.side_requests:
            yield (f"- **{escape(page.name(arm.arm))}**: {arm.side_requests:,} requests, {usd(arm.side_usd)} of its "
                   f"{usd(arm.usd)}, went to other models than its own.")  # fmt: skip


def _frontier(page: Page) -> Iterator[str]:
    found = page.analysis.frontier if page.analysis else None
    if found is None:
        return
    scenarios = "1 scenario" if found.pooled.scenarios == 1 else f"{found.pooled.scenarios} scenarios"
    note = f"; {found.pooled.note}" if found.pooled.note else ""
    yield (f"- **The cheapest arm's pass** costs {escape(estimate(found.pooled))}: {_named(page, found.best)}. Over "
           f"the {scenarios} that all arms tried{note}. The least of several looks cheaper than it is: measure it anew "
           "before you rely on it.")  # fmt: skip
    yield (f"- **Each scenario by its own cheapest arm**: {value(found.per_scenario)}, the mean over scenarios"
           f"{_human(found)}. A mean of ratios is not the ratio of means above, and can be the larger.")  # fmt: skip
    if found.pareto:
        yield f"- **No other arm is both cheaper and better** than: {_named(page, found.pareto)}."
    shares = sorted(((arm, part) for arm, part in found.shares.items() if part > 0), key=lambda each: -each[1])
    if len(shares) > 1:
        yield "\nHow often each arm would be the cheapest, were other scenarios drawn:"
        yield from table(
            ("arm", "cheapest in"), ((page.name(arm), percent(part)) for arm, part in shares[:_MOST_NAMED])
        )


def _human(found: Frontier) -> str:
    unsolved = f"; of {found.unsolved}, no arm passed any, nor is a person's price known" if found.unsolved else ""
    who = f"a person's price is known of {found.human}" if found.human else "no person's price is known"
    return f" ({who}{unsolved})"


def _named(page: Page, arms: tuple[str, ...]) -> str:
    said = ", ".join(escape(page.name(arm)) for arm in arms[:_MOST_NAMED])
    return (said or "none") + (f" and {len(arms) - _MOST_NAMED:,} more" if len(arms) > _MOST_NAMED else "")
