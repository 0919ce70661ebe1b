"""Step `aggregate`: compute a report from rows: counts, rates, comparisons and warnings.

Only verdicts decide on a hypothesis, never the sign of a difference: an experiment declares with `expected` which
verdicts would support it. Verdicts of one family are adjusted for its size, so one of them is enough to claim that some
comparison has it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import scylla_gha
from scylla_gha.aggregate.row_counts import RowCounts, mean, whole
from scylla_gha.aggregate.warnings import (
    control_warnings,
    excused_attempts,
    refused_artifact_warnings,
    report_notes,
    report_warnings,
    withheld_answers,
    withheld_arms,
    without_verdicts,
)
from scylla_gha.analysis import RowTable, has_statistics
from scylla_gha.counting import counted
from scylla_gha.model.analysis import FAMILIES, PAIRED, Analysis, Ruling, Verdict
from scylla_gha.model.experiment import Expectation, Experiment
from scylla_gha.model.judgment import JudgeControl
from scylla_gha.model.plan import CollectReport, Plan, UnstartedCells, unpaired_arms
from scylla_gha.model.report import (
    ArmSummary,
    Comparison,
    Excluded,
    Failure,
    HypothesisReading,
    Report,
    ScenarioRow,
)
from scylla_gha.model.result import Result
from scylla_gha.stats import MOST_EXACT, cost_per_success, difference_interval, sign_flip_bound, wilson
from scylla_gha.store.rows import of_same_github

if TYPE_CHECKING:
    from scylla_gha.analysis.analyse import Question

_ALPHA: Final = 0.05
_DRAWN_ALPHA: Final = 0.04  # 0.05 less five standard errors of p with 10,000 draws
_MORE: Final = "install the extra `report` for full statistics"
Passed = Mapping[str, Mapping[str, Sequence[int]]]  # scenario -> arm -> (passed, judged)
_GRADES: Final = ("S", "A", "B", "C", "D", "F")
_NO_TRIAL: Final = "planned, but no trial with its key is stored"
Verdicts = Mapping[str, Mapping[str, Sequence[int]]]  # scenario -> arm -> (passed, judged, unjudged)
_SHOWN: Final = 5  # shown cells per kind of failure
Status = Literal["supported", "contradicted", "not_enough_data"]
_VERDICTS: Final[dict[str, frozenset[Verdict]]] = {
    "better": frozenset({"better"}),
    "worse": frozenset({"worse"}),
    "differ": frozenset({"better", "worse"}),
}
_ADJECTIVES: Final = {"better": "better", "worse": "worse", "differ": "different"}


def simple_verdict(arm: str, baseline: str, passed: Passed, family: int) -> tuple[Verdict, str]:
    """Return the verdict on a difference of pass rates, and its reason, if the `report` extra is not installed.

    It never claims more than the full statistics: p is adjusted by Bonferroni and so never below Holm's p, and the
    level leaves room for the noise of drawn sign flips.

    Args:
        arm: arm to compare.
        baseline: arm with which it is compared.
        passed: passed and judged trials by scenario and arm.
        family: number of comparisons for which p is adjusted.
    """
    both = [(counts[arm], counts[baseline]) for counts in passed.values() if arm in counts and baseline in counts]
    deltas = [
        arm_counts[0] / arm_counts[1] - baseline_counts[0] / baseline_counts[1]
        for arm_counts, baseline_counts in both
        if arm_counts[1] and baseline_counts[1]
    ]
    limits = difference_interval(deltas)
    if limits is None:
        return (
            "not_enough_data",
            f"the arms share {counted(len(deltas), 'scenario')}, too few for an interval; {_MORE}",
        )
    p = min(1.0, family * sign_flip_bound(deltas))
    summary = (
        f"{100 * sum(deltas) / len(deltas):+.1f} points [{100 * limits[0]:+.1f}, {100 * limits[1]:+.1f}] over "
        f"{counted(len(deltas), 'scenario')}, p at most {p:.2g} (simple statistics)"
    )
    alpha = _ALPHA if len(passed) <= MOST_EXACT else _DRAWN_ALPHA
    if p <= alpha and not limits[0] <= 0 <= limits[1]:
        return ("better" if limits[0] > 0 else "worse"), summary
    return "not_enough_data", f"{summary}; {_MORE}"


def question_of(plan: Plan) -> "Question | None":
    """Return the question that the statistics of a plan's rows answer; None without the extra `report`."""
    if not has_statistics():
        return None
    from scylla_gha.analysis.analyse import Question
    from scylla_gha.analysis.interactions import mode_and_model_parts, treatment_parts

    experiment = plan.experiment
    return Question(
        baseline=experiment.baseline,
        models={arm.id: arm.model for arm in plan.arms},
        margin=experiment.margin,
        seed=experiment.seed,
        pairs=plan.pairs,
        family=plan.family,
        parts=treatment_parts(plan),
        modes={arm.id: arm.mode.id for arm in plan.arms if arm.mode},
        crossed=mode_and_model_parts(plan),
    )


