"""Warnings and notes of a report, and the rule that withholds verdicts from arms with too many excused trials.

A trial is excused if it does not measure the agent. Excuses need evidence from outside the sandbox. Still, an agent
could cause such evidence to remove its own failures from the rates. So excuses are shown by arm, and an arm that lost
more than a few of its cells gets no verdict, and neither do arms that are compared with it.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

from scylla_gha.aggregate.event_warnings import event_warnings
from scylla_gha.aggregate.row_counts import RowCounts
from scylla_gha.counting import counted, first_of
from scylla_gha.model.analysis import Analysis, Ruling
from scylla_gha.model.judgment import ControlResult, JudgeControl
from scylla_gha.model.plan import Arm, CollectReport, Plan
from scylla_gha.model.report import ArmSummary, Excused
from scylla_gha.model.variant import file_changes

_MOST_CELLS: Final = 2
_MOST_SHARE: Final = 0.05
_MOST_GAPS: Final = 0.05  # share of an arm's judged trials
_SMALL_N: Final = 10
_EXCLUDED_SHARE: Final = 0.05
_REFUSALS: Final = 5  # maximum number of refusals in the report
_MOST_PATHS: Final = 12
_MOST_UNUSED: Final = 8  # resources that the report names
# Kinds of resources, and what of them the model sees without using them.
_RESOURCES: Final = {
    "skill": ("skill", "the description in the list"),
    "mcp": ("MCP server", "the definitions of tools in the prompt"),
    "agent": ("sub-agent", "the description in the list"),
}
_PREFIX: Final = "agent_files/"
_CONTROL_TITLES: Final = {"canary": "canary", "order_swap": "order swap"}


def withheld_arms(arms: Sequence[ArmSummary], pairs: Mapping[str, str | None]) -> dict[str, str]:
    """Return, by arm, why it gets no verdict: it or its baseline has too many trials that do not count.

    Args:
        arms: all arms of the report.
        pairs: baseline by arm; None or missing: the arm is not compared.
    """
    lacking = {arm.arm: reason for arm in arms if (reason := _why_withheld(arm.arm, (arm,)))}
    reasons = {
        arm: "; ".join(lacking[name] for name in (arm, baseline) if name in lacking)
        for arm, baseline in pairs.items()
        if baseline is not None
    }
    return {arm: reason for arm, reason in reasons.items() if reason}


def without_verdicts(analysis: Analysis, reasons: Mapping[str, str]) -> Analysis:
    """Return the analysis with the verdicts on these arms withheld; its numbers do not change."""
    rulings = tuple(_withheld(ruling, reasons.get(ruling.arm)) for ruling in analysis.rulings)
    return analysis.model_copy(update={"rulings": rulings})


def withheld_answers(analysis: Analysis, plan: Plan, arms: Sequence[ArmSummary]) -> Analysis:
    """Return the analysis; in the declared family, sides with too few counted trials get no verdict."""
    summaries = {arm.arm: arm for arm in arms}

    def reason(side: str) -> str | None:
        return _why_withheld(side, [summaries[arm.id] for arm in plan.members(side) if arm.id in summaries])

    answers = tuple(
        _withheld(ruling, "; ".join(filter(None, map(reason, (ruling.arm, ruling.baseline)))))
        for ruling in analysis.answers
    )
    return analysis.model_copy(update={"answers": answers})


def _withheld(ruling: Ruling, reason: str | None) -> Ruling:
    """Return the ruling without its verdict if there is a reason."""
    update = {"verdict": "not_enough_data", "why": reason, "is_withheld": True}
    return ruling.model_copy(update=update) if reason else ruling


def excused_warnings(excused: Sequence[Excused]) -> Iterator[str]:
    """Yield a warning for each outcome that excused several attempts of an arm."""
    for entry in excused:
        if entry.attempts > 1:
            yield (
                f"{entry.arm}: {counted(entry.attempts, 'attempt')} in {counted(entry.trials, 'trial')} ended in "
                f"{entry.outcome} and were excused (one of them: {entry.reason}). Check whether the "
                "agent caused this."
            )


def _why_withheld(name: str, arms: Sequence[ArmSummary]) -> str | None:
    """Return why the arms get no verdict (too few counted cells, or too many gaps of the hub), or None.

    If a trial asked the hub for a feature that only GitHub has, the agent's behaviour on GitHub is unknown.
    """
    planned, judged = sum(arm.counts.planned for arm in arms), sum(arm.counts.judged for arm in arms)
    most = max(_MOST_CELLS, _MOST_SHARE * planned)
    if planned - judged > most:
        return (
            f"{planned - judged} of {counted(planned, 'cell')} of {name} ended without a counted trial, but a "
            f"verdict allows {int(most)}"
        )
    gaps = sum(arm.github_gaps for arm in arms)
    if gaps <= _MOST_GAPS * judged:
        return None
    return (
        f"{gaps} of {counted(judged, 'judged trial')} of {name} asked the hub for features that only GitHub has, but a "
        f"verdict allows {100 * _MOST_GAPS:.0f} %"
    )


def excused_attempts(counts: RowCounts) -> Iterator[Excused]:
    """Yield attempts that do not measure the agent, by arm and outcome."""
    for arm, texts in sorted(counts.texts.items()):
        for outcome, trials in sorted(texts.excused.items()):
            reason = next((why for _, why in trials if why), "")
            yield Excused(
                arm=arm,
                outcome=outcome,
                attempts=sum(attempts for attempts, _ in trials),
                trials=len(trials),
                reason=reason,
            )


def report_warnings(plan: Plan, arms: Sequence[ArmSummary], counts: RowCounts, *, analysed: bool) -> Iterator[str]:
    """Yield all warnings of a report except those of refused artifacts, controls and statistics."""
    yield from _import_warnings(plan)
    yield from _mode_warnings(plan)
    yield from _unproved_warnings(plan)
    for arm in arms:
        yield from _arm_warnings(arm)
        yield from _unused_warnings(arm)
    yield from _withheld_warnings(arms, counts)
    yield from _mixed_warnings(counts)
    yield from _settings_warnings(counts)
    yield from _client_warnings(counts)
    if not plan.experiment.judges and any(counts.all_rows.above_zero("items_unjudged")):
        yield (
            "No judge panel is configured: the items left to judgment are N/A, and the weights of the others are "
            "scaled up to 1."
        )
    if len(counts.table.scenarios) > 1 and not analysed:
        yield (
            "The intervals pool all trials of an arm as if they were independent: they hold for these scenarios, "
            "not for scenarios like these."
        )
    yield from _isolation_warnings(counts)
    yield from _server_tool_warnings(plan, counts)
    yield from _listing_warnings(plan, counts)
    for name, unverified in sorted((name, text) for name, texts in counts.texts.items() for text in texts.unverified):
        yield f"{name}: parts of its treatment could not be verified: {unverified}."
    yield from event_warnings(arms, counts)
    yield from excused_warnings(tuple(excused_attempts(counts)))
    if redacted := counts.all_rows.above_zero("redactions"):
        yield (
            f"Secrets, or what looks like them, were taken out of what {len(redacted)} of "
            f"{counted(len(counts.seen), 'trial')} left, at {counted(sum(redacted), 'place')} (`redactions` "
            "of a row): find out how they got there; where they stood in a diff, `[redacted]` was judged in "
            "their place."
        )
    if counts.unplanned:
        yield (
            f"Skipped {counted(counts.unplanned, 'row')} without a planned cell (another plan, other keys, or "
            "duplicates)."
        )


def refused_artifact_warnings(intake: CollectReport | None) -> Iterator[str]:
    """Yield a warning about refused artifacts."""
    refused = intake.refused if intake else ()
    if refused:
        names = first_of([f"{artifact.artifact}: {artifact.reason}" for artifact in refused], _REFUSALS, "; ")
        yield f"Rows of {counted(len(refused), 'artifact')} were refused and are not counted: {names}."


def _import_warnings(plan: Plan) -> Iterator[str]:
    """Yield warnings about imported rows."""
    if plan.imported:
        yield (
            f"The rows are imported from {plan.imported.file} ({plan.imported.format}), and were not verified by this "
            "toolkit: only their source knows the runs, the judging and the omissions."
        )
        yield from plan.imported.notes


def _mode_warnings(plan: Plan) -> Iterator[str]:
    """Yield a warning for each mode whose tools cannot do all tasks."""
    scenarios = {cell.scenario for cell in plan.cells} | {task.scenario for task in plan.not_possible}
    for mode, tasks in itertools.groupby(plan.not_possible, key=attrgetter("mode")):
        names = [task.scenario for task in tasks]
        yield (
            f"Mode {mode}: {counted(len(names), 'scenario')} of {len(scenarios)} "
            f"{'is' if len(names) == 1 else 'are'} not possible with its tools ({', '.join(names)}). Rates of its "
            "arms are over the others; two arms are compared over the scenarios that both have."
        )


def _unproved_warnings(plan: Plan) -> Iterator[str]:
    """Yield a warning for each mode with scenarios that have no oracle for it."""
    for mode, names in plan.unproved.items():
        yield (
            f"Mode {mode}: {counted(len(names), 'scenario')} of its arms without an oracle for it "
            f"({', '.join(names)}), so nothing proves that its tools can do them."
        )


def _isolation_warnings(counts: RowCounts) -> Iterator[str]:
    """Yield warnings about weak or mixed isolation of trials with a model."""
    if len(counts.isolations) > 1:
        yield (
            f"Trials of different sandboxes are mixed: {'; '.join(sorted(counts.isolations))}. "
            "Differences between arms may come from the sandboxes."
        )
    if counts.on_host:
        yield "Trials ran on the host itself: the network was open, and files of this user could be read."
    if counts.exposed:
        yield (
            f"keys: exposed. In {counts.exposed} of {counted(counts.with_model, 'trial')} the agent could have read "
            "the keys that processes and files of this user hold."
        )


def _listing_warnings(plan: Plan, counts: RowCounts) -> Iterator[str]:
    """Yield a warning for each arm with skills that the CLI's default limit would list by name only."""
    for arm in plan.arms:
        names = plan.name_only_skills.get(arm.id, ())
        if not names or not counts.arm(arm.id):
            continue
        is_cut = arm.variant is not None and arm.variant.treatment.skill_listing == "default"
        how = "these trials too" if is_cut else "these trials listed all descriptions, which its users do not get"
        yield (
            f"{arm.id}: by its own limit, {arm.agent} lists {counted(len(names), 'skill')} by name only "
            f"({first_of(names, _MOST_PATHS)}); {how}."
        )


