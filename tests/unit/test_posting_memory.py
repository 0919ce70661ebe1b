from scylla_gha.model.posting import Memory
from scylla_gha.posting.memory import following, is_newer, remembered, verdict_of, written
from tests.support.comments import facts, past
from tests.support.records import make_report

MINE = Memory(suite="demo", attempt=1, verdicts=(past("worse", 5),))


def body(memory: Memory) -> str:
    return f"<!-- marker -->\n{written(memory)}\ntext"


def test_what_is_written_is_remembered() -> None:
    evil = Memory(suite="demo", attempt=1, verdicts=(past(said="--> <!-- x --> @octocat"),))
    assert remembered(body(evil), "demo") == evil
    assert "octocat" not in written(evil)


def test_what_is_of_another_suite_or_form_is_not() -> None:
    assert remembered(body(MINE), "other") is None
    for text in ("", "one line", "a\nb\nc", f"{written(MINE)}\nfirst line", "a\n<!-- scylla:data e30= -->"):
        assert remembered(text, "demo") is None


def test_a_later_line_is_not_read() -> None:
    assert remembered(f"<!-- marker -->\ntext\n{written(MINE)}", "demo") is None


def test_five_are_kept_and_a_run_stands_once() -> None:
    verdict = verdict_of(make_report(), facts())
    assert (verdict.verdict, verdict.run) == ("no_baseline", facts().origin.run)
    before = Memory(suite="demo", attempt=1, verdicts=tuple(past(run=number) for number in (5, 4, 3, 2, 1)))
    assert [one.run for one in following(verdict, facts(), before).verdicts] == [verdict.run, 5, 4, 3, 2]
    again = following(verdict, facts(), following(verdict, facts(), None))
    assert [one.run for one in again.verdicts] == [verdict.run]


def test_a_later_run_or_attempt_is_newer() -> None:
    run = facts().origin.run
    assert is_newer(Memory(suite="demo", attempt=1, verdicts=(past(run=run + 1),)), facts())
    assert is_newer(Memory(suite="demo", attempt=2, verdicts=(past(run=run),)), facts())
    assert not is_newer(Memory(suite="demo", attempt=1, verdicts=(past(run=run),)), facts())