def aggregate(
    plan: Plan,
    rows: Iterable[Result],
    probes: Iterable[JudgeControl] = (),
    unstarted: UnstartedCells | None = None,
    question: "Question | None" = None,
    intake: CollectReport | None = None,
) -> Report:
    """Summarise the rows of a plan; skip duplicates and rows of other cells or keys, with a warning.

    Args:
        plan: the plan that was run.
        rows: rows of its trials; they are read once, one at a time.
        probes: results of the judges' controls.
        unstarted: reasons why a run did not start some cells.
        question: question for the statistics; None: statistics are not wanted or not installed.
        intake: result of reading rows that other machines sent.

    Raises:
        ConfigError: rows of the hub and of github.com are mixed.
    """
    controls, counts = list(probes), _count(plan, rows)
    analysis = _analysis(counts, question) if question else None
    expected = Counter(cell.arm for cell in plan.cells)
    arms = tuple(_summary(arm, expected[arm], counts, by_scenario=analysis is not None) for arm in sorted(expected))
    reasons = withheld_arms(arms, plan.pairs)
    analysis = withheld_answers(without_verdicts(analysis, reasons), plan, arms) if analysis else None
    comparisons = tuple(_comparisons(plan, counts.verdicts, analysis, reasons))
    return Report(
        **_plan_facts(plan),
        toolkit_version=scylla_gha.__version__,
        counts=counts.all_rows.counts(len(plan.cells)),
        arms=arms,
        scenarios=tuple(_scenarios(counts.verdicts, sorted(expected))),
        comparisons=comparisons,
        hypothesis=hypothesis_reading(plan.experiment, (analysis and analysis.answers) or comparisons),
        excluded=tuple(_excluded(plan, counts, unstarted.cells if unstarted else {}, intake)),
        delivery=_delivery(counts),
        judge_usd=_judge_usd(counts, controls),
        excused=tuple(excused_attempts(counts)),
        failures=tuple(_failures(counts)),
        warnings=_warnings(plan, arms, counts, controls, analysis, intake),
        notes=tuple(report_notes(plan, counts)),
        analysis=analysis,
        github=counts.github,
    )


def _plan_facts(plan: Plan) -> dict[str, Any]:
    """Return the fields of a report that depend only on the plan."""
    return {
        "experiment": plan.experiment.id,
        "question": plan.experiment.question,
        "change": plan.change,
        "estimate": plan.estimate,
        "judge_providers": {name: plan.providers[name] for name in plan.experiment.judges if name in plan.providers},
        "paired_by": "modes" if plan.family == "modes" else "baseline",
        "replayed": plan.replayed,
        "not_possible": plan.not_possible,
        "imported": plan.imported is not None,
    }


def _warnings(
    plan: Plan,
    arms: Sequence[ArmSummary],
    counts: RowCounts,
    controls: Sequence[JudgeControl],
    analysis: Analysis | None,
    intake: CollectReport | None,
) -> tuple[str, ...]:
    return (
        *refused_artifact_warnings(intake),
        *report_warnings(plan, arms, counts, analysed=analysis is not None),
        *control_warnings(controls),
        *_panel_warnings(plan),
        *analysis_warnings(plan, analysis),
    )


def _panel_warnings(plan: Plan) -> Iterator[str]:
    """Yield warnings about judges that may prefer the judged work: their own model, or one of their provider."""
    judges = plan.experiment.judges
    models = dict.fromkeys(arm.model for arm in plan.arms if arm.model)
    for judge in judges:
        if judge in models:
            yield f"judge {judge} is also a judged model: it may prefer its own work. Choose another judge."
    providers, judged = ({plan.providers.get(name) for name in names} for names in (judges, models))
    if len(judges) > 1 and len(providers) == 1 and None not in providers and providers & judged:
        yield (
            f"All judges are models of {plan.providers[judges[0]]}, as "
            f"{'the judged models are' if providers == judged else 'some of the judged models are'}: they may prefer "
            "answers like their own. Add a judge of another provider."
        )


