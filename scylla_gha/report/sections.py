"""Build the sections of an experiment's report, in order. A section without data has no blocks and is not shown."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model.analysis import Agreement
from scylla_gha.report import comparisons, metrics, outcomes, tiers
from scylla_gha.report.document import (
    REPLAYED,
    Block,
    Bullets,
    Markdown,
    Section,
    Table,
    code,
    escape,
    more,
    names,
    percent,
    section,
    table_after,
)
from scylla_gha.report.summary import (
    COUNTS_NOTE,
    HEADINGS,
    LOWER_IS_BETTER,
    NextCommand,
    VerdictLine,
    arm_row,
    command_for_more_data,
    hypothesis_line,
    verdict_counts,
    verdict_lines,
)
from scylla_gha.report.tiers import five_answers
from scylla_gha.report.uptake import uptake
from scylla_gha.report.view import ReportNote, ReportView, marks, note_text, notes

NOT_COMPARED: Final = "Nothing is compared: no arm has a baseline."
IMPORTED: Final = "Imported rows: this toolkit did not run these trials, and did not verify them."
_MOST_WARNINGS: Final = 40
_CHECKPOINTS: Final = (
    ("requirements met", "implementation_rate"),
    ("steps made", "progress_rate"),
    ("changes that broke something", "change_fail_rate"),
)
_RELIABILITY: Final = (
    ("two repetitions agree", "outcome_consistency"),
    ("scenarios passed at least once", "solved_once"),
    ("scenarios passed always", "solved_always"),
    ("one of k tries passes", "pass_at_k"),
    ("all of k tries pass", "pass_all_k"),
)
_TOOLS: Final = (
    ("calls per trial", "tool_calls"),
    ("calls that failed", "tool_failure_rate"),
    ("turns per trial", "turns"),
    ("requests repeated after a fault", "request_retry_rate"),
)
_TIME: Final = (
    ("mean", "seconds"),
    ("median", "seconds_median"),
    ("90th percentile", "seconds_p90"),
    ("wait for a first byte", "first_byte_seconds"),
    ("model generates", "generation_seconds"),
    ("tools work", "tool_seconds"),
)
_PASS_COSTS: Final = (
    ("USD", "cost_of_pass"),
    ("tokens", "tokens_per_pass"),
    ("time", "seconds_per_pass"),
    ("USD per point of score", "usd_per_score"),
)
_TOKENS: Final = (
    ("input", "input_tokens_share"),
    ("output", "output_tokens_share"),
    ("read from cache", "cache_read_tokens_share"),
    ("written to cache", "cache_write_tokens_share"),
    ("cache hits", "cache_hit_rate"),
)


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer, with which every rendering begins.

    Attributes:
        banner: warning that trials were replayed or imported; empty: they were measured.
        counts: number of verdicts of each kind; empty: all verdicts are shown.
        verdicts: verdicts that are shown, clearest first.
        left_out: number of further verdicts.
        notes: notes of the report.
        more_data: command that measures more; None: the data is enough, or more cannot be measured.
        hypothesis: the hypothesis, and whether the verdicts support it; empty: no hypothesis.
        mode_by_model: whether effects of modes depend on the model; empty: not tested.
    """

    banner: str
    counts: str
    verdicts: tuple[VerdictLine, ...]
    left_out: int
    notes: tuple[str, ...]
    more_data: NextCommand | None
    hypothesis: str
    mode_by_model: str


def headline(view: ReportView, most: int) -> Headline:
    """Return the answer with at most `most` verdicts."""
    report = view.report
    verdicts = tuple(verdict_lines(view, most))
    return Headline(
        banner=f"{REPLAYED}." if report.replayed else IMPORTED if report.imported else "",
        counts=verdict_counts(view, most),
        verdicts=verdicts,
        left_out=len(report.answer) - len(verdicts),
        notes=report.notes,
        more_data=command_for_more_data(report),
        hypothesis=hypothesis_line(report),
        mode_by_model=tiers.mode_by_model_line(view),
    )


def verdict_bullets(verdicts: Sequence[VerdictLine]) -> Bullets:
    """Return verdicts as a list."""
    return Bullets([Markdown("{} **{}**: {}").fill(line.mark, line.statement, line.why) for line in verdicts])


def report_sections(view: ReportView) -> Iterator[Section]:
    """Yield the sections of the report; the statistics come last."""
    has_family = view.report.answer != view.report.comparisons
    yield from () if has_family else (changes(view),)
    yield from (tier_results(view), mode_effects(view), combinations(view), questions(view))
    for family, table in comparisons.families(view):
        yield section(family, table, is_news=True)
    yield from (changes(view),) if has_family else ()
    yield from (failures(view), not_possible(view))
    yield section("Outliers", outcomes.outliers(view), is_news=True)
    yield section("Excused attempts", outcomes.excused(view), is_news=True)
    yield from (excluded(view), warnings(view), uptake(view), judges(view), scenarios(view), kinds(view))
    yield section("Checkpoints", metrics.metric_table(view, _CHECKPOINTS))
    yield from (reliability(view), tools(view), operations(view), time(view), pass_costs(view), tokens(view))
    yield from statistics(view)


