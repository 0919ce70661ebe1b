"""Report when skills trigger: a sentence for each skill, and sections for terminal, Markdown and page."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model import one_line
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.triggers import FiringRate, QueryCounts, SkillTriggers, TriggerConfusion, TriggerReport
from scylla_gha.report.document import (
    UNDEFINED,
    Block,
    Bullets,
    Columns,
    Section,
    Table,
    clipped,
    escape,
    percent,
    section,
    section_markdown,
    table_of,
    tidy,
)
from scylla_gha.report.summary import marked

_LONGEST_QUERY: Final = 100
_MOST_QUERIES: Final = 60
_MOST_SWAPS: Final = 10
_PERCENT: Final = 100


def trigger_sentence(skill: SkillTriggers) -> str:
    """Return the answer for a skill in one sentence, after a warning if it does worse than its last version."""
    if skill.not_run:
        return f"Its queries were not run: {skill.not_run}."
    if skill.should is None and skill.should_not is None:
        return "None of its queries has a trial, so it is not known when it fires."
    parts = []
    if skill.should:
        parts.append(f"on {skill.should.fired} of {counted(skill.should.trials, 'ask')}{limits_text(skill.should)}")
    if skill.should_not:
        others = counted(
            skill.should_not.trials,
            "other" if skill.should else "ask that should not trigger it",
            "" if skill.should else "asks that should not trigger it",
        )
        parts.append(f"on {skill.should_not.fired} of {others}{limits_text(skill.should_not)}")
    warning = skill.change.warning if skill.change else ""
    first = f"{warning[0].upper()}{warning[1:]}. " if warning else ""
    return f"{first}Fires {' and '.join(parts)}.{_change_text(skill)}"


def _change_text(skill: SkillTriggers) -> str:
    """Return a sentence on the change since the last version; empty if it was not measured."""
    change = skill.change
    rulings = {"when it should fire": change.should, "when it should not": change.should_not} if change else {}
    parts = [f"{ruling.verdict.replace('_', ' ')} {words}" for words, ruling in rulings.items() if ruling]
    return f" Compared with its last version: {', '.join(parts)}." if parts else ""


def limits_text(rate: FiringRate) -> str:
    """Return a space and the interval in percent; empty if the interval is unknown."""
    if rate.low is None or rate.high is None:
        return ""
    return f" ({_PERCENT * rate.low:.0f}-{_PERCENT * rate.high:.0f} %)"


def trigger_sections(report: TriggerReport) -> tuple[Section, ...]:
    """Return the sections of a trigger report, the answer first."""
    return (
        section("Triggers", *_answer(report), is_news=True),
        section("Which skill was used first", *_confusion(report)),
        *(_queries(skill, report) for skill in report.skills),
        section("How to read this", Bullets([*report.notes, *_legend(report)])),
    )


def trigger_markdown(report: TriggerReport) -> str:
    """Return the whole report as Markdown."""
    parts = (section_markdown(part, is_open=part.is_news) for part in trigger_sections(report))
    return tidy("\n\n".join((f"# {escape('Triggers of skills')}", *parts)))


def _answer(report: TriggerReport) -> Iterator[Block]:
    sentences = [f"{skill.skill}: {trigger_sentence(skill)}" for skill in report.skills]
    yield Bullets(sentences)
    yield table_of([skill for skill in report.skills if skill.queries], _skill_columns(report))
    changes = [f"{skill.skill}: {line}" for skill in report.skills for line in _change_lines(skill)]
    yield Bullets(changes)


def _skill_columns(report: TriggerReport) -> Columns[SkillTriggers]:
    return {
        "skill": lambda skill: skill.skill,
        "fires when it should": lambda skill: _rate(skill.should, is_quiet=False),
        "stays quiet when not": lambda skill: _rate(skill.should_not, is_quiet=True),
        "queries": _query_numbers,
        f"no, undecided after {report.turns}": _undecided,
        "answer of first use": _first_uses,
        "no observation": lambda skill: str(sum(skill.missing.values())),
    }


def _rate(rate: FiringRate | None, *, is_quiet: bool) -> str:
    if rate is None:
        return UNDEFINED
    value, low, high = rate.rate, rate.low, rate.high
    if is_quiet:
        value = 1 - value
        low, high = (None if limit is None else 1 - limit for limit in (rate.high, rate.low))
    limits = "" if low is None or high is None else f" [{_PERCENT * low:.0f}, {_PERCENT * high:.0f}]"
    return f"{percent(value)}{limits}"


def _query_numbers(skill: SkillTriggers) -> str:
    rates = [rate.queries if rate else 0 for rate in (skill.should, skill.should_not)]
    return f"{rates[0]} + {rates[1]}{' (validation)' if skill.is_validation else ''}"


def _undecided(skill: SkillTriggers) -> str:
    quiet = sum(query.trials - query.fired for query in skill.queries)
    return f"{sum(query.undecided for query in skill.queries)} of {quiet}"


def _first_uses(skill: SkillTriggers) -> str:
    turns = Counter(turn for query in skill.queries for turn in query.turns)
    return ", ".join(f"{turn}: {count}" for turn, count in sorted(turns.items())) or UNDEFINED


def _change_lines(skill: SkillTriggers) -> Iterator[str]:
    change = skill.change
    if change is None:
        return
    if change.warning:
        yield marked("worse", change.warning)
    if change.should is None and change.should_not is None:
        yield "against its last version: no query has trials of both versions"
    if change.should:
        yield _ruling("fires when it should", change.should)
    if change.should_not:
        yield _ruling("stays quiet when not", change.should_not)


def _ruling(what: str, ruling: Ruling) -> str:
    words = ruling.verdict.replace("_", " ")
    return marked(ruling.verdict, f"{what}, against its last version: {words}: {ruling.why}")


def _confusion(report: TriggerReport) -> Iterator[Block]:
    if report.confusion is None:
        return
    yield _confusion_table(report.confusion)
    swaps = [
        f"{swap.used} instead of {swap.expected}: {swap.trials} of {counted(swap.of, 'trial')}"
        for swap in report.swaps[:_MOST_SWAPS]
    ]
    yield Bullets(swaps)


def _confusion_table(table: TriggerConfusion) -> Table:
    rows = [
        (label, *(str(count) if count else "" for count in row))
        for label, row in zip(table.labels, table.counts, strict=True)
    ]
    return Table(("label", *table.columns), rows)


def _queries(skill: SkillTriggers, report: TriggerReport) -> Section:
    ordered = sorted(skill.queries, key=lambda query: (not query.should, -_wrong(query)))
    columns: Columns[QueryCounts] = {
        "query": lambda query: clipped(one_line(query.text), _LONGEST_QUERY),
        "should trigger": lambda query: "yes" if query.should else "no",
        "triggered": lambda query: f"{query.fired}/{query.trials}",
        "answer of first use": lambda query: ", ".join(map(str, query.turns)) or UNDEFINED,
        f"undecided after {report.turns}": lambda query: str(query.undecided or ""),
    }
    if any(query.before for query in skill.queries):
        columns = {**columns, "last version": _last_version}
    if any(query.read for query in skill.queries):
        columns = {**columns, "only read": lambda query: str(query.read or "")}
    if any(query.split for query in skill.queries):
        columns = {**columns, "split": lambda query: query.split}
    return section(f"Queries of {skill.skill}", table_of(ordered, columns, _MOST_QUERIES, "query", "triggers.json"))


def _last_version(query: QueryCounts) -> str:
    return f"{query.before[0]}/{query.before[1]}" if query.before else UNDEFINED


def _wrong(query: QueryCounts) -> float:
    """Return the share of trials whose result differs from the query's label."""
    if not query.trials:
        return 0.0
    rate = query.fired / query.trials
    return 1 - rate if query.should else rate


def _legend(report: TriggerReport) -> Iterator[str]:
    used = "called by the Skill tool" if report.strict else "called by the Skill tool, or its SKILL.md was read"
    yield (
        f"{report.model} by {report.agent}, {counted(report.repetitions, 'trial')} of each query. "
        f"A skill has triggered if it was {used}, as the gateway saw it."
    )
    yield (
        "A rate is the mean of the queries' rates; its 95 % interval counts queries, not trials. The two rates are not "
        "merged: a skill that never triggers is right on half of a balanced file."
    )
    yield (
        f"A trial ends when the expected skills were called, or after {counted(report.turns, 'answer')}. "
        "If many first uses come late, or many trials are undecided, raise --trigger-turns."
    )
    if any(skill.is_validation for skill in report.skills):
        yield "The description was written with the queries of split `train`, so the rates cover only `validation`."
