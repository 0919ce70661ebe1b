"""The comparisons that an experiment declares as its answer: withheld verdicts, and what they say of the hypothesis.

A hypothesis is read by verdicts alone, never by the sign of a difference: an experiment declares with `expected` which
verdicts would support it. Verdicts of one family are adjusted for its size, so a single one is enough to claim that
some comparison has it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from scylla_gha.aggregate.warnings import excess_exclusions, excess_gaps, withheld
from scylla_gha.counting import counted
from scylla_gha.model.analysis import FAMILIES, PAIRED, Analysis, Ruling, Verdict
from scylla_gha.model.experiment import Expectation, Experiment
from scylla_gha.model.plan import Plan
from scylla_gha.model.report import ArmSummary, Comparison, HypothesisReading
from scylla_gha.model.unpaired_arms import unpaired_arms

Status = Literal["supported", "contradicted", "not_enough_data"]
_VERDICTS: Final[dict[str, frozenset[Verdict]]] = {
    "better": frozenset({"better"}), "worse": frozenset({"worse"}), "differ": frozenset({"better", "worse"}),
}  # fmt: skip
_WORDS: Final = {"better": "better", "worse": "worse", "differ": "different"}


def withheld_answers(analysis: Analysis, plan: Plan, arms: Sequence[ArmSummary]) -> Analysis:
    """Return the analysis without verdicts of the declared family on sides of which too many cells do not count."""
    summaries = {arm.arm: arm for arm in arms}

    def reason(side: str) -> str | None:
        members = [summaries[arm.id] for arm in plan.members(side) if arm.id in summaries]
        return excess_exclusions(side, [arm.counts for arm in members]) or excess_gaps(side, members)

    answers = []
    for ruling in analysis.answers:
        reasons = filter(None, map(reason, (ruling.arm, ruling.baseline)))
        answers.append(withheld(ruling, "; ".join(reasons)))
    return analysis.model_copy(update={"answers": tuple(answers)})


def analysis_warnings(plan: Plan, analysis: Analysis | None) -> Iterator[str]:
    """Yield the warnings of the statistics, and one if the declared family compares nothing."""
    yield from analysis.warnings if analysis else ()
    yield from (f"{arm}: it is not compared, since {reason}." for arm, reason in unpaired_arms(plan).items())
    if plan.family in PAIRED or (analysis and analysis.answers):
        return
    why = "the rows have no two sides of it" if analysis else "the statistics are not installed"
    yield (f"The experiment asks for {FAMILIES[plan.family]}, and {why}: the answer is of "
           f"{FAMILIES['baseline']}.")  # fmt: skip


def hypothesis_reading(experiment: Experiment, answer: Sequence[Comparison | Ruling]) -> HypothesisReading | None:
    """Read the hypothesis of an experiment by its verdicts; None if it has none."""
    text, expected = experiment.hypothesis, experiment.expected
    if text is None:
        return None
    if expected is None:
        why = "the experiment does not declare which verdicts would support it (`expected`)"
        return HypothesisReading(text=text, expected=None, status="not_declared", why=why)
    verdicts = [comparison.verdict for comparison in answer]
    return HypothesisReading(text=text, expected=expected, status=hypothesis_status(expected, verdicts),
                             why=_why(expected, verdicts))  # fmt: skip


def hypothesis_status(expected: Expectation, verdicts: Sequence[Verdict]) -> Status:
    """Return what verdicts say of an expectation; a comparison without enough data may still turn out either way."""
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
    """Name what was expected, and the number of verdicts of each kind."""
    quantity, _, kind = expected.partition("_")
    counts = Counter(verdicts)
    shown = ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in counts.most_common())
    return (f"it expects {quantity} of the comparisons to be {_WORDS[kind]}; of "
            f"{counted(len(verdicts), 'comparison')}{': ' if shown else ''}{shown}")  # fmt: skip
