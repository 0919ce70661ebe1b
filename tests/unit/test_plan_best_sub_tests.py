"""The rule by which stored rows decide what `best of` a tier stands for."""

import datetime
from collections.abc import Iterator
from typing import Any

from scylla_gha.model.result import Result
from scylla_gha.plan.selection import LEAST_TRIALS, best_sub_tests
from tests.support.records import make_cell, make_experiment, make_result

NAMES = ("T1/01-a", "T1/02-b", "T1/03-c", "T2/01-d")
EXPERIMENT = make_experiment(id="t5", agents=("claude-code@2.1.197",), models=("m",))
DAY = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)


def rows(variant: str, passed: int, usd: float = 1.0, number: int = LEAST_TRIALS, **given: Any) -> Iterator[Result]:
    """Trials of one sub-test over two scenarios, of which the first ones pass."""
    defaults = {
        "experiment": "t1",
        "agent": "claude-code",
        "model": "m",
        "variant": variant,
        "usd": usd,
        "started_at": DAY,
    }
    for at in range(number):
        scenario = "one" if at % 2 else "two"
        yield make_result(make_cell(), **{**defaults, "scenario": scenario, "passed": at < passed, **given})


def best(*parts: Iterator[Result], epoch: str = "") -> dict[str, str]:
    return best_sub_tests([row for part in parts for row in part], EXPERIMENT, epoch, NAMES)


def test_the_higher_pass_rate_wins() -> None:
    assert best(rows("T1/01-a", 4), rows("T1/02-b", 8), rows("T1/03-c", 6)) == {"T1": "T1/02-b"}


def test_of_equal_rates_the_cheaper_wins() -> None:
    assert best(rows("T1/01-a", 6, 2.0), rows("T1/02-b", 6, 1.0)) == {"T1": "T1/02-b"}
    assert best(rows("T1/02-b", 6), rows("T1/01-a", 6)) == {"T1": "T1/01-a"}


def test_too_few_rows_decide_nothing() -> None:
    assert best(rows("T1/01-a", 4)) == {}
    assert best(rows("T1/01-a", 4), rows("T1/02-b", 9, number=LEAST_TRIALS - 1)) == {}
    assert best(rows("T1/01-a", 4), rows("T1/02-b", 9, scenario="three")) == {}


def test_rows_of_other_models_replays_and_unjudged_trials_do_not_count() -> None:
    lower = rows("T1/01-a", 4), rows("T1/02-b", 2)
    assert best(*lower) == {"T1": "T1/01-a"}
    for other in ({"model": "n"}, {"replayed": True}, {"judged": False}, {"agent": "nop"}):
        assert best(rows("T1/01-a", 4), rows("T1/02-b", 2), rows("T1/02-b", 20, number=20, **other)) == {
            "T1": "T1/01-a"
        }


def test_own_rows_decide_nothing_and_fix_the_choice_at_their_begin() -> None:
    later = DAY + datetime.timedelta(days=2)
    own: dict[str, Any] = {"experiment": "t5", "started_at": DAY + datetime.timedelta(days=1)}
    others = [*rows("T1/01-a", 4), *rows("T1/02-b", 2), *rows("T1/02-b", 20, number=20, started_at=later)]
    assert best(iter(others)) == {"T1": "T1/02-b"}
    assert best(iter(others), rows("T1/03-c", 10, **own)) == {"T1": "T1/01-a"}
    assert best(iter(others), rows("T1/03-c", 10, **own), epoch="new") == {"T1": "T1/02-b"}