def _count(plan: Plan, rows: Iterable[Result]) -> RowCounts:
    """Count the rows of the plan, each cell once."""
    keys = {cell.id: cell.key for cell in plan.cells}
    variants = {arm.id: arm.variant.id for arm in plan.arms if arm.variant}
    table = RowTable(dict.fromkeys(cell.arm for cell in plan.cells), variants)
    counts = RowCounts(frozenset(task.scenario for task in plan.not_possible), table)
    for row in of_same_github(_planned(rows, keys, counts), plan.experiment.id):
        counts.add(row)
    return counts


def _planned(rows: Iterable[Result], keys: Mapping[str, str], counts: RowCounts) -> Iterator[Result]:
    for row in rows:
        if keys.get(row.cell) == row.key and row.cell not in counts.seen:
            yield row
        else:
            counts.unplanned += 1


def _analysis(counts: RowCounts, question: "Question") -> Analysis:
    from scylla_gha.analysis import analyse
    from scylla_gha.analysis.frame import frame_of

    return analyse.analyse(frame_of(counts.table), question)


def _delivery(counts: RowCounts) -> tuple[int, int] | None:
    """Return the number of trials whose treatment was delivered, and the number of trials with a treatment, or None."""
    known = [value for value in counts.all_rows.values("delivered") if not math.isnan(value)]
    return (int(sum(known)), len(known)) if known else None


def _judge_usd(counts: RowCounts, controls: Iterable[JudgeControl]) -> float | None:
    costs = (control.usage.usd for control in controls)
    return whole([*counts.all_rows.values("judge_usd"), *(math.nan if usd is None else usd for usd in costs)])


def _summary(arm: str, planned: int, counts: RowCounts, *, by_scenario: bool) -> ArmSummary:
    rows, api = counts.arm(arm), counts.api.get(arm)
    judged, side_requests = rows.judged, sum(rows.above_zero("side_requests"))
    passed, n = judged.passed, len(judged)
    interval = wilson(passed, n)
    tokens, paid = whole(rows.tokens), whole(judged.values("usd"))
    met_gaps = [
        passed > 0
        for gaps, passed in zip(judged.values("github_gaps"), judged.values("passed"), strict=True)
        if gaps > 0
    ]
    return ArmSummary(
        arm=arm,
        counts=rows.counts(planned),
        passed=passed,
        pass_rate=passed / n if n else None,
        pass_low=interval[0] if interval else None,
        pass_high=interval[1] if interval else None,
        unjudged=sum(by_arm[arm][2] for by_arm in counts.verdicts.values() if arm in by_arm),
        pass_bounds=counts.bounds(arm, by_scenario=by_scenario),
        withheld=len(judged.above_zero("judges_withheld")),
        github_gaps=len(met_gaps),
        pass_rate_without_gaps=(passed - sum(met_gaps)) / (n - len(met_gaps)) if 0 < len(met_gaps) < n else None,
        api=api.means if api else None,
        uses=rows.texts.resources,
        mean_score=mean(judged.values("score")),
        mean_progress=mean(judged.values("progress")),
        grades={grade: rows.texts.grades[grade] for grade in _GRADES if rows.texts.grades[grade]},
        outcomes=rows.outcomes,
        usd=whole(rows.values("usd")),
        side_requests=side_requests,
        side_usd=whole(rows.side_usd) if side_requests else 0.0,
        cost_of_pass=cost_per_success(paid, passed) if paid is not None else None,
        mean_seconds=mean(rows.seconds),
        tokens=None if tokens is None else int(tokens),
    )


def _scenarios(verdicts: Verdicts, arms: Sequence[str]) -> Iterator[ScenarioRow]:
    for scenario, by_arm in sorted(verdicts.items()):
        if any(judged for _, judged, _ in by_arm.values()):
            cells = {arm: by_arm.get(arm, (0, 0, 0)) for arm in arms}
            yield ScenarioRow(scenario=scenario, passed={arm: (cell[0], cell[1]) for arm, cell in cells.items()})


