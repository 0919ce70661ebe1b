from math import inf

import pytest

from scylla_gha.counting import counted, dollars, first_of
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


@pytest.mark.parametrize(
    ("texts", "separator", "listed"),
    [
        ([], ", ", ""),
        (["a", "b"], ", ", "a, b"),
        (["a", "b", "c"], ", ", "a, b and 1 more"),
        (["a", "b", "c", "d"], "; ", "a; b; and 2 more"),
    ],
)
def test_of_many_texts_the_first_are_listed_and_the_others_counted(
    texts: list[str], separator: str, listed: str
) -> None:
    assert first_of(iter(texts), 2, separator) == listed
