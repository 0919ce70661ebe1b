"""Statistics of triggers: rates clustered by query, the confusion of skills, and the change between two versions.

A query's trials resemble each other, so the queries are the independent units. The two classes of queries are never put
into one number: a skill that never triggers is right on half of a balanced file.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import PASS, holm_adjusted, paired_contrasts, rule
from scylla_gha.counting import counted
from scylla_gha.model.analysis import Contrast, Ruling
from scylla_gha.model.triggers import (
    FiringRate,
    LabelledQuery,
    QueryCounts,
    SkillSwap,
    SkillTriggers,
    TriggerChange,
    TriggerConfusion,
    TriggerTrial,
)
from scylla_gha.stats.means import few_clusters_rate
from scylla_gha.stats.resampling import DEFAULT_RESAMPLING

NONE: Final = "none"
BUILT_IN: Final = "built-in"
VALIDATION: Final = "validation"
_CLASSES: Final = (True, False)
_SCENARIOS: Final = re.compile(r"\bscenario(s?)\b")


@dataclass(frozen=True, slots=True)
class TriggerData:
    """Queries and trials of one version of the skills.

    Attributes:
        queries: all that were run.
        trials: of these queries.
        is_strict: a skill whose file was only read does not count as triggered.
    """

    queries: Sequence[LabelledQuery]
    trials: Sequence[TriggerTrial]
    is_strict: bool = False

    def counts(self, skill: str) -> Iterator[QueryCounts]:
        """Yield the counts of the queries that are about a skill; those that call a skill by name are left out."""
        for query in self.queries:
            is_expected = skill in query.expected
            if not query.by_name and (is_expected or skill in query.rejected):
                yield self._counts(skill, query, should=is_expected)

    def observed(self, query: LabelledQuery) -> list[TriggerTrial]:
        """Return the trials of a query that are observations."""
        return [trial for trial in self.trials if trial.query == query.id and trial.missing is None]

    def missing(self, queries: Iterable[str]) -> dict[str, int]:
        """Return how many trials of queries are no observation, by outcome."""
        ids = set(queries)
        return dict(Counter(trial.missing for trial in self.trials if trial.query in ids and trial.missing))

    def _counts(self, skill: str, query: LabelledQuery, *, should: bool) -> QueryCounts:
        trials = self.observed(query)
        firings = [trial.fired(is_strict=self.is_strict) for trial in trials]
        turns = sorted(fired[skill] for fired in firings if skill in fired)
        read_only = sum(
            skill in fired and skill not in trial.used for trial, fired in zip(trials, firings, strict=True)
        )
        cut = sum(
            trial.undecided is not None and skill not in fired for trial, fired in zip(trials, firings, strict=True)
        )
        return QueryCounts(
            query=query.id,
            text=query.text,
            should=should,
            split=query.split,
            fired=len(turns),
            read=read_only,
            trials=len(trials),
            undecided=cut,
            turns=tuple(turns),
        )


def skill_triggers(
    skill: str, data: TriggerData, base: TriggerData | None = None, margin: float = 0.05
) -> SkillTriggers:
    """Return the answer for a skill.

    Args:
        skill: its name.
        data: of the version that is measured.
        base: of the last version; None: there is none.
        margin: difference of rates that counts as none.
    """
    last = {query.query: query for query in base.counts(skill)} if base else {}
    queries = tuple(_beside_last(query, last.get(query.query)) for query in data.counts(skill))
    claimed = [query for query in queries if query.split == VALIDATION] or queries
    return SkillTriggers(
        skill=skill,
        should=firing_rate([query for query in claimed if query.should]),
        should_not=firing_rate([query for query in claimed if not query.should]),
        is_validation=len(claimed) < len(queries),
        queries=queries,
        missing=data.missing(query.query for query in queries),
        change=trigger_change(claimed, list(last.values()), margin) if base else None,
    )


def _beside_last(query: QueryCounts, last: QueryCounts | None) -> QueryCounts:
    return query.model_copy(update={"before": (last.fired, last.trials)}) if last and last.trials else query


def firing_rate(queries: Iterable[QueryCounts]) -> FiringRate | None:
    """Return the mean of the queries' rates; None if no query has a trial."""
    known = [query for query in queries if query.trials]
    if not known:
        return None
    values = [float(at < query.fired) for query in known for at in range(query.trials)]
    labels = [number for number, query in enumerate(known) for _ in range(query.trials)]
    interval = few_clusters_rate(values, labels)
    assert interval is not None  # noqa: S101 there are values
    return FiringRate(
        fired=sum(query.fired for query in known),
        trials=len(values),
        queries=len(known),
        rate=interval.estimate or 0.0,
        low=interval.low,
        high=interval.high,
    )