def changes(view: ReportView) -> Section:
    """Return the section of each arm's changes against its baseline."""
    table = comparisons.changes(view)
    if not table.rows:
        return section("Changes")
    family = view.report.family
    has_family = view.report.answer != view.report.comparisons
    words = (
        f"The answer above is based on other comparisons ({family}). These are a separate family; rows other than the "
        "pass rate are exploratory."
        if has_family
        else "Only the pass rate answers the question; the other rows are exploratory."
    )
    if len(view.changes) >= comparisons.FEW_ARMS:
        words += " With this many arms, another row is shown only if its interval excludes 'no change'."
    baseline_text = "the baseline" if view.baseline else view.baseline_text
    baseline = Markdown("The baseline is {}. ").fill(code(view.baseline_text)) if view.baseline else ""
    intro = Markdown("{}{}").fill(baseline, words)
    return section(f"Changes against {baseline_text}", intro, table, more(view.left_out, "arm"), is_news=True)


def tier_results(view: ReportView) -> Section:
    """Return the section of tiers, with their steps, best sub-tests and tokens; empty for a single tier."""
    ladder, best = tiers.tiers(view), tiers.best_subtests(view)
    if len(ladder.rows) < 2 and not best.rows:  # noqa: PLR2004 a ladder has two tiers
        return section("Tiers")
    return section(
        "Tiers",
        ladder,
        *table_after("Each tier against the previous tier:", tiers.tier_steps(view)),
        *table_after("The best sub-test of each tier; the last column is the number to go by:", best),
        *table_after("Parts of requests, as shares of their characters:", tiers.tier_tokens(view)),
        *table_after("Tokens of the treatment in a trial's first request, and its use:", tiers.tier_treatments(view)),
        is_news=True,
    )


def mode_effects(view: ReportView) -> Section:
    """Return the section that shows whether effects of modes depend on the model."""
    words = (
        "Does the effect of a mode depend on the model? Each row compares an arm that differs from the baseline in "
        "mode and model with the arms that differ in only one. Effects are changes of the pass rate."
    )
    return section("Modes by models", *table_after(words, tiers.modes_by_models(view)), is_news=True)


def combinations(view: ReportView) -> Section:
    """Return the section that compares each combination's effect with the sum of its parts' effects."""
    return section("Combinations and their parts", tiers.combinations(view), is_news=True)


def questions(view: ReportView) -> Section:
    """Return the section with the answers to the five questions of the Scylla paper."""
    answers = five_answers(view)
    items = [Markdown("**{}** *{}.* {}").fill(answer.question, answer.reading, answer.basis) for answer in answers]
    return section("Five questions", Bullets(items, range(1, len(items) + 1)), is_news=True)


def failures(view: ReportView) -> Section:
    """Return the section on how trials ended and why judged trials failed; open unless all passed."""
    report = view.report
    if not report.failures and all(set(arm.outcomes) <= {"completed"} for arm in report.arms):
        return section("Failures")
    return section(
        "Failures",
        *table_after("How trials ended:", outcomes.outcomes(view)),
        *table_after("Why judged trials did not pass:", outcomes.failures(view)),
        is_news=any(arm.passed != arm.counts.judged for arm in report.arms),
    )


def not_possible(view: ReportView) -> Section:
    """Return the section of scenarios that are not possible with the tools of a mode."""
    words = (
        "No cell was planned for these scenarios. An arm's rates cover the scenarios that its mode can solve; two arms "
        "are compared on the scenarios that both have."
    )
    table = outcomes.not_possible(view)
    return section("Not possible with these tools", *table_after(words, table), is_news=True)


def excluded(view: ReportView) -> Section:
    """Return the section of cells that are not in the rates, with counts by outcome if some are left out."""
    table, cells = outcomes.excluded(view), view.report.excluded
    by_outcome = Counter(cell.outcome for cell in cells).most_common()
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in by_outcome)
    return section(f"Not in the rates: {len(cells):,}", f"{counts}." if table.left_out > 0 else "", table, is_news=True)


def warnings(view: ReportView, most: int = _MOST_WARNINGS) -> Section:
    """Return the section of numbered warnings."""
    numbered = notes(view)
    items = note_bullets(view, numbered[:most])
    return section(f"Warnings: {len(numbered):,}", items, more(len(numbered) - most, "warning"), is_news=True)


