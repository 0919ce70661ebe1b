import pytest

from scylla_gha.render.plain_table import columns, share


def test_columns_are_as_wide_as_they_must_be_and_nothing_steers_a_terminal() -> None:
    assert columns(("arm", "n", ""), [("a\x1b[2J", "1", "x"), ("longer", "1000", "")]) == [
        "arm        n",
        "a[2J       1  x",
        "longer  1000",
    ]


@pytest.mark.parametrize(("part", "shown"), [(None, "-"), (0.0, "0.0 %"), (0.0124, "1.2 %"), (1.0, "100.0 %")])
def test_a_share_has_one_digit_and_unknown_is_not_0(part: float | None, shown: str) -> None:
    assert share(part) == shown
