import pytest

from scylla_gha.stats.shown import shown_p


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (None, "unknown"),
        (1.0, "1"),
        (0.999, "1.00"),
        (0.5, "0.50"),
        (0.0625, "0.062"),
        (0.0078125, "0.0078"),
        (0.0001, "0.00010"),
        (0.00009, "< 0.0001"),
        (5e-324, "< 0.0001"),
    ],
)
def test_p_is_never_zero(p: float | None, expected: str) -> None:
    assert shown_p(p) == expected