def note_bullets(view: ReportView, numbered: list[ReportNote]) -> Bullets:
    """Return warnings as a list with the numbers to which tables refer."""
    return Bullets([note_text(view, note) for note in numbered], [note.number for note in numbered])


def judges(view: ReportView) -> Section:
    """Return the section on the judges' agreement; open if they agree poorly or it is unknown."""
    agreement = view.analysis.agreement if view.analysis else None
    if agreement is None:
        return section("Judges")
    unknown = sum(alpha is None for alpha in agreement.by_scenario.values())
    alphas = outcomes.scenario_alphas(agreement) if len(agreement.by_scenario) > 1 else Table()
    no_alpha = f"{counted(unknown, 'scenario')} without an alpha: all scores are equal."
    return section(
        "Judges",
        Markdown("\n".join(filter(None, (_agreement_words(agreement, view), _decisive_words(agreement))))),
        outcomes.agreement_measures(agreement),
        *table_after("Differences between judges:", outcomes.judge_pairs(agreement)),
        *table_after("Alpha of each scenario, least agreement first:", alphas),
        no_alpha if unknown and alphas.rows else "",
        is_news=agreement.alpha is None or agreement.alpha < outcomes.ALPHA_FAIR,
    )


def _agreement_words(agreement: Agreement, view: ReportView) -> str:
    providers = list(dict.fromkeys(view.report.judge_providers.values()))
    of = f" of {counted(len(providers), 'provider')} ({', '.join(providers)})" if providers else ""
    scored = f"{counted(len(agreement.judges), 'judge')}{of} scored {counted(agreement.trials, 'trial')}."
    alpha, text = agreement.alpha, outcomes.alpha_text(agreement)
    if alpha is None:
        return f"{scored} Agreement is unknown: the scores are all equal, or too few."
    if alpha >= outcomes.ALPHA_GOOD:
        return f"{scored} **They agree** (Krippendorff's alpha {text}): scores hardly depend on the judge."
    if alpha >= outcomes.ALPHA_FAIR:
        return f"{scored} **They mostly agree** (Krippendorff's alpha {text}): good enough for careful conclusions."
    return (
        f"{scored} **They do not agree well** (Krippendorff's alpha {text}): read their reasons before you rely on "
        "scores."
    )


def _decisive_words(agreement: Agreement) -> str:
    if agreement.decisive is None:
        return ""
    if agreement.decisive == 0:
        return "The consensus rule decided no pass: in every trial, all judges were on the same side of the threshold."
    return (
        f"In {percent(agreement.decisive)} of the trials, judges were on both sides of the threshold, so the consensus "
        "rule decided whether the trial passed."
    )


def scenarios(view: ReportView) -> Section:
    """Return the section with the matrix of scenarios and arms."""
    return section("Scenarios", *matrix_blocks(outcomes.scenario_matrix(view)))


def matrix_blocks(matrix: outcomes.ScenarioMatrix) -> tuple[Block, ...]:
    """Return a matrix of scenarios and arms after a sentence that explains it; empty if there are no scenarios."""
    if not matrix.table.rows:
        return ()
    hardest = f"The {len(matrix.table.rows)} hardest of {matrix.scenarios:,}.\n" if matrix.is_hardest else ""
    return Markdown(hardest + ("Passed of judged:" if matrix.is_wide else _range_words(matrix.arms))), matrix.table


def _range_words(arms: int) -> str:
    return f"Pass rates of all {counted(arms, 'arm')}; report.json has them for each arm:"


def kinds(view: ReportView) -> Section:
    """Return the section of pass rates by category, difficulty and size."""
    tables, arms = outcomes.kinds(view), len(view.report.arms)
    intro = "" if view.is_wide or not tables else Markdown(_range_words(arms))
    return section("Kinds of scenario", intro, *tables)


def reliability(view: ReportView) -> Section:
    """Return the section on the agreement of repetitions; empty if nothing was repeated."""
    measured = (view.measure(arm.arm, "outcome_consistency") for arm in view.arms)
    if not any(measure is not None and measure.value is not None for measure in measured):
        return section("Reliability")
    tries = metrics.tries(view)
    words = "".join(f"{k}." for k in tries)
    if len(tries) > 1:
        arms = "; ".join(f"{k} for {names(arms_with_k)}" for k, arms_with_k in tries.items())
        words = f"k differs between arms, so columns with k cannot be compared between them: {arms}."
    return section("Reliability", Markdown(words), metrics.metric_table(view, _RELIABILITY))


def tools(view: ReportView) -> Section:
    """Return the section of tool calls, in all and by tool."""
    if view.analysis is None or not metrics.above_zero(view, "tool_calls"):
        return section("Tools")
    by_tool = table_after("Calls per trial, by tool:", metrics.tool_calls(view))
    return section("Tools", metrics.metric_table(view, _TOOLS), *by_tool)


