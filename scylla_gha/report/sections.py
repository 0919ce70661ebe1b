"""The sections of an experiment's report, in their order: each says nothing if there is nothing to say."""

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
    introduced,
    more,
    names,
    percent,
    section,
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

NOT_COMPARED: Final = "Nothing is compared: no arm stands beside a baseline."
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
    """The answer, which every rendering begins with.

    Attributes:
        banner: what a reader must know before any number; empty: the trials were measured here.
        counts: the number of verdicts of each kind; empty: all are shown.
        verdicts: the clearest first.
        left_out: number of further verdicts.
        notes: notes of the report.
        more_data: the command that measures more; None: there is enough data, or it cannot be measured here.
        hypothesis: with what the verdicts say of it; empty: there is none.
        mode_by_model: whether effects of modes depend on the model; empty: that was not tried.
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
    """Yield the sections of the report, the news first."""
    has_family = view.report.answer != view.report.comparisons
    yield from () if has_family else (changes(view),)
    yield from (tier_results(view), mode_effects(view), wholes(view), questions(view))
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
    """Return the changes of each arm against its baseline."""
    table = comparisons.changes(view)
    if not table.rows:
        return section("Changes")
    family = view.report.family
    has_family = view.report.answer != view.report.comparisons
    words = (
        f"The answer above is of other comparisons ({family}). These are a family of their own, and rows other than "
        "the pass rate are exploratory."
        if has_family
        else "Only the pass rate answers the question; the other rows are exploratory."
    )
    if len(view.changes) >= comparisons.FEW_ARMS:
        words += " With this many arms, other rows are shown only if their interval excludes no change."
    against = "the baseline" if view.baseline else view.against
    baseline = Markdown("The baseline is {}. ").fill(code(view.against)) if view.baseline else ""
    intro = Markdown("{}{}").fill(baseline, words)
    return section(f"Changes against {against}", intro, table, more(view.left_out, "arm"), is_news=True)


def tier_results(view: ReportView) -> Section:
    """Return the tiers, their steps, best sub-tests and tokens, if there are several tiers or sub-tests."""
    ladder, best = tiers.tiers(view), tiers.best_subtests(view)
    if len(ladder.rows) < 2 and not best.rows:  # noqa: PLR2004 a ladder has two tiers
        return section("Tiers")
    return section(
        "Tiers",
        ladder,
        *introduced("Each tier against the one before:", tiers.tier_steps(view)),
        *introduced("The best sub-test of each tier; the last column is the number to go by:", best),
        *introduced("Parts of requests, as shares of their characters:", tiers.tier_tokens(view)),
        *introduced("Tokens of the treatment in a trial's first request, and its use:", tiers.tier_treatments(view)),
        is_news=True,
    )


def mode_effects(view: ReportView) -> Section:
    """Return whether effects of modes depend on the model."""
    words = (
        "Does the effect of a mode depend on the model? Each row compares an arm that differs from the baseline in "
        "mode and model with the arms that differ in one of them. Effects are changes of the pass rate."
    )
    return section("Modes by models", *introduced(words, tiers.modes_by_models(view)), is_news=True)


def wholes(view: ReportView) -> Section:
    """Return configurations, each beside the sum of its parts' effects."""
    return section("Wholes and their parts", tiers.wholes(view), is_news=True)


def questions(view: ReportView) -> Section:
    """Return the five questions of the Scylla paper with their answers."""
    answers = five_answers(view)
    items = [Markdown("**{}** *{}.* {}").fill(answer.question, answer.reading, answer.basis) for answer in answers]
    return section("Five questions", Bullets(items, range(1, len(items) + 1)), is_news=True)


def failures(view: ReportView) -> Section:
    """Return how trials ended, and why judged ones did not pass; news unless all passed."""
    report = view.report
    if not report.failures and all(set(arm.outcomes) <= {"completed"} for arm in report.arms):
        return section("Failures")
    return section(
        "Failures",
        *introduced("How trials ended:", outcomes.outcomes(view)),
        *introduced("Why judged trials did not pass:", outcomes.failures(view)),
        is_news=any(arm.passed != arm.counts.judged for arm in report.arms),
    )


def not_possible(view: ReportView) -> Section:
    """Return the scenarios that are not possible with the tools of a mode."""
    words = (
        "No cell was planned for these. An arm's rates cover the scenarios of its own mode; two arms are compared on "
        "the scenarios that both have."
    )
    table = outcomes.not_possible(view)
    return section("Not possible with these tools", *introduced(words, table), is_news=True)


