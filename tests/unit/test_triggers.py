"""Statistics of triggers, and their report."""

import json

import numpy as np
import pytest

from scylla_gha.analysis.triggers import (
    TriggerData,
    confusion,
    firing_rate,
    skill_triggers,
    swaps,
    trigger_change,
    trigger_notes,
)
from scylla_gha.model.triggers import LabelledQuery, QueryCounts, SkillTriggers, TriggerReport, TriggerTrial
from scylla_gha.report.document import plain_lines
from scylla_gha.report.page.html import blocks_html
from scylla_gha.report.trigger_sections import trigger_markdown, trigger_sections, trigger_sentence
from scylla_gha.stats.means import few_clusters_rate, macro_rate
from tests.benchmarks.trigger_coverage import PROMISED, Population, bimodal, coverage, false_verdicts, smooth
from tests.support.golden import golden

ASK = LabelledQuery(id="001-a", text="Sum the ledger", expected=("tally",))
OTHER = LabelledQuery(id="002-b", text="What is a ledger?", rejected=("tally",))
BOOKS = LabelledQuery(id="003-c", text="Order this book", expected=("books",), rejected=("tally",))
NAMED = LabelledQuery(id="004-d", text="/tally pots.csv", expected=("tally",), by_name=True)


def trial(query: LabelledQuery, skill: str = "", turn: int = 1, **given: object) -> TriggerTrial:
    return TriggerTrial.model_validate({"query": query.id, "used": {skill: turn} if skill else {}, **given})


def counts(fired: int, trials: int = 3, *, should: bool = True, name: str = "q") -> QueryCounts:
    return QueryCounts(query=name, text=name, should=should, fired=fired, trials=trials)


def several(*fired: int, should: bool = True) -> list[QueryCounts]:
    return [counts(count, should=should, name=f"{should}{at}") for at, count in enumerate(fired)]


DATA = TriggerData(
    [ASK, OTHER, BOOKS, NAMED],
    [
        trial(ASK, "tally"),
        trial(ASK, "tally", 3),
        trial(ASK, undecided=5),
        trial(OTHER),
        trial(OTHER, "pdf"),
        trial(OTHER, read={"tally": 2}),
        trial(BOOKS, "books"),
        trial(BOOKS, "tally", 2),
        trial(BOOKS, missing="timeout", used={"tally": 1}),
        trial(NAMED, "tally"),
    ],
)


def test_each_query_is_counted_with_the_turn_of_first_use() -> None:
    ask, other, books = DATA.counts("tally")
    assert (ask.should, ask.fired, ask.trials, ask.undecided, ask.turns) == (True, 2, 3, 1, (1, 3))
    assert (other.should, other.fired, other.read, other.trials, other.turns) == (False, 1, 1, 3, (2,))
    assert (books.should, books.fired, books.trials) == (False, 1, 2)  # the timeout is no observation
    answer = skill_triggers("tally", DATA)
    assert answer.missing == {"timeout": 1}
    assert list(trigger_notes([answer])) == [
        "tally: 1 trial is no observation (1 timeout), and counted in no rate",
    ]


def test_a_file_that_was_read_does_not_count_if_strict() -> None:
    strict = TriggerData(DATA.queries, DATA.trials, is_strict=True)
    _, other, _ = strict.counts("tally")
    assert (other.fired, other.read) == (0, 0)


def test_rates_are_means_of_queries_not_of_trials() -> None:
    rate = firing_rate([counts(3, name="a"), counts(0, 1, name="b"), counts(0, 0, name="c")])
    assert rate is not None
    assert (rate.fired, rate.trials, rate.queries, rate.rate) == (3, 4, 2, 0.5)
    assert firing_rate([counts(0, 0)]) is None
    alone = firing_rate([counts(2)])
    assert alone is not None
    assert (alone.low, alone.high) == (None, None)


def test_the_interval_is_never_narrower_than_that_of_the_macro_rate() -> None:
    values, labels = [1.0] * 27 + [0.0] * 3, np.repeat(np.arange(10), 3)
    wide, narrow = few_clusters_rate(values, labels), macro_rate(values, labels)
    assert wide is not None
    assert narrow is not None
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.high is not None
    assert wide.estimate == narrow.estimate == pytest.approx(0.9)
    assert 0 < wide.low <= narrow.low < 0.9
    assert 0.99 < wide.high <= 1
    assert few_clusters_rate([], []) is None


@pytest.mark.parametrize(("queries", "repetitions"), [(8, 3), (10, 5), (16, 5), (20, 3)])
@pytest.mark.parametrize("population", [bimodal(0.9, 0.98, 0.02), bimodal(0.8, 0.95, 0.05), smooth(0.8, 2.0)])
def test_intervals_cover_what_they_promise(population: Population, queries: int, repetitions: int) -> None:
    assert coverage(population, queries, repetitions, 1_000) >= PROMISED


def test_a_skill_compared_with_itself_has_few_false_verdicts() -> None:
    assert false_verdicts(bimodal(0.8, 0.95, 0.05), 12, 3, 150) <= 0.05


def test_a_change_is_paired_by_query_and_each_class_has_its_own_verdict() -> None:
    head = [*several(*[3] * 10), *several(*[0] * 8, should=False)]
    base = [*several(*[0, 1] * 5), *several(*[0] * 8, should=False)]
    change = trigger_change(head, base, 0.05)
    assert change.should is not None
    assert change.should_not is not None
    assert change.should.verdict == "better"
    assert "over 10 queries" in change.should.why
    assert change.should_not.verdict == "not_enough_data"
    assert change.warning == ""