def _server_tool_warnings(plan: Plan, counts: RowCounts) -> Iterator[str]:
    """Yield warnings about arms whose agents used tools run by the provider, or could reach extra hosts."""
    for arm in plan.arms:
        hosts = arm.variant.treatment.hosts if arm.variant else ()
        if hosts and counts.arm(arm.id):
            yield f"{arm.id}: could reach hosts that other arms could not: {', '.join(hosts)}."
        tools = arm.variant.treatment.server_tools if arm.variant else ()
        if tools and counts.arm(arm.id):
            yield f"{arm.id}: its network was open to some degree, since the provider runs {', '.join(tools)}."


def _arm_warnings(arm: ArmSummary) -> Iterator[str]:
    counts = arm.counts
    if counts.judged < counts.planned:
        yield f"{arm.arm}: its rates exclude {counts.planned - counts.judged} of {counted(counts.planned, 'cell')}."
    excluded = counts.ran - counts.judged
    if counts.ran and excluded / counts.ran > _EXCLUDED_SHARE:
        yield (
            f"{arm.arm}: {excluded} of {counted(counts.ran, 'trial')} excluded; the remaining trials may be a "
            "biased sample."
        )
    if arm.pass_bounds is not None:
        low, high = (f"{100 * bound:.0f} %" for bound in arm.pass_bounds)
        yield (
            f"{arm.arm}: judging gave no verdict on {arm.unjudged} of {counted(counts.ran, 'trial')}. Its pass "
            f"rate would be {low} if all of them had failed, and {high} if all had passed; "
            "tables show both."
        )
    if arm.github_gaps:
        rate = arm.pass_rate_without_gaps
        others = (
            "no trial is left without them" if rate is None else f"without them the pass rate is {100 * rate:.0f} %"
        )
        yield (
            f"{arm.arm}: {counted(arm.github_gaps, 'trial')} of {counts.judged} asked the hub for features that "
            f"only GitHub has (`github_gaps` of a row); they count, and {others}."
        )
    if 0 < counts.judged < _SMALL_N:
        yield f"{arm.arm}: only {counted(counts.judged, 'judged trial')}; the interval is wide for that reason."
    if arm.usd is None and counts.ran:
        yield f"{arm.arm}: the cost of at least one trial is unknown, so its total cost is unknown."


