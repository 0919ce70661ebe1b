"""The section on uses of declared skills, MCP servers and sub-agents: what an arm had, and how often it used it."""

from typing import Final

from scylla_gha.model.report import ResourceUse
from scylla_gha.report.document import UNDEFINED, Section, Table, introduced, number, percent, section
from scylla_gha.report.metrics import metric_table
from scylla_gha.report.view import ReportView

TITLE: Final = "Use of the treatment"
_UPTAKE: Final = (("trials that used it", "uptake"), ("turn of the first use", "first_use"))
_MOST_ROWS: Final = 60


def uptake(view: ReportView) -> Section:
    """Return how many trials used what their arm declares, in all and by resource; news if something was never used."""
    table = resource_table(view)
    if not table.rows:
        return section(TITLE)
    words = (
        "Trials that used at least one of the arm's skills, MCP servers or sub-agents. Rates and verdicts are over all "
        "trials, used or not."
    )
    return section(
        TITLE,
        *introduced(words, metric_table(view, _UPTAKE)),
        *introduced("Each resource, over the judged trials whose uses are known:", table),
        is_news=any(not use.used for arm in view.report.arms for use in arm.uses),
    )


def resource_table(view: ReportView) -> Table:
    """Return the uses of each declared resource, by arm."""
    uses = [(arm.arm, use) for arm in view.arms for use in arm.uses]
    rows = [(view.name(arm), *_resource_row(use)) for arm, use in uses[:_MOST_ROWS]]
    headings = ("arm", "resource", "used in", "of trials", "uses per trial", "only read in", "calls refused")
    return Table(headings, rows, max(0, len(uses) - _MOST_ROWS), "resource")


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
    """Return in one line how many resources of each arm some trial used; empty if no arm declares one."""
    arms = [arm for arm in view.arms if arm.uses]
    parts = [f"{view.name(arm.arm)} {sum(use.used > 0 for use in arm.uses)} of {len(arm.uses)}" for arm in arms]
    return f"skills, MCP servers and sub-agents that some trial used: {', '.join(parts)}" if parts else ""
