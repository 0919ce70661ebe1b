"""aggregate: rows become the report. Nothing is printed that was not computed here from the rows."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import scylla_gha
from scylla_gha.counting import counted
from scylla_gha.excuses import warnings, withheld, without_verdicts
from scylla_gha.judges.probes import control_warnings
from scylla_gha.model.analysis import Analysis
from scylla_gha.model.intake import Intake
from scylla_gha.model.plan import Plan, Unstarted
from scylla_gha.model.probe import Probe
from scylla_gha.model.report import ArmSummary, Comparison, Counts, Excluded, Excused, Failure, Report, ScenarioRow
from scylla_gha.model.result import Result
from scylla_gha.plain_verdict import plain_verdict
from scylla_gha.stats.proportion import cost_per_success, wilson
from scylla_gha.tally import Tally

_SMALL_N: Final = 10
_EXCLUDED_SHARE: Final = 0.05
_GRADES: Final = ("S", "A", "B", "C", "D", "F")
_NO_TRIAL: Final = "planned, and no trial is stored under its key"
_REFUSALS: Final = 5  # that the report names
Analyse = Callable[[Iterable[Result]], Analysis]


def aggregate(
    plan: Plan,
    rows: Iterable[Result],
    probes: Iterable[Probe] = (),
    unstarted: Unstarted | None = None,
    analyse: Analyse | None = None,
    intake: Intake | None = None,
) -> Report:
    """Summarise the rows of a plan; rows of other cells or keys, and second ones, are left out and warned of.

    Args:
        plan: what was to be run.
        rows: of its trials; they are read once, one at a time.
        probes: what the controls of judges found.
        unstarted: why cells have no row that a run chose not to start.
        analyse: computes what needs more than counting; None: it is not installed.
        intake: what came of rows that other machines sent.
    """
    controls, tally = list(probes), Tally()
    mine = _counted(plan, rows, tally)
    analysis = analyse(mine) if analyse else None
    deque(mine, maxlen=0)  # what no analysis read
    expected = Counter(cell.arm for cell in plan.cells)
    arms = tuple(_summary(arm, expected[arm], tally, by_scenario=analysis is not None) for arm in sorted(expected))
    reasons = withheld(arms, plan.pairs)
    analysis = without_verdicts(analysis, reasons) if analysis else None
    return Report(
        experiment=plan.experiment.id,
        question=plan.experiment.question,
        toolkit_version=scylla_gha.__version__,
        counts=_total(len(plan.cells), tally),
        arms=arms,
        scenarios=tuple(_scenarios(tally, sorted(expected))),
        comparisons=tuple(_comparisons(plan, tally, analysis, reasons)),
        excluded=tuple(_excluded(plan, tally, unstarted.cells if unstarted else {}, intake)),
        delivery=(int(tally.delivered.total), tally.delivered.known) if tally.delivered.known else None,
        judge_usd=_judge_usd(tally, controls),
        excused=tuple(_excuses(tally)),
        failures=tuple(_failures(tally)),
        warnings=(
            *_refusals(intake),
            *_warnings(plan, arms, tally, analysed=analysis is not None),
            *control_warnings(controls),
            *(analysis.warnings if analysis else ()),
        ),
        estimate=plan.estimate,
        replayed=plan.replayed,
        analysis=analysis,
        imported=plan.imported is not None,
    )


def _judge_usd(tally: Tally, controls: Iterable[Probe]) -> float | None:
    for probe in controls:
        tally.judge_usd.add(probe.usage.usd)
    return tally.judge_usd.whole


def _counted(plan: Plan, rows: Iterable[Result], tally: Tally) -> Iterator[Result]:
    """The rows of the plan, each counted as it goes by."""
    keys = {cell.id: cell.key for cell in plan.cells}
    for row in rows:
        if keys.get(row.cell) == row.key and row.cell not in tally.seen:
            tally.add(row)
            yield row
        else:
            tally.strangers += 1


def _total(planned: int, tally: Tally) -> Counts:
    arms = tally.arms.values()
    return Counts(planned=planned, ran=sum(arm.ran for arm in arms), judged=sum(arm.judged for arm in arms),
                  scored=sum(arm.scored for arm in arms))  # fmt: skip


def _summary(arm: str, planned: int, tally: Tally, *, by_scenario: bool) -> ArmSummary:
    rows = tally.arms[arm]
    interval = wilson(rows.passed, rows.judged)
    tokens, paid = rows.tokens.whole, rows.judged_usd.whole
    return ArmSummary(
        arm=arm,
        counts=rows.counts(planned),
        passed=rows.passed,
        pass_rate=rows.passed / rows.judged if rows.judged else None,
        pass_low=interval[0] if interval else None,
        pass_high=interval[1] if interval else None,
        unjudged=rows.unjudged,
        pass_bounds=tally.bounds(arm, by_scenario=by_scenario),
        mean_score=rows.score.mean,
        mean_progress=rows.progress.mean,
        grades={grade: rows.grades[grade] for grade in _GRADES if rows.grades[grade]},
        outcomes=dict(sorted(rows.outcomes.items())),
        usd=rows.usd.whole,
        side_requests=rows.side_requests,
        side_usd=rows.side_usd.whole if rows.side_requests else 0.0,
        cost_of_pass=cost_per_success(paid, rows.passed) if paid is not None else None,
        mean_seconds=rows.seconds.mean,
        tokens=None if tokens is None else int(tokens),
    )


def _scenarios(tally: Tally, arms: Sequence[str]) -> Iterator[ScenarioRow]:
    for scenario, found in sorted(tally.passed.items()):
        cells = {arm: found.get(arm, [0, 0]) for arm in arms}
        yield ScenarioRow(scenario=scenario, passed={arm: (passed, n) for arm, (passed, n) in cells.items()})


def _comparisons(
    plan: Plan, tally: Tally, analysis: Analysis | None, reasons: Mapping[str, str]
) -> Iterator[Comparison]:
    """The verdicts: of the statistics, or the plain ones where they are not installed."""
    pairs = plan.pairs
    ruled = {ruling.arm: (ruling.verdict, ruling.why) for ruling in analysis.rulings} if analysis else {}
    for arm in sorted({cell.arm for cell in plan.cells} & pairs.keys()):
        baseline = pairs[arm]
        verdict, why = ruled.get(arm, ("not_enough_data", f"no cell of the baseline {baseline} is planned"))
        if analysis is None:
            verdict, why = plain_verdict(arm, baseline, tally.passed, len(pairs))
        if arm not in ruled and arm in reasons:
            verdict, why = "not_enough_data", reasons[arm]
        yield Comparison(arm=arm, baseline=baseline, verdict=verdict, why=why)


def _excuses(tally: Tally) -> Iterator[Excused]:
    """Attempts that do not measure the agent, by arm and outcome."""
    for arm, found in sorted(tally.arms.items()):
        for outcome, one in sorted(found.excused.items()):
            yield Excused(arm=arm, outcome=outcome, attempts=one.attempts, trials=one.trials, reason=one.reason)


def _failures(tally: Tally) -> Iterator[Failure]:
    """Trials that measure the agent and did not pass, by why; the most frequent first."""
    found = ((arm, kind, cells) for arm, of in tally.arms.items() for kind, cells in of.failures.items())
    for arm, kind, cells in sorted(found, key=lambda each: (-each[2].count, each[0], each[1])):
        yield Failure(arm=arm, kind=kind, count=cells.count, cells=tuple(sorted(cells.first)))


def _excluded(plan: Plan, tally: Tally, unstarted: dict[str, str], intake: Intake | None) -> Iterator[Excluded]:
    missing = intake.missing if intake else {}
    for cell in plan.cells:
        if cell.id in tally.left_out:
            outcome, reason = tally.left_out[cell.id]
            yield Excluded(cell=cell.id, outcome=outcome, reason=reason)
        elif cell.id in tally.seen:
            continue
        elif cell.id in unstarted:
            yield Excluded(cell=cell.id, outcome="not_started", reason=unstarted[cell.id])
        else:
            yield Excluded(cell=cell.id, outcome="missing", reason=missing.get(cell.id, _NO_TRIAL))


def _warnings(plan: Plan, arms: Sequence[ArmSummary], tally: Tally, *, analysed: bool) -> Iterator[str]:
    yield from _origin(plan)
    for arm in arms:
        yield from _arm_warnings(arm)
    yield from _mixed(tally)
    yield from _settings(tally)
    if not plan.experiment.judges and tally.unjudged_items:
        yield ("No judge panel is configured: the items left to judgment are N/A, and the weights of the others are "
               "scaled up to 1.")  # fmt: skip
    if len(tally.scenarios) > 1 and not analysed:
        yield ("The intervals pool all trials of an arm as if they were independent: they are about these scenarios, "
               "not about scenarios like these.")  # fmt: skip
    yield from _isolation(tally)
    yield from _reaching(plan, tally)
    for name, unverified in sorted((name, one) for name, arm in tally.arms.items() for one in arm.unverified):
        yield f"{name}: not all of its treatment could be verified: {unverified}."
    yield from _events(arms, tally)
    yield from warnings(tuple(_excuses(tally)))
    if tally.redacted:
        yield (f"Secrets, or what looks like them, were taken out of what {len(tally.redacted)} of {len(tally.seen)} "
               f"trials left, at {sum(tally.redacted)} places (`redactions` of a row): find out how they got there; "
               "where they stood in a diff, `[redacted]` was judged in their place.")  # fmt: skip
    if tally.strangers:
        yield (f"{tally.strangers} rows belong to no planned cell (another plan, other keys, or given twice) and are "
               "left out.")  # fmt: skip


def _refusals(intake: Intake | None) -> Iterator[str]:
    """What other machines sent and was not taken."""
    refused = intake.refused if intake else ()
    if refused:
        named = "; ".join(f"{one.artifact}: {one.reason}" for one in refused[:_REFUSALS])
        more = f"; and {len(refused) - _REFUSALS} more" if len(refused) > _REFUSALS else ""
        yield f"Rows of {len(refused)} artifacts were refused, none of them is counted: {named}{more}."


def _origin(plan: Plan) -> Iterator[str]:
    """That another tool measured the rows."""
    if plan.imported:
        yield (
            f"The rows are imported from {plan.imported.file} ({plan.imported.format}), and not verified by this "
            "toolkit: what was run, how it was judged, and what was left out is known to their source alone."
        )
        yield from plan.imported.notes


def _isolation(tally: Tally) -> Iterator[str]:
    """What sandboxes did not give to trials with a model, and that not all had the same one."""
    if len(tally.boxes) > 1:
        yield (f"Trials of different sandboxes are mixed: {'; '.join(sorted(tally.boxes))}. A difference between arms "
               "may be one between sandboxes.")  # fmt: skip
    if tally.on_host:
        yield "Trials ran on the host itself: the network was open, and files of this user could be read."
    if tally.exposed:
        yield (f"keys: exposed. In {tally.exposed} of {tally.real} trials the agent could have read the keys that "
               "processes and files of this user hold.")  # fmt: skip


def _reaching(plan: Plan, tally: Tally) -> Iterator[str]:
    """Arms whose agents had tools that the provider runs."""
    for arm in plan.arms:
        tools = arm.variant.treatment.server_tools if arm.variant else ()
        if tools and tally.arms[arm.id].ran:
            yield f"{arm.id}: its network was not closed: it had {', '.join(tools)}, which the provider runs."


def _events(arms: Sequence[ArmSummary], tally: Tally) -> Iterator[str]:
    """What a safety net or a proxy did to an arm: it may have cost a trial its success, or tell of its manners."""
    for arm in arms:
        found = tally.arms[arm.arm]
        if found.blocked:
            yield (f"{arm.arm}: the safety net blocked {sum(found.blocked)} calls, in {len(found.blocked)} of "
                   f"{found.ran} trials.")  # fmt: skip
        if found.unread:
            yield f"{arm.arm}: the safety net let {found.unread} calls pass that it could not read whole."
        if found.unguarded:
            yield (f"{arm.arm}: {sum(found.unguarded)} calls ran without the safety net having been asked, in "
                   f"{len(found.unguarded)} of {found.ran} trials; they count.")  # fmt: skip
    for arm in arms:
        found = tally.arms[arm.arm]
        if found.refused:
            yield (f"{arm.arm}: {sum(found.refused)} attempts to reach hosts that its tasks may not reach were "
                   f"refused, in {len(found.refused)} of {found.ran} trials.")  # fmt: skip


def _arm_warnings(arm: ArmSummary) -> Iterator[str]:
    counts = arm.counts
    if counts.judged < counts.planned:
        yield f"{arm.arm}: {counts.planned - counts.judged} of {counts.planned} planned cells are not in its rates."
    excluded = counts.ran - counts.judged
    if counts.ran and excluded / counts.ran > _EXCLUDED_SHARE:
        yield f"{arm.arm}: {excluded} of {counts.ran} trials are excluded; what is left may be a biased part."
    if arm.pass_bounds is not None:
        low, high = (f"{100 * bound:.0f} %" for bound in arm.pass_bounds)
        yield (f"{arm.arm}: judging came to no verdict on {arm.unjudged} of {counts.ran} trials. Its pass rate would "
               f"be {low} if all of them had failed, and {high} if all had passed; tables show both.")  # fmt: skip
    if 0 < counts.judged < _SMALL_N:
        yield f"{arm.arm}: only {counted(counts.judged, 'judged trial')}; the interval is wide for that reason."
    if arm.usd is None and counts.ran:
        yield f"{arm.arm}: the cost of at least one trial is unknown, so its sums are."


def _settings(tally: Tally) -> Iterator[str]:
    """Configured settings that did not reach a model, and USD that nobody was charged."""
    for what, kind in (("the agent", "unadjusted"), ("the panel", "judge_unadjusted")):
        without = {(arm, name): n for arm, found in tally.arms.items() for name, n in getattr(found, kind).items()}
        for (arm, name), count in sorted(without.items()):
            yield (f"{arm}: in {count} trials, requests of {what} went without the configured {name}, which the model "
                   "does not take, or not while it thinks.")  # fmt: skip
    if tally.subscription:
        yield "billing: subscription. USD are list prices of the tokens used, and no bill."


def _mixed(tally: Tally) -> Iterator[str]:
    """What should be one and the same within an arm or a scenario, and is not."""
    for arm, found in sorted(tally.arms.items()):
        if len(found.versions) > 1:
            yield f"{arm}: trials of different agent versions are mixed: {', '.join(sorted(found.versions))}."
    for scenario, digests in sorted(tally.starts.items()):
        if len(digests) > 1:
            yield f"{scenario}: trials did not start from equal workspaces."