def _unused_warnings(arm: ArmSummary) -> Iterator[str]:
    """Yield warnings about declared resources that no judged trial used; a skill that was read counts as used."""
    for kind, (noun, what) in _RESOURCES.items():
        resources = [use for use in arm.uses if use.resource.startswith(f"{kind}/")]
        unused = [use for use in resources if not use.used and not use.read]
        if not unused:
            continue
        names = first_of([use.resource.partition("/")[2] for use in unused], _MOST_UNUSED)
        trials = counted(max(use.trials for use in unused), "trial")
        yield (
            f"{arm.arm}: {len(unused)} of {counted(len(resources), noun)} {'was' if len(unused) == 1 else 'were'} "
            f"never used in {trials} ({names}); what was compared of {'it' if len(unused) == 1 else 'them'} is {what}."
        )


def _withheld_warnings(arms: Sequence[ArmSummary], row_counts: RowCounts) -> Iterator[str]:
    """Yield warnings about judges without a verdict, by arm, and about their different shares between arms."""
    shares = {arm.arm: arm.withheld / arm.counts.judged for arm in arms if arm.counts.judged}
    for arm in arms:
        if arm.withheld:
            answers = sum(row_counts.arm(arm.arm).judged.above_zero("judges_withheld"))
            yield (
                f"{arm.arm}: judges refused or gave no readable answer {counted(answers, 'time')}, in "
                f"{arm.withheld} of {counted(arm.counts.judged, 'judged trial')}. Their items count as not "
                "met."
            )
    if not shares:
        return
    most, least = max(shares, key=lambda arm: shares[arm]), min(shares, key=lambda arm: shares[arm])
    if shares[most] - shares[least] > _MOST_SHARE:
        yield (
            f"Judges gave no verdict in {100 * shares[most]:.0f} % of the judged trials of {most}, and in "
            f"{100 * shares[least]:.0f} % of those of {least}: a part of the difference between the two arms may "
            "come from that. Read the judges' evidence in these trials."
        )


