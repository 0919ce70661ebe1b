from math import inf

from scylla_gha.counting import counted, dollars
from tests.support.reports import AMOUNTS


def test_a_number_has_its_noun() -> None:
    assert [counted(each, "trial") for each in (0, 1, 2, 1000)] == ["0 trials", "1 trial", "2 trials", "1,000 trials"]
    assert counted(2, "copy", "copies") == "2 copies"


def test_the_noun_follows_the_number_as_it_is_shown() -> None:
    assert counted(100 * 0.01, "point", form="g") == "1 point"
    assert counted(-1.04, "point", form="+.0f") == "-1 point"
    assert counted(1.04, "point", form="+.1f") == "+1.0 points"


def test_dollars_have_two_digits_and_are_never_zero_if_something_was_paid() -> None:
    assert [(value, dollars(value)) for value, _ in AMOUNTS] == AMOUNTS
    assert dollars(inf) == "?"
    assert [dollars(change, "+") for change in (0.5, -0.5, 0.0012)] == ["+$0.50", "-$0.50", "+$0.0012"]