def test_a_class_that_is_worse_is_said_first_although_the_sum_is_better() -> None:
    head = [*several(*[3] * 12), *several(*[2] * 12, should=False)]
    base = [*several(*[0] * 12), *several(*[0] * 12, should=False)]
    change = trigger_change(head, base, 0.05)
    assert (change.should is not None, change.should_not is not None) == (True, True)
    assert change.should_not is not None
    assert change.should_not.verdict == "worse"
    assert change.warning.startswith("worse on the queries that should not trigger the skill")
    answer = SkillTriggers(skill="tally", should=firing_rate(head[:12]), change=change)
    assert trigger_sentence(answer).startswith("Worse on the queries that should not")
    words = "Compared with its last version: better when it should fire, worse when it should not."
    assert trigger_sentence(answer).endswith(words)


def test_queries_of_one_version_only_are_not_compared() -> None:
    change = trigger_change([counts(3, name="a")], [counts(3, name="b")], 0.05)
    assert (change.should, change.should_not) == (None, None)
    assert trigger_change([counts(3)], [counts(0, 0)], 0.05).should is None


def test_each_query_has_the_counts_of_the_last_version() -> None:
    answer = skill_triggers("tally", DATA, TriggerData(DATA.queries, DATA.trials[:1]))
    assert {query.before for query in answer.queries} > {None}


def test_only_the_validation_split_is_a_claim() -> None:
    train = LabelledQuery(id="005-e", text="t", expected=("tally",), split="train")
    later = LabelledQuery(id="006-f", text="v", expected=("tally",), split="validation")
    data = TriggerData([train, later], [trial(train, "tally"), trial(later)])
    answer = skill_triggers("tally", data)
    assert answer.is_validation
    assert answer.should is not None
    assert (answer.should.fired, answer.should.trials, len(answer.queries)) == (0, 1, 2)
    assert not skill_triggers("tally", DATA).is_validation


def test_the_matrix_has_a_row_for_each_label_and_names_swaps() -> None:
    table = confusion(DATA, ["books", "tally"])
    assert table is not None
    assert table.columns == ("books", "tally", "built-in", "none")
    assert dict(zip(table.labels, table.counts, strict=True)) == {
        "books": (1, 1, 0, 0),
        "tally": (0, 2, 0, 1),
        "none": (0, 1, 1, 1),
    }
    (swap,) = swaps(table)
    assert (swap.expected, swap.used, swap.trials, swap.of) == ("books", "tally", 1, 2)
    assert confusion(TriggerData([], []), ["tally"]) is None


def test_a_query_that_expects_two_skills_is_a_row_of_its_own() -> None:
    both = LabelledQuery(id="007-g", text="b", expected=("books", "tally"))
    table = confusion(TriggerData([both], [trial(both, "tally")]), ["books", "tally"])
    assert table is not None
    assert table.labels == ("books + tally",)
    assert swaps(table) == ()


def report() -> TriggerReport:
    head = [*several(3, 3, 3, 2, 3, 3, 3, 3, 3, 1), *several(0, 0, 1, 0, 0, 0, 0, 0, 1, 0, should=False)]
    base = [*several(*[0] * 10), *several(*[0] * 10, should=False)]
    marked = [
        query.model_copy(update={"turns": (1,) * query.fired, "undecided": 3 - query.fired, "before": (0, 3)})
        for query in head
    ]
    tally = SkillTriggers(
        skill="tally",
        should=firing_rate(head[:10]),
        should_not=firing_rate(head[10:]),
        queries=tuple(marked),
        missing={"timeout": 2},
        change=trigger_change(head, base, 0.05),
    )
    quiet = SkillTriggers(skill="quiet|<b>", not_run="only users can call it (disable-model-invocation)")
    table = confusion(DATA, ["books", "tally"])
    return TriggerReport(
        agent="claude-code",
        model="claude-sonnet-5",
        repetitions=3,
        turns=5,
        skills=(tally, quiet),
        confusion=table,
        swaps=swaps(table),
        notes=tuple(trigger_notes([tally])),
    )


def test_the_report_is_written_once_and_shown_in_all_forms() -> None:
    whole = report()
    assert trigger_markdown(whole) == golden("triggers.md", trigger_markdown(whole))
    lines = "".join(f"{line}\n" for line in plain_lines(trigger_sections(whole)))
    assert lines == golden("triggers.txt", lines)
    html = "".join(blocks_html(part.blocks, part.title) for part in trigger_sections(whole))
    assert "quiet|&lt;b&gt;" in html
    assert TriggerReport.model_validate_json(whole.model_dump_json()) == whole
    assert json.loads(whole.model_dump_json())["schema_version"] == 1


def test_the_sentence_is_the_first_of_the_three() -> None:
    assert trigger_sentence(report().skills[0]).startswith("Fires on 27 of 30 asks (")
    assert " and on 2 of 30 others (" in trigger_sentence(report().skills[0])
    only = SkillTriggers(skill="t", should_not=firing_rate([counts(1, should=False)]))
    assert trigger_sentence(only) == "Fires on 1 of 3 asks that should not trigger it."
    assert trigger_sentence(SkillTriggers(skill="t")).startswith("None of its queries has a trial")