def _settings_warnings(counts: RowCounts) -> Iterator[str]:
    """Yield warnings about model settings that were not applied, and about subscription billing."""
    for what, kind in (("the agent", "unadjusted"), ("the panel", "judge_unadjusted")):
        without = {(arm, name): n for arm, texts in counts.texts.items() for name, n in getattr(texts, kind).items()}
        for (arm, name), count in sorted(without.items()):
            yield (
                f"{arm}: in {counted(count, 'trial')}, requests of {what} lacked the configured {name}, "
                "which the model does not accept (perhaps only while thinking)."
            )
    if counts.subscription:
        yield "billing: subscription. USD are list prices of the used tokens, not a bill."


def _client_warnings(counts: RowCounts) -> Iterator[str]:
    """Yield warnings about requests to GitHub by clients outside the mode."""
    for arm, texts in sorted(counts.texts.items()):
        if texts.beside_mode:
            clients = ", ".join(f"{name} {count}" for name, count in sorted(texts.other_clients.items()))
            yield (
                f"{arm}: {counted(texts.beside_mode, 'trial')} sent requests to GitHub that are not "
                f"by the mode's clients with their tokens ({clients}; `github_other_clients` of a row); "
                "they count."
            )


def _mixed_warnings(counts: RowCounts) -> Iterator[str]:
    """Yield warnings about differences within an arm or a scenario that should not exist."""
    for arm, texts in sorted(counts.texts.items()):
        if len(texts.versions) > 1:
            yield f"{arm}: trials of different agent versions are mixed: {', '.join(sorted(texts.versions))}."
    for scenario, digests in sorted(counts.starts.items()):
        if len(digests) > 1:
            yield f"{scenario}: trials did not start from equal workspaces."


def report_notes(plan: Plan, counts: RowCounts) -> Iterator[str]:
    """Yield the notes of a report."""
    arms = {arm.id: arm for arm in plan.arms}
    if plan.is_of_change:
        for name, against in plan.pairs.items():
            changes = file_changes(_materials(arms[against]), _materials(arms[name]))
            what = "; ".join(f"{word} {first_of(paths, _MOST_PATHS)}" for word, paths in changes.items())
            yield f"{name} against {against}: {what or 'other settings'}."
    yield from _start_files(arms, counts)


def _materials(arm: Arm) -> dict[str, str]:
    materials = arm.variant.materials if arm.variant else {}
    return {name.removeprefix(_PREFIX): digest for name, digest in materials.items()}


def _start_files(arms: dict[str, Arm], counts: RowCounts) -> Iterator[str]:
    """Yield a note on files for agents from start states, in arms that list no such files."""
    files: dict[str, set[str]] = defaultdict(set)
    for (arm, scenario), paths in counts.agent_files.items():
        variant = arms[arm].variant
        if variant and variant.treatment.agent_files is None:
            for path in paths:
                files[path].add(scenario)
    if files:
        scenarios = counted(len(set[str]().union(*files.values())), "scenario")
        yield (
            f"Start states brought files for agents into all arms without `agent_files`, in {scenarios} of "
            f"{len(counts.table.scenarios)}: {first_of(sorted(files), _MOST_PATHS)}."
        )


def control_warnings(controls: Iterable[JudgeControl]) -> Iterator[str]:
    """Yield warnings about a report's judges; skip controls of judges that are no longer in the report."""
    repeated: dict[str, list[ControlResult]] = defaultdict(list)
    for record in (result for result in controls if result.stands):
        for control in record.controls:
            if control.kind == "repeat":
                repeated[record.judge].append(control)
            elif control.holds is False:
                title = _CONTROL_TITLES[control.kind]
                yield f"judge {record.judge} failed the {title} of {record.subject}: {control.why}."
        if record.error:
            yield f"judge {record.judge}: not all controls of {record.subject} could be decided: {record.error}."
    for judge, results in sorted(repeated.items()):
        compared = sum(result.compared for result in results)
        differ = sum(len(result.differences) for result in results)
        if differ:
            items = f"{differ} of {counted(compared, 'item')}"
            yield f"judge {judge} answered {items} differently when asked the same question again."
