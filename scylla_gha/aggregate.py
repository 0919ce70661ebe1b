"""aggregate: rows become the report. Nothing is printed that was not computed here from the rows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import scylla_gha
from scylla_gha.judges.probes import control_warnings
from scylla_gha.model.plan import Plan, Unstarted
from scylla_gha.model.probe import Probe
from scylla_gha.model.report import ArmSummary, Comparison, Counts, Excluded, Report, ScenarioRow
from scylla_gha.model.result import Result
from scylla_gha.stats.proportion import cost_per_success, wilson

_SMALL_N: Final = 10
_EXCLUDED_SHARE: Final = 0.05
_GRADES: Final = ("S", "A", "B", "C", "D", "F")


def aggregate(
    plan: Plan, rows: Iterable[Result], probes: Iterable[Probe] = (), unstarted: Unstarted | None = None
) -> Report:
    """Summarise the rows of a plan; rows of other cells or keys, and second ones, are left out and warned of.

    Args:
        plan: what was to be run.
        rows: of its trials.
        probes: what the controls of judges found.
        unstarted: why cells have no row that a run chose not to start.
    """
    controls = list(probes)
    planned = {cell.id: cell for cell in plan.cells}
    found: dict[str, Result] = {}
    strangers = 0
    for row in rows:
        if row.cell in planned and planned[row.cell].key == row.key and row.cell not in found:
            found[row.cell] = row
        else:
            strangers += 1
    mine = list(found.values())
    by_arm: dict[str, list[Result]] = defaultdict(list)
    for row in mine:
        by_arm[row.arm].append(row)
    expected = Counter(cell.arm for cell in plan.cells)
    arms = tuple(_summary(arm, expected[arm], by_arm[arm]) for arm in sorted(expected))
    return Report(
        experiment=plan.experiment.id,
        question=plan.experiment.question,
        toolkit_version=scylla_gha.__version__,
        counts=_counts(len(plan.cells), mine),
        arms=arms,
        scenarios=tuple(_scenarios(mine, sorted(expected))),
        comparisons=tuple(_comparisons(plan, arms)),
        excluded=tuple(_excluded(plan, mine, unstarted.cells if unstarted else {})),
        delivery=_delivery(mine),
        judge_usd=_total([*(row.judge_usd for row in mine), *(probe.usage.usd for probe in controls)]),
        warnings=(*_warnings(plan, arms, mine, strangers), *control_warnings(controls)),
        estimate=plan.estimate,
    )


def _counts(planned: int, rows: Sequence[Result]) -> Counts:
    return Counts(
        planned=planned,
        ran=len(rows),
        judged=sum(1 for row in rows if row.judged),
        scored=sum(1 for row in rows if row.score is not None),
    )


def _delivery(rows: Sequence[Result]) -> tuple[int, int] | None:
    """Trials whose treatment was proved, of those that had one."""
    told = [row.delivered for row in rows if row.delivered is not None]
    return (sum(told), len(told)) if told else None


def _summary(arm: str, planned: int, rows: Sequence[Result]) -> ArmSummary:
    judged = [row for row in rows if row.judged]
    passed = sum(1 for row in judged if row.passed)
    interval = wilson(passed, len(judged))
    usd = _total(row.usd for row in rows)
    grades = Counter(row.grade for row in judged if row.grade)
    parts = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    tokens = _total(getattr(row, part) for row in rows for part in parts)
    return ArmSummary(
        arm=arm,
        counts=_counts(planned, rows),
        passed=passed,
        pass_rate=passed / len(judged) if judged else None,
        pass_low=interval[0] if interval else None,
        pass_high=interval[1] if interval else None,
        mean_score=_mean(row.score for row in judged),
        mean_progress=_mean(row.progress for row in judged),
        grades={grade: grades[grade] for grade in _GRADES if grades[grade]},
        outcomes=dict(sorted(Counter(row.outcome.value for row in rows).items())),
        usd=usd,
        cost_of_pass=cost_per_success(usd, passed) if usd is not None else None,
        mean_seconds=_mean(row.seconds for row in rows if row.measures_agent),
        tokens=None if tokens is None else int(tokens),
    )


def _total(values: Iterable[float | None]) -> float | None:
    """The sum; None where one is unknown, or where there is none."""
    everything = list(values)
    known = [value for value in everything if value is not None]
    return sum(known) if known and len(known) == len(everything) else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _scenarios(rows: Sequence[Result], arms: Sequence[str]) -> Iterator[ScenarioRow]:
    cells: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {arm: [] for arm in arms})
    for row in rows:
        if row.judged:
            cells[row.scenario][row.arm].append(bool(row.passed))
    for scenario in sorted(cells):
        yield ScenarioRow(scenario=scenario, passed={a: (sum(v), len(v)) for a, v in cells[scenario].items()})


def _comparisons(plan: Plan, arms: Sequence[ArmSummary]) -> Iterator[Comparison]:
    """Until intervals of paired differences exist, no data is enough for a verdict."""
    baseline = plan.experiment.baseline
    why = "no interval of the paired difference is computed yet, and a verdict needs one"
    for arm in arms:
        if arm.arm != baseline:
            yield Comparison(arm=arm.arm, baseline=baseline, verdict="not_enough_data", why=why)


def _excluded(plan: Plan, rows: Sequence[Result], unstarted: Mapping[str, str]) -> Iterator[Excluded]:
    found = {row.cell: row for row in rows}
    for cell in plan.cells:
        row = found.get(cell.id)
        if row is None and cell.id in unstarted:
            yield Excluded(cell=cell.id, outcome="not_started", reason=unstarted[cell.id])
        elif row is None:
            yield Excluded(cell=cell.id, outcome="missing", reason="planned, and no trial is stored under its key")
        elif not row.measures_agent:
            yield Excluded(cell=cell.id, outcome=row.outcome, reason=row.reason)
        elif not row.judged:
            yield Excluded(cell=cell.id, outcome="unjudged", reason="it ran, and is not judged; run `scylla-gha judge`")


def _warnings(plan: Plan, arms: Sequence[ArmSummary], rows: Sequence[Result], strangers: int) -> Iterator[str]:
    for arm in arms:
        yield from _arm_warnings(arm)
    yield from _mixed(rows)
    yield from _settings(rows)
    if not plan.experiment.judges and any(row.items_unjudged for row in rows):
        yield ("No judge panel is configured: the items left to judgment are N/A, and the weights of the others are "
               "scaled up to 1.")  # fmt: skip
    if len({row.scenario for row in rows}) > 1:
        yield ("The intervals pool all trials of an arm as if they were independent: they are about these scenarios, "
               "not about scenarios like these.")  # fmt: skip
    yield from _isolation(rows)
    for name, unverified in sorted({(r.arm, r.delivery_unverified) for r in rows if r.delivery_unverified}):
        yield f"{name}: not all of its treatment could be verified: {unverified}."
    yield from _safety_net(arms, rows)
    yield from _network(arms, rows)
    if leaked := [row for row in rows if row.redactions]:
        yield (f"Secrets, or what looks like them, were taken out of what {len(leaked)} of {len(rows)} trials left, "
               f"at {sum(row.redactions for row in leaked)} places (`redactions` of a row): find out how they got "
               "there; where they stood in a diff, `[redacted]` was judged in their place.")  # fmt: skip
    if strangers:
        yield f"{strangers} rows belong to no planned cell (another plan, other keys, or given twice) and are left out."


def _isolation(rows: Sequence[Result]) -> Iterator[str]:
    """What sandboxes did not give to trials with a model, and that not all had the same one."""
    if len(boxes := {_box(row) for row in rows}) > 1:
        yield (f"Trials of different sandboxes are mixed: {'; '.join(sorted(boxes))}. A difference between arms may be "
               "one between sandboxes.")  # fmt: skip
    real = [row for row in rows if row.model]
    if any(row.sandbox == "host" for row in real):
        yield "Trials ran on the host itself: the network was open, and files of this user could be read."
    if exposed := sum(row.keys == "exposed" for row in real):
        yield (f"keys: exposed. In {exposed} of {len(real)} trials the agent could have read the keys that processes "
               "and files of this user hold.")  # fmt: skip


def _safety_net(arms: Sequence[ArmSummary], rows: Sequence[Result]) -> Iterator[str]:
    """What the safety net did to an arm: a blocked call may have cost a trial its success."""
    for arm in arms:
        mine = [row for row in rows if row.arm == arm.arm]
        blocked = [row.blocked_calls for row in mine if row.blocked_calls]
        unread = sum(row.unread_calls or 0 for row in mine)
        if blocked:
            yield f"{arm.arm}: the safety net blocked {sum(blocked)} calls, in {len(blocked)} of {len(mine)} trials."
        if unread:
            yield f"{arm.arm}: the safety net let {unread} calls pass that it could not read whole."


def _network(arms: Sequence[ArmSummary], rows: Sequence[Result]) -> Iterator[str]:
    """What an arm sought and did not get: it may have needed it, or have gone where it should not."""
    for arm in arms:
        mine = [row for row in rows if row.arm == arm.arm]
        refused = [row.network_refused for row in mine if row.network_refused]
        if refused:
            yield (f"{arm.arm}: {sum(refused)} attempts to reach hosts that its tasks may not reach were refused, "
                   f"in {len(refused)} of {len(mine)} trials.")  # fmt: skip


def _arm_warnings(arm: ArmSummary) -> Iterator[str]:
    counts = arm.counts
    if counts.judged < counts.planned:
        yield f"{arm.arm}: {counts.planned - counts.judged} of {counts.planned} planned cells are not in its rates."
    excluded = counts.ran - counts.judged
    if counts.ran and excluded / counts.ran > _EXCLUDED_SHARE:
        yield f"{arm.arm}: {excluded} of {counts.ran} trials are excluded; what is left may be a biased part."
    if 0 < counts.judged < _SMALL_N:
        yield f"{arm.arm}: only {counts.judged} judged trials; the interval is wide for that reason."
    if arm.usd is None and counts.ran:
        yield f"{arm.arm}: the cost of at least one trial is unknown, so its sums are."


def _settings(rows: Sequence[Result]) -> Iterator[str]:
    """Configured settings that did not reach a model, and USD that nobody was charged."""
    for what, kind in (("the agent", "unadjusted"), ("the panel", "judge_unadjusted")):
        without = Counter((row.arm, name) for row in rows for name in getattr(row, kind).split())
        for (arm, name), count in sorted(without.items()):
            yield (f"{arm}: in {count} trials, requests of {what} went without the configured {name}, which the model "
                   "does not take, or not while it thinks.")  # fmt: skip
    if any(row.subscription for row in rows):
        yield "billing: subscription. USD are list prices of the tokens used, and no bill."


def _mixed(rows: Sequence[Result]) -> Iterator[str]:
    """What should be one and the same within an arm or a scenario, and is not."""
    versions: dict[str, set[str]] = defaultdict(set)
    starts: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.agent_version:
            versions[row.arm].add(row.agent_version)
        if row.workspace_digest:
            starts[row.scenario].add(row.workspace_digest)
    for arm, found in sorted(versions.items()):
        if len(found) > 1:
            yield f"{arm}: trials of different agent versions are mixed: {', '.join(sorted(found))}."
    for scenario, digests in sorted(starts.items()):
        if len(digests) > 1:
            yield f"{scenario}: trials did not start from equal workspaces."


def _box(row: Result) -> str:
    """The sandbox, with what it gave."""
    gave = [f"{name}: {value}" for name in ("network", "keys", "files") if (value := getattr(row, name))]
    return f"{row.sandbox} ({', '.join(gave)})" if gave else row.sandbox
