"""Build the section on the use of declared skills, MCP servers and sub-agents, by arm and resource."""

from typing import Final

from scylla_gha.model.analysis import UsedEffect
from scylla_gha.model.report import ResourceUse
from scylla_gha.report.document import (
    UNDEFINED,
    Columns,
    Section,
    Table,
    number,
    percent,
    section,
    table_after,
    table_of,
)
from scylla_gha.report.metrics import metric_table, title, unit
from scylla_gha.report.view import ReportView

TITLE: Final = "Use of the treatment"
_UPTAKE: Final = (("trials that used it", "uptake"), ("turn of the first use", "first_use"))
_MOST_ROWS: Final = 60


def uptake(view: ReportView) -> Section:
    """Return the section on how often trials used what their arm declares; open if a resource was never used."""
    table = resource_table(view)
    if not table.rows:
        return section(TITLE)
    words = (
        "Trials that used at least one of the arm's skills, MCP servers or sub-agents. Rates and verdicts cover all "
        "trials, with or without a use."
    )
    where_used = (
        "Effect where used: the difference over all trials, divided by the difference of the shares of trials with a "
        "use. This assumes that an unused treatment changes nothing:"
    )
    return section(
        TITLE,
        *table_after(words, metric_table(view, _UPTAKE)),
        *table_after(where_used, used_effects(view)),
        *table_after("Each resource, over the judged trials whose uses are known:", table),
        is_news=any(not use.used for arm in view.report.arms for use in arm.uses),
    )


def resource_table(view: ReportView) -> Table:
    """Return the uses of each declared resource, by arm."""
    uses = [(arm.arm, use) for arm in view.arms for use in arm.uses]
    rows = [(view.name(arm), *_resource_row(use)) for arm, use in uses[:_MOST_ROWS]]
    headings = ("arm", "resource", "used in", "of trials", "uses per trial", "only read in", "calls refused")
    return Table(headings, rows, max(0, len(uses) - _MOST_ROWS), "resource")


def used_effects(view: ReportView) -> Table:
    """Return the effects of arms in trials that used the treatment; known only with enough scenarios and uses."""
    columns: Columns[UsedEffect] = {
        "comparison": lambda effect: f"{view.name(effect.arm)} against {view.name(effect.baseline)}",
        "metric": lambda effect: title(effect.metric),
        "effect where used": lambda effect: f"{unit(effect.metric).step(effect.value)}{unit(effect.metric).step_unit}",
        "95 %": lambda effect: f"[{unit(effect.metric).step(effect.low)}, {unit(effect.metric).step(effect.high)}]",
        "more trials with a use": lambda effect: percent(effect.uptake),
        "scenarios": lambda effect: str(effect.scenarios),
    }
    return table_of(view.analysis.used_effects if view.analysis else (), columns, _MOST_ROWS)


def _resource_row(use: ResourceUse) -> tuple[str, ...]:
    by_prompt = f", {use.by_prompt} by the prompt" if use.by_prompt else ""
    read = str(use.read) if use.resource.startswith("skill/") else UNDEFINED
    share = percent(use.used / use.trials)
    return (
        use.resource,
        f"{use.used} ({share}{by_prompt})",
        str(use.trials),
        number(use.uses / use.trials),
        read,
        str(use.refused),
    )


def uptake_line(view: ReportView) -> str:
    """Return in one line how many of each arm's resources were used in any trial; empty if no arm declares any."""
    arms = [arm for arm in view.arms if arm.uses]
    parts = [f"{view.name(arm.arm)} {sum(use.used > 0 for use in arm.uses)} of {len(arm.uses)}" for arm in arms]
    return f"skills, MCP servers and sub-agents used in any trial: {', '.join(parts)}" if parts else ""