def trigger_change(head: Sequence[QueryCounts], base: Sequence[QueryCounts], margin: float) -> TriggerChange:
    """Compare two versions of a skill on the queries that both have, by the share of trials that were right."""
    before = {(query.query, query.should): query for query in base if query.trials}
    both = [query for query in head if query.trials and (query.query, query.should) in before]
    pairs = [(query, before[query.query, query.should]) for query in both]
    classes = [should for should in _CLASSES if any(query.should == should for query, _ in pairs)]
    if not classes:
        return TriggerChange()
    first, second = (
        np.array(
            [[_good(pair[side]) if pair[side].should == should else np.nan for pair in pairs] for should in classes]
        )
        for side in (0, 1)
    )
    contrasts = paired_contrasts(first, second, PASS, "difference", DEFAULT_RESAMPLING, len(classes))
    rulings = {
        should: _ruling(contrast, margin)
        for should, contrast in zip(classes, holm_adjusted(contrasts, "classes of queries"), strict=True)
    }
    return TriggerChange(should=rulings.get(True), should_not=rulings.get(False), warning=_warning(rulings))


def _good(query: QueryCounts) -> float:
    """Return the share of trials that did what the label says."""
    rate = query.fired / query.trials
    return rate if query.should else 1 - rate


def _ruling(contrast: Contrast, margin: float) -> Ruling:
    ruling = rule(contrast.model_copy(update={"arm": "head", "baseline": "base"}), margin)
    words = _SCENARIOS.sub(lambda match: "queries" if match[1] else "query", ruling.why)
    return ruling.model_copy(update={"why": words})


def _warning(rulings: Mapping[bool, Ruling]) -> str:
    """Name a class that is worse although both together are better."""
    values = [ruling.contrast.value or 0.0 for ruling in rulings.values()]
    worse = [should for should, ruling in rulings.items() if ruling.verdict == "worse"]
    if not worse or len(values) < len(_CLASSES) or sum(values) <= 0:
        return ""
    where = "that should trigger the skill" if worse[0] else "that should not trigger the skill"
    return f"worse on the queries {where}, although the sum of both classes is better"


def confusion(data: TriggerData, skills: Sequence[str]) -> TriggerConfusion | None:
    """Return how often each skill was the first that was used, by label; None without a trial.

    A query that should trigger several skills is in a row of its own, as `a + b`.
    """
    columns = (*skills, BUILT_IN, NONE)
    rows: dict[str, Counter[str]] = {}
    for query in data.queries:
        for trial in () if query.by_name else data.observed(query):
            label = " + ".join(query.expected) or NONE
            rows.setdefault(label, Counter())[first_skill(trial, skills, is_strict=data.is_strict)] += 1
    if not rows:
        return None
    order = {label: at for at, label in enumerate((*skills, NONE))}
    labels = sorted(rows, key=lambda label: (order.get(label, len(skills) - 0.5), label))
    counts = tuple(tuple(rows[label][column] for column in columns) for label in labels)
    return TriggerConfusion(labels=tuple(labels), columns=columns, counts=counts)


def first_skill(trial: TriggerTrial, skills: Sequence[str], *, is_strict: bool) -> str:
    """Return the skill that a trial used first: one of these, `built-in` for another one, or `none`."""
    fired = trial.fired(is_strict=is_strict)
    first = min(fired, key=lambda name: fired[name], default=None)
    if first is None:
        return NONE
    return first if first in skills else BUILT_IN


def swaps(table: TriggerConfusion | None) -> tuple[SkillSwap, ...]:
    """Return the pairs of skills of which one was used in the place of the other, the most frequent first."""
    if table is None:
        return ()
    pairs = [
        SkillSwap(expected=label, used=column, trials=count, of=sum(row))
        for label, row in zip(table.labels, table.counts, strict=True)
        for column, count in zip(table.columns, row, strict=True)
        if count and label != NONE and column not in {BUILT_IN, NONE} and column not in label.split(" + ")
    ]
    return tuple(sorted(pairs, key=lambda swap: (-swap.trials / swap.of, swap.expected, swap.used)))


def trigger_notes(skills: Iterable[SkillTriggers]) -> Iterator[str]:
    """Yield cautions for the reader: classes without queries, and trials that were no observation."""
    for skill in skills:
        if skill.not_run:
            continue
        for rate, kind in ((skill.should, "should"), (skill.should_not, "should not")):
            if rate is None:
                yield f"{skill.skill}: no query that {kind} trigger it has a trial"
        if skill.missing:
            reasons = ", ".join(f"{count} {outcome}" for outcome, count in sorted(skill.missing.items()))
            total = counted(sum(skill.missing.values()), "trial is", "trials are")
            yield f"{skill.skill}: {total} no observation ({reasons}), and counted in no rate"