def excluded(view: ReportView) -> Section:
    """Return the cells that are not in the rates, by outcome if there are many."""
    table, cells = outcomes.excluded(view), view.report.excluded
    by_outcome = Counter(cell.outcome for cell in cells).most_common()
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in by_outcome)
    return section(f"Not in the rates: {len(cells):,}", f"{counts}." if table.left_out > 0 else "", table, is_news=True)


def warnings(view: ReportView, most: int = _MOST_WARNINGS) -> Section:
    """Return the numbered warnings."""
    numbered = notes(view)
    items = note_bullets(view, numbered[:most])
    return section(f"Warnings: {len(numbered):,}", items, more(len(numbered) - most, "warning"), is_news=True)


def note_bullets(view: ReportView, numbered: list[ReportNote]) -> Bullets:
    """Return warnings with their numbers, to which tables refer."""
    return Bullets([note_text(view, note) for note in numbered], [note.number for note in numbered])


def judges(view: ReportView) -> Section:
    """Return how well judges agree; news if they do not, or if that is unknown."""
    agreement = view.analysis.agreement if view.analysis else None
    if agreement is None:
        return section("Judges")
    unknown = sum(alpha is None for alpha in agreement.by_scenario.values())
    alphas = outcomes.scenario_alphas(agreement) if len(agreement.by_scenario) > 1 else Table()
    without = f"{counted(unknown, 'scenario')} without an alpha: all scores are alike."
    return section(
        "Judges",
        Markdown("\n".join(filter(None, (_agreement_words(agreement), _decisive_words(agreement))))),
        outcomes.agreement_measures(agreement),
        *introduced("Differences between judges:", outcomes.judge_pairs(agreement)),
        *introduced("Alpha of each scenario, least agreement first:", alphas),
        without if unknown and alphas.rows else "",
        is_news=agreement.alpha is None or agreement.alpha < outcomes.ALPHA_FAIR,
    )


def _agreement_words(agreement: Agreement) -> str:
    scored = f"{counted(len(agreement.judges), 'judge')} scored {counted(agreement.trials, 'trial')}."
    alpha, text = agreement.alpha, outcomes.alpha_text(agreement)
    if alpha is None:
        return f"{scored} Agreement is unknown: the scores are all equal, or too few."
    if alpha >= outcomes.ALPHA_GOOD:
        return f"{scored} **They agree** (Krippendorff's alpha {text}): scores hardly depend on the judge."
    if alpha >= outcomes.ALPHA_FAIR:
        return f"{scored} **They mostly agree** (Krippendorff's alpha {text}): good enough for careful conclusions."
    return (
        f"{scored} **They do not agree well** (Krippendorff's alpha {text}): read what they wrote before you rely on "
        "scores."
    )


def _decisive_words(agreement: Agreement) -> str:
    if agreement.decisive is None:
        return ""
    if agreement.decisive == 0:
        return "The consensus rule decided no pass: in every trial, all judges were on the same side of the threshold."
    return (
        f"In {percent(agreement.decisive)} of them, judges were on both sides of the threshold: the rule of consensus "
        "decided whether the trial passed."
    )


def scenarios(view: ReportView) -> Section:
    """Return the matrix of scenarios and arms."""
    return section("Scenarios", *matrix_blocks(outcomes.scenario_matrix(view)))


def matrix_blocks(matrix: outcomes.ScenarioMatrix) -> tuple[Block, ...]:
    """Return a matrix of scenarios and arms, after a sentence on its numbers; empty without scenarios."""
    if not matrix.table.rows:
        return ()
    hardest = f"The {len(matrix.table.rows)} hardest of {matrix.scenarios:,}.\n" if matrix.is_hardest else ""
    return Markdown(hardest + ("Passed of judged:" if matrix.is_wide else _range_words(matrix.arms))), matrix.table


def _range_words(arms: int) -> str:
    return f"Pass rates of all {counted(arms, 'arm')}; each arm's own are in report.json:"


def kinds(view: ReportView) -> Section:
    """Return pass rates by category, difficulty and size."""
    tables, arms = outcomes.kinds(view), len(view.report.arms)
    intro = "" if view.is_wide or not tables else Markdown(_range_words(arms))
    return section("Kinds of scenario", intro, *tables)


def reliability(view: ReportView) -> Section:
    """Return how far repetitions agree, if there are any."""
    measured = (view.measure(arm.arm, "outcome_consistency") for arm in view.arms)
    if not any(measure is not None and measure.value is not None for measure in measured):
        return section("Reliability")
    tries = metrics.tries(view)
    words = "".join(f"{k}." for k in tries)
    if len(tries) > 1:
        arms = "; ".join(f"{k} for {names(of_k)}" for k, of_k in tries.items())
        words = f"k differs between arms, and columns with k cannot be compared between them: {arms}."
    return section("Reliability", Markdown(words), metrics.metric_table(view, _RELIABILITY))