def _comparisons(
    plan: Plan, verdicts: Verdicts, analysis: Analysis | None, reasons: Mapping[str, str]
) -> Iterator[Comparison]:
    """Yield the verdicts of the statistics, or simple verdicts if the statistics are not installed."""
    pairs = plan.pairs
    passed = {
        scenario: {arm: cell[:2] for arm, cell in by_arm.items() if cell[1]} for scenario, by_arm in verdicts.items()
    }
    passed = {scenario: by_arm for scenario, by_arm in passed.items() if by_arm}
    ruled = {ruling.arm: (ruling.verdict, ruling.why) for ruling in analysis.rulings} if analysis else {}
    for arm in sorted({cell.arm for cell in plan.cells} & pairs.keys()):
        baseline = pairs[arm]
        verdict, why = ruled.get(arm, ("not_enough_data", f"no cell of the baseline {baseline} is planned"))
        if analysis is None:
            verdict, why = simple_verdict(arm, baseline, passed, len(pairs))
        if arm not in ruled and arm in reasons:
            verdict, why = "not_enough_data", reasons[arm]
        yield Comparison(arm=arm, baseline=baseline, verdict=verdict, why=why)


def _failures(counts: RowCounts) -> Iterator[Failure]:
    """Yield failed trials that measure the agent, by reason, the most frequent reason first."""
    failures = ((arm, kind, cells) for arm, texts in counts.texts.items() for kind, cells in texts.failures.items())
    for arm, kind, cells in sorted(failures, key=lambda failure: (-len(failure[2]), failure[0], failure[1])):
        yield Failure(arm=arm, kind=kind, count=len(cells), cells=tuple(sorted(cells[:_SHOWN])))


def _excluded(
    plan: Plan, counts: RowCounts, unstarted: dict[str, str], intake: CollectReport | None
) -> Iterator[Excluded]:
    missing = intake.missing if intake else {}
    for cell in plan.cells:
        if cell.id in counts.left_out:
            outcome, reason = counts.left_out[cell.id]
            yield Excluded(cell=cell.id, outcome=outcome, reason=reason)
        elif cell.id in counts.seen:
            continue
        elif cell.id in unstarted:
            yield Excluded(cell=cell.id, outcome="not_started", reason=unstarted[cell.id])
        else:
            yield Excluded(cell=cell.id, outcome="missing", reason=missing.get(cell.id, _NO_TRIAL))


def analysis_warnings(plan: Plan, analysis: Analysis | None) -> Iterator[str]:
    """Yield the warnings of the statistics, and a warning if the declared family has no comparison."""
    yield from analysis.warnings if analysis else ()
    yield from (f"{arm}: it is not compared, since {reason}." for arm, reason in unpaired_arms(plan).items())
    if plan.family in PAIRED or (analysis and analysis.answers):
        return
    why = "the rows have no two sides of it" if analysis else "the statistics are not installed"
    yield (f"The experiment asks for {FAMILIES[plan.family]}, and {why}: the answer is of {FAMILIES['baseline']}.")


def hypothesis_reading(experiment: Experiment, answer: Sequence[Comparison | Ruling]) -> HypothesisReading | None:
    """Read the hypothesis of an experiment by its verdicts; return None without a hypothesis."""
    text, expected = experiment.hypothesis, experiment.expected
    if text is None:
        return None
    if expected is None:
        why = "the experiment does not declare which verdicts would support it (`expected`)"
        return HypothesisReading(text=text, expected=None, status="not_declared", why=why)
    verdicts = [comparison.verdict for comparison in answer]
    return HypothesisReading(
        text=text, expected=expected, status=hypothesis_status(expected, verdicts), why=_why(expected, verdicts)
    )


def hypothesis_status(expected: Expectation, verdicts: Sequence[Verdict]) -> Status:
    """Decide whether the verdicts support an expectation; comparisons without enough data are undecided."""
    quantity, _, kind = expected.partition("_")
    hits = [verdict in _VERDICTS[kind] for verdict in verdicts]
    is_open = not verdicts or "not_enough_data" in verdicts
    if quantity == "all":
        is_refuted = any(not hit and verdict != "not_enough_data" for hit, verdict in zip(hits, verdicts, strict=True))
        return "contradicted" if is_refuted else "not_enough_data" if is_open else "supported"
    if any(hits):
        return "supported" if quantity == "some" else "contradicted"
    if is_open:
        return "not_enough_data"
    return "contradicted" if quantity == "some" else "supported"


def _why(expected: Expectation, verdicts: Sequence[Verdict]) -> str:
    """Describe the expectation, and the number of verdicts of each kind."""
    quantity, _, kind = expected.partition("_")
    counts = Counter(verdicts)
    shown = ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in counts.most_common())
    return (
        f"it expects {quantity} of the comparisons to be {_ADJECTIVES[kind]}; of "
        f"{counted(len(verdicts), 'comparison')}{': ' if shown else ''}{shown}"
    )
