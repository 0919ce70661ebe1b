from typing import Any

import pytest

from scylla_gha.model.report import Counts
from scylla_gha.render import text
from tests.support.records import COUNTS, make_report, make_summary


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("plain words", "plain words"),
        ("two\nlines\r\n\tand a tab", "two lines and a tab"),
        ("  outside  ", "outside"),
        ("a\u2028b\u2029c\x85d\x0be", "a b c d e"),
        ("red \x1b[31malert\x1b[0m", "red [31malert[0m"),
        ("title\x1b]0;x\x07", "title]0;x"),
        ("back\x08\x7f\x00", "back"),
        ("\u202eevil\u2066 a\u200bb", "evil ab"),
        ("café ∞ 日本 🙂", "café ∞ 日本 🙂"),
        ("", ""),
    ],
)
def test_plain_text_is_one_line_that_steers_nothing(given: str, expected: str) -> None:
    assert text.plain(given) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "-"), (0.0, "0 %"), (1.0, "100 %"), (2 / 3, "67 %"), (0.125, "12 %")]
)
def test_percent(value: float | None, expected: str) -> None:
    assert text.percent(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "?"),
        (0.0, "$0.00"),
        (0.00009, "<$0.0001"),
        (0.0001, "$0.0001"),
        (0.0123, "$0.0123"),
        (0.5, "$0.5000"),
        (1.0, "$1.00"),
        (12.345, "$12.35"),
        (1234.5, "$1234.50"),
    ],
)
def test_unknown_dollars_are_not_zero_and_few_have_more_digits(value: float | None, expected: str) -> None:
    assert text.usd(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "-"), (0.0, "0.00 s"), (12.345, "12.35 s"), (99.9, "99.90 s"), (100.0, "1.7 min")]
)
def test_seconds(value: float | None, expected: str) -> None:
    assert text.seconds(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(None, "?"), (0, "0"), (1234567, "1,234,567")])
def test_tokens(value: int | None, expected: str) -> None:
    assert text.tokens(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(None, "-"), (0.0, "0.00"), (0.666, "0.67"), (1.0, "1.00")])
def test_number(value: float | None, expected: str) -> None:
    assert text.number(value) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cost_of_pass": 0.25, "usd": 0.5}, "$0.2500"),
        ({"cost_of_pass": 0.0, "usd": 0.0}, "$0.00"),
        ({"cost_of_pass": None, "usd": 0.5}, "∞"),
        ({"cost_of_pass": None, "usd": 0.0}, "-"),
        ({"cost_of_pass": None, "usd": None}, "?"),
        ({"cost_of_pass": None, "usd": 0.5, "counts": Counts(planned=1, ran=1, judged=0, scored=0)}, "-"),
        ({"cost_of_pass": None, "usd": None, "counts": Counts(planned=1, ran=0, judged=0, scored=0)}, "-"),
    ],
    ids=["known", "free", "money and no pass", "neither", "unknown", "nothing judged", "nothing ran"],
)
def test_cost_of_a_pass_tells_infinite_undefined_and_unknown_apart(given: dict[str, Any], expected: str) -> None:
    assert text.cost_of_pass(make_summary(**given)) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.342, 1.0, "[34, 100]"), (0.0, 0.0, "[0, 0]"), (None, None, "-")]
)
def test_interval(low: float | None, high: float | None, expected: str) -> None:
    assert text.interval(make_summary(pass_low=low, pass_high=high)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (COUNTS, "2"),
        (Counts(planned=0, ran=0, judged=0, scored=0), "0"),
        (Counts(planned=4, ran=3, judged=2, scored=1), "4/3/2/1"),
        (Counts(planned=2, ran=2, judged=2, scored=1), "2/2/2/1"),
    ],
)
def test_denominators_are_one_number_only_where_all_are_equal(given: Counts, expected: str) -> None:
    assert text.counts(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"delivery": None}, "4 planned, 3 ran, 2 judged, 1 scored; judges $0.00"),
        ({"delivery": (2, 3)}, "4 planned, 3 ran, 2 judged, 1 scored; delivery proved in 2 of 3; judges $0.00"),
        ({"delivery": (0, 3)}, "4 planned, 3 ran, 2 judged, 1 scored; delivery proved in 0 of 3; judges $0.00"),
        ({"judge_usd": None}, "4 planned, 3 ran, 2 judged, 1 scored; judges ?"),
    ],
)
def test_totals_say_what_is_proved_where_there_was_something_to_prove(given: dict[str, Any], expected: str) -> None:
    counts = Counts(planned=4, ran=3, judged=2, scored=1)
    assert text.totals(make_report(counts=counts, **given)) == expected


@pytest.mark.parametrize(("given", "expected"), [({"S": 1, "A": 12, "F": 3}, "1S 12A 3F"), ({}, "-")])
def test_grades(given: dict[str, int], expected: str) -> None:
    assert text.grades(make_summary(grades=given)) == expected


@pytest.mark.parametrize(
    ("arms", "names", "shared"),
    [
        (["t0-00.cli.m", "t0-01.cli.m"], ["t0-00", "t0-01"], "cli.m"),
        (["t0-00.cli.m", "t0-00.cli.n"], ["m", "n"], "t0-00.cli"),
        (["t0-00.cli.m", "t0-01.cli.n"], ["t0-00.m", "t0-01.n"], "cli"),
        (["oracle", "nop"], ["oracle", "nop"], ""),
        (["oracle", "t0-00.cli.m"], ["oracle", "t0-00.cli.m"], ""),
        (["t0-00.cli.m"], ["t0-00.cli.m"], ""),
        ([], [], ""),
    ],
)
def test_names_are_shortened_by_what_all_arms_share(arms: list[str], names: list[str], shared: str) -> None:
    assert text.short_names(arms) == (dict(zip(arms, names, strict=True)), shared)