def tools(view: ReportView) -> Section:
    """Return calls of tools, in all and by tool."""
    if view.analysis is None or not metrics.above_zero(view, "tool_calls"):
        return section("Tools")
    by_tool = introduced("Calls per trial, by tool:", metrics.tool_calls(view))
    return section("Tools", metrics.metric_table(view, _TOOLS), *by_tool)


def operations(view: ReportView) -> Section:
    """Return operations on GitHub's API."""
    possible = ", on the scenarios that are possible in all modes" if view.report.not_possible else ""
    words = (
        f"Mean operations per trial, by REST or GraphQL; a batch counts as the operations in it{possible}. git: "
        "commands that reached GitHub."
    )
    return section("Operations on GitHub", *introduced(words, outcomes.api_operations(view)))


def time(view: ReportView) -> Section:
    """Return the parts of a trial's time, if any was measured."""
    parts = ("first_byte_seconds", "generation_seconds", "tool_seconds")
    if not any(metrics.above_zero(view, part) for part in parts):
        return section("Time")
    return section("Time", "Per trial; parts may overlap.", metrics.metric_table(view, _TIME))


def pass_costs(view: ReportView) -> Section:
    """Return costs of a pass, requests to other models, and the cheapest arms."""
    if not _is_used(view):
        return section("Cost of a pass")
    side = [
        Markdown("**{}**: {}, {} of its {}, went to other models than its own.").fill(
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
        *introduced(words, shares),
    )


def _frontier(view: ReportView) -> Iterator[Markdown]:
    frontier = view.analysis.frontier if view.analysis else None
    if frontier is None:
        return
    pooled = frontier.pooled
    note = f"; {pooled.note}" if pooled.note else ""
    yield Markdown("**The cheapest arm's pass** costs {}: {}. Over the {} that all arms tried{}.").fill(
        metrics.estimate(pooled),
        metrics.first_names(view, frontier.best),
        counted(pooled.scenarios, "scenario"),
        note,
    )
    human = f"a person's price is known for {frontier.human}" if frontier.human else "no person's price is known"
    unsolved = f"; {frontier.unsolved} have neither a passing arm nor a known price" if frontier.unsolved else ""
    yield Markdown("**Each scenario by its own cheapest arm**: {}, the mean over scenarios ({}{}).").fill(
        metrics.value(frontier.per_scenario), human, unsolved
    )
    if frontier.pareto:
        yield Markdown("**Highest pass rate for the cost**: {}.").fill(metrics.first_names(view, frontier.pareto))


def tokens(view: ReportView) -> Section:
    """Return shares of tokens, of the characters of requests, and tokens of the treatment."""
    if not _is_used(view):
        return section("Tokens")
    requests = metrics.metric_table(view, tiers.REQUEST_SHARES, metrics.value)
    treatments = metrics.metric_table(view, tiers.TREATMENT, metrics.value)
    return section(
        "Tokens",
        Markdown("Shares of all tokens:"),
        metrics.metric_table(view, _TOKENS, metrics.value),
        *introduced("Shares of the characters of requests:", requests),
        *introduced("Tokens of the treatment in the first request of a trial:", treatments),
    )


def _is_used(view: ReportView) -> bool:
    return metrics.above_zero(view, "usd") or metrics.above_zero(view, "tokens")


def statistics(view: ReportView) -> Iterator[Section]:
    """Yield the tables of all estimates and tests, with methods and p values."""
    if view.analysis is None:
        return
    for title, *tables in comparisons.statistics(view, view.analysis):
        yield section(f"Statistics: {title}", *tables)


def arm_table(view: ReportView, numbered: Sequence[ReportNote] = ()) -> Table:
    """Return the main table; raised numbers refer to the warnings."""
    noted = marks(numbered)
    rows = []
    for arm in view.arms:
        name, *values = arm_row(view, arm, wide=True)
        mark = f" <sup>{noted[arm.arm]}</sup>" if arm.arm in noted else ""
        rows.append((Markdown(f"{escape(name)}{mark}"), *values))
    headings = [f"{name} {metrics.LOWER_MARK}" if name in LOWER_IS_BETTER else name for name in HEADINGS]
    return Table(headings, rows, view.left_out, "arm")


def counts_note(view: ReportView, *, is_marked: bool) -> Markdown:
    """Return the line below the main table; `is_marked`: raised numbers in it refer to warnings."""
    shared = Markdown("All arms: {}. ").fill(code(view.shared)) if view.shared else ""
    marks = "; the small numbers are those of the warnings below" if is_marked else ""
    return Markdown("{}{}; ↓: lower is better{}.").fill(shared, COUNTS_NOTE, marks)
