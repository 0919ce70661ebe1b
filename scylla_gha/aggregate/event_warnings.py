"""Warnings about what happened in an arm's trials: calls of tools, lists in the first request, refused hosts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.aggregate.row_counts import CountedRows, RowCounts
from scylla_gha.counting import counted
from scylla_gha.model.report import ArmSummary

_COVERAGE: Final = {
    "hook": "the safety net is a hook of the CLI, which sees each call",
    "gateway": "the safety net is the gateway, which sees the calls in answers of the model",
    "none": "there is no safety net for this CLI: destructive commands were neither blocked nor counted",
}


def event_warnings(arms: Sequence[ArmSummary], row_counts: RowCounts) -> Iterator[str]:
    """Yield warnings about the safety net, lists by name only, and refused hosts."""
    yield from _coverage_warnings(row_counts)
    for arm in arms:
        rows = row_counts.arm(arm.arm)
        trials = counted(len(rows), "trial")
        yield from _safety_net_warnings(arm.arm, rows)
        if short_skills := rows.above_zero("short_skills"):
            yield (
                f"{arm.arm}: up to {counted(max(short_skills), 'skill')} of its treatment stood in the first "
                f"request by name only, or with a cut description, in {len(short_skills)} of "
                f"{trials}: the CLI has no room for more, and the agent may not know "
                "what these skills are for."
            )
        if deferred := rows.above_zero("deferred_tools"):
            yield (
                f"{arm.arm}: up to {counted(max(deferred), 'tool')} stood in the first request by name "
                f"only, in {len(deferred)} of {trials}: the CLI loads their "
                f"definitions when the agent searches for them, as it did in {_loading(rows)}."
            )
        if refused := rows.above_zero("network_refused"):
            yield (
                f"{arm.arm}: refused {counted(sum(refused), 'attempt')} to reach hosts that its tasks may "
                f"not reach, in {len(refused)} of {trials}."
            )


def _loading(rows: CountedRows) -> int:
    """Return the number of trials that loaded definitions of tools listed by name only."""
    return sum(
        deferred > 0 and loaded > 0
        for deferred, loaded in zip(rows.values("deferred_tools"), rows.values("loaded_tools"), strict=True)
    )


def _coverage_warnings(row_counts: RowCounts) -> Iterator[str]:
    """Say how the safety net judged calls, unless a hook did so in all arms."""
    arms_by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for arm, texts in sorted(row_counts.texts.items()):
        for kind in texts.safety_nets:
            arms_by_kind[kind].append(arm)
    if arms_by_kind.keys() - {"hook"}:
        for kind, arms in sorted(arms_by_kind.items()):
            yield f"{', '.join(arms)}: {_COVERAGE[kind]}."


def _safety_net_warnings(arm: str, rows: CountedRows) -> Iterator[str]:
    trials = counted(len(rows), "trial")
    if blocked := rows.above_zero("blocked_calls"):
        yield f"{arm}: the safety net blocked {counted(sum(blocked), 'call')}, in {len(blocked)} of {trials}."
    if unread := rows.above_zero("unread_calls"):
        yield f"{arm}: the safety net allowed {counted(sum(unread), 'call')} that it could not read completely."
    if unguarded := rows.above_zero("unguarded_calls"):
        yield (
            f"{arm}: {counted(sum(unguarded), 'call')} ran without a check by the safety net "
            f"in {len(unguarded)} of {trials}, which count."
        )
    if unseen := rows.above_zero("unseen_calls"):
        yield (
            f"{arm}: the safety net could not see the commands of {counted(sum(unseen), 'call')} in "
            f"{len(unseen)} of {trials}; how many of these it would have blocked is unknown."
        )