def operations(view: ReportView) -> Section:
    """Return the section of operations on GitHub's API."""
    possible = ", on the scenarios that are possible in all modes" if view.report.not_possible else ""
    words = (
        f"Mean operations per trial, by REST or GraphQL{possible}; each operation in a batch counts. git: commands "
        "that reached GitHub."
    )
    return section("Operations on GitHub", *table_after(words, outcomes.api_operations(view)))


def time(view: ReportView) -> Section:
    """Return the section on the parts of a trial's time; empty if none was measured."""
    parts = ("first_byte_seconds", "generation_seconds", "tool_seconds")
    if not any(metrics.above_zero(view, part) for part in parts):
        return section("Time")
    return section("Time", "Per trial; parts may overlap.", metrics.metric_table(view, _TIME))


def pass_costs(view: ReportView) -> Section:
    """Return the section of costs of a pass, requests to other models, and the cheapest arms."""
    if not _has_usage(view):
        return section("Cost of a pass")
    side = [
        Markdown("**{}**: {} ({} of the arm's {}) went to other models than the arm's.").fill(
            view.name(arm.arm), counted(arm.side_requests, "request"), dollars(arm.side_usd), dollars(arm.usd)
        )
        for arm in view.arms
        if arm.side_requests
    ]
    shares = metrics.cheapest_shares(view)
    words = "How often each arm would be the cheapest in other samples of scenarios:"
    return section(
        "Cost of a pass",
        metrics.metric_table(view, _PASS_COSTS),
        Bullets([*side, *_frontier(view)]),
        *table_after(words, shares),
    )


def _frontier(view: ReportView) -> Iterator[Markdown]:
    frontier = view.analysis.frontier if view.analysis else None
    if frontier is None:
        return
    pooled = frontier.pooled
    note = f"; {pooled.note}" if pooled.note else ""
    yield Markdown("**The cheapest arm's pass** costs {}: {} (over the {} that all arms tried{}).").fill(
        metrics.estimate(pooled),
        metrics.first_names(view, frontier.best),
        counted(pooled.scenarios, "scenario"),
        note,
    )
    human = f"a person's price is known for {frontier.human}" if frontier.human else "no person's price is known"
    unsolved = f"; {frontier.unsolved} have neither a passing arm nor a known price" if frontier.unsolved else ""
    yield Markdown("**Cheapest arm per scenario**: {}, the mean over scenarios ({}{}).").fill(
        metrics.value(frontier.per_scenario), human, unsolved
    )
    if frontier.pareto:
        yield Markdown("**Highest pass rate for the cost**: {}.").fill(metrics.first_names(view, frontier.pareto))


def tokens(view: ReportView) -> Section:
    """Return the section of shares of tokens and of requests' characters, and of the treatment's tokens."""
    if not _has_usage(view):
        return section("Tokens")
    requests = metrics.metric_table(view, tiers.REQUEST_SHARES, metrics.value)
    treatments = metrics.metric_table(view, tiers.TREATMENT, metrics.value)
    return section(
        "Tokens",
        Markdown("Shares of all tokens:"),
        metrics.metric_table(view, _TOKENS, metrics.value),
        *table_after("Shares of the characters of requests:", requests),
        *table_after("Tokens of the treatment in the first request of a trial:", treatments),
    )


def _has_usage(view: ReportView) -> bool:
    return metrics.above_zero(view, "usd") or metrics.above_zero(view, "tokens")


def statistics(view: ReportView) -> Iterator[Section]:
    """Yield the tables of all estimates and tests, with methods and p values."""
    if view.analysis is None:
        return
    for title, *tables in comparisons.statistics(view, view.analysis):
        yield section(f"Statistics: {title}", *tables)


def arm_table(view: ReportView, numbered: Sequence[ReportNote] = ()) -> Table:
    """Return the main table; raised numbers refer to the warnings `numbered`."""
    note_numbers = marks(numbered)
    rows = []
    for arm in view.arms:
        name, *values = arm_row(view, arm, wide=True)
        mark = f" <sup>{note_numbers[arm.arm]}</sup>" if arm.arm in note_numbers else ""
        rows.append((Markdown(f"{escape(name)}{mark}"), *values))
    headings = [f"{name} {metrics.LOWER_MARK}" if name in LOWER_IS_BETTER else name for name in HEADINGS]
    return Table(headings, rows, view.left_out, "arm")


def counts_note(view: ReportView, *, is_marked: bool) -> Markdown:
    """Return the line below the main table; `is_marked`: raised numbers in it refer to warnings."""
    shared = Markdown("All arms: {}. ").fill(code(view.shared)) if view.shared else ""
    marks = "; raised numbers refer to the warnings below" if is_marked else ""
    return Markdown("{}{}; ↓: lower is better{}.").fill(shared, COUNTS_NOTE, marks)
