"""Outcomes of trials, reasons of failures, outliers, excluded cells, and the agreement of judges."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import Agreement, Pair
from scylla_gha.model.report import Excluded
from scylla_gha.report.markdown_table import escape, fold, folder, more, raw_table, table
from scylla_gha.report.numbers import UNDEFINED, number, percent
from scylla_gha.report.view import MOST_COLUMNS, ReportView

_MOST: Final = 50
_MOST_FAILED: Final = 30
_MOST_ODD: Final = 20
_NO_TRIAL: Final = {"missing", "not_started"}


def failures(page: ReportView) -> Iterator[str]:
    """Yield the outcomes of all trials, and the reasons of failures."""
    report = page.report
    total = Counter[str]()
    for arm in report.arms:
        total.update(arm.outcomes)
    failed = report.failures
    if not failed and set(total) <= {"completed"}:
        return
    yield "\n## Failures\n"
    yield from _outcomes(page, total)
    if failed:
        yield "Why judged trials did not pass, with some of them:"
        rows = ((escape(page.name(one.arm)), escape(one.kind), f"{one.count:,}",
                 " ".join(_trial(page, cell) for cell in one.cells)) for one in failed[:_MOST_FAILED])  # fmt: skip
        yield from raw_table(("arm", "why", "trials", "such as"), rows)
        yield from more(len(failed) - _MOST_FAILED, "kind")


def _outcomes(page: ReportView, total: Counter[str]) -> Iterator[str]:
    kinds = [kind for kind, _ in total.most_common()]
    arms = page.report.arms if len(page.report.arms) <= MOST_COLUMNS else ()
    if not kinds:
        return
    yield "How trials ended (`completed` is not yet passed):"
    rows = ((kind, f"{total[kind]:,}", *(str(arm.outcomes.get(kind, 0)) for arm in arms)) for kind in kinds)
    yield from table(("outcome", "all", *(page.name(arm.arm) for arm in arms)), rows)


def odd(page: ReportView) -> Iterator[str]:
    """Yield trials that a person should look at; they count like all others."""
    found = page.analysis.odd if page.analysis else ()
    if not found:
        return
    yield "\n## Outliers\n"
    yield "They count like all others; look at them."
    yield from raw_table(("trial", "what"), ((_trial(page, one.cell), escape(one.what)) for one in found[:_MOST_ODD]))
    yield from more(len(found) - _MOST_ODD, "trial")


def excluded(page: ReportView) -> Iterator[str]:
    """Yield the cells that are excluded from the rates, with reasons."""
    found = page.report.excluded
    if not found:
        return
    yield f"\n## Not in the rates: {len(found):,}\n"
    kinds = Counter(one.outcome for one in found)
    if len(found) > _MOST:
        yield ", ".join(f"{count:,} {escape(kind)}" for kind, count in kinds.most_common()) + "."
    rows = ((_cell(page, one), escape(one.outcome), escape(one.reason)) for one in found[:_MOST])
    yield from raw_table(("cell", "outcome", "reason"), rows)
    yield from more(len(found) - _MOST)


def excused(page: ReportView) -> Iterator[str]:
    """Yield the attempts that do not measure the agent, by arm, repeated ones included."""
    found = page.report.excused
    if not found:
        return
    yield "\n## Excused attempts\n"
    yield "They ended by a fault that is not the agent's, by evidence from outside its box, and count in no rate."
    rows = ((escape(page.name(one.arm)), escape(one.outcome), f"{one.attempts:,}", f"{one.trials:,}",
             escape(one.reason)) for one in found[:_MOST])  # fmt: skip
    yield from raw_table(("arm", "outcome", "attempts", "trials", "one reason"), rows)
    yield from more(len(found) - _MOST)


def _cell(page: ReportView, one: Excluded) -> str:
    return escape(one.cell) if one.outcome in _NO_TRIAL else _trial(page, one.cell)


def _trial(page: ReportView, cell: str) -> str:
    """Return a trial's id, as a link unless the rows are imported."""
    return escape(cell) if page.report.imported else folder(cell)


_GOOD: Final = 0.8  # Krippendorff 2004, Content Analysis, 241
_FAIR: Final = 0.667
_BIASED: Final = 0.05  # a twentieth of the scale
_MOST_SCENARIOS: Final = 10


def judges(page: ReportView) -> Iterator[str]:
    """Yield the agreement of judges, if several scored the same trials."""
    found = page.analysis.agreement if page.analysis else None
    if found is None:
        return
    yield "\n## Judges\n"
    yield f"{counted(len(found.judges), 'judge')} scored {counted(found.trials, 'trial')}. {_meaning(found)}"
    yield from _decisive(found)
    yield from table(("measure of agreement", "value", "what it is"), _numbers(found))
    if found.pairs:
        yield "Differences between judges:"
        yield from table(
            ("judges", "difference of scores", "its standard deviation", "trials"), map(_pair, found.pairs)
        )
    known = sorted(((alpha, name) for name, alpha in found.by_scenario.items() if alpha is not None))
    rows = [(name, number(alpha)) for alpha, name in known[:_MOST_SCENARIOS]]
    if len(found.by_scenario) > 1 and rows:
        lines = [*table(("scenario", "alpha"), rows), *more(len(known) - _MOST_SCENARIOS, "scenario")]
        without = len(found.by_scenario) - len(known)
        lines += [f"{counted(without, 'scenario')} without an alpha: all scores are alike."] if without else []
        yield from fold("Alpha of each scenario, least agreement first", lines)


def _decisive(found: Agreement) -> Iterator[str]:
    if found.decisive == 0:
        yield "In none of them did the consensus rule decide the pass: all judges were on one side of the threshold."
    elif found.decisive is not None:
        yield (f"In {percent(found.decisive)} of them, judges were on both sides of the threshold: the rule of "
               "consensus decided whether the trial passed.")  # fmt: skip


def _meaning(found: Agreement) -> str:
    if found.alpha is None:
        return "Agreement is unknown: the scores are all equal, or too few."
    said = f"**They {_word(found.alpha)}** (Krippendorff's alpha {number(found.alpha)}{_limits(found)})"
    if found.alpha >= _GOOD:
        return f"{said}: scores hardly depend on the judge."
    if found.alpha >= _FAIR:
        return f"{said}: good enough for careful conclusions."
    return f"{said}: read what they wrote before you rely on scores."


def _word(alpha: float) -> str:
    return "agree" if alpha >= _GOOD else "mostly agree" if alpha >= _FAIR else "do not agree well"


def _limits(found: Agreement) -> str:
    if found.alpha_low is None or found.alpha_high is None:
        return ""
    return f" [{number(found.alpha_low)}, {number(found.alpha_high)}]"


def _numbers(found: Agreement) -> Iterator[tuple[str, str, str]]:
    yield "alpha", f"{number(found.alpha)}{_limits(found)}", "Krippendorff's, interval scale: 1 is perfect, 0 is chance"
    yield "ICC(2,1)", number(found.icc_single), "how well one judge alone stands for any judge"
    yield f"ICC(2,{len(found.judges)})", number(found.icc_panel), "how well the panel's mean stands for any panel's"
    yield "kappa", number(found.kappa), "of grades, quadratic weights, mean over pairs of judges"


def _pair(pair: Pair) -> tuple[str, ...]:
    tilt = "" if abs(pair.bias) < _BIASED else f" (the {'first' if pair.bias > 0 else 'second'} is more generous)"
    sd = UNDEFINED if pair.sd is None else number(pair.sd)
    return f"{pair.first} - {pair.second}", f"{pair.bias:+.2f}{tilt}", sd, str(pair.n)
