import pytest
from pydantic import ValidationError

from scylla_gha.model.pricing import Price
from scylla_gha.model.traffic import Tokens
from tests.support.records import DAY

PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, date=DAY,
              source="a price list")  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "usd"),
    [("input", 3.0), ("output", 15.0), ("cache_read", 0.3), ("cache_write_5m", 3.75), ("cache_write_1h", 6.0)],
)
def test_each_kind_of_tokens_has_its_own_price_for_a_million(kind: str, usd: float) -> None:
    assert PRICE.usd(Tokens.model_validate({kind: 1_000_000})) == pytest.approx(usd, abs=1e-12)
    assert PRICE.usd(Tokens.model_validate({kind: 1})) == pytest.approx(usd / 1e6, abs=1e-15)


def test_the_cost_is_the_sum_over_all_kinds() -> None:
    used = Tokens(
        input=1_000_000, output=2_000_000, cache_read=10_000_000, cache_write_5m=4_000, cache_write_1h=500_000
    )
    assert PRICE.usd(used) == pytest.approx(3.0 + 30.0 + 3.0 + 0.015 + 3.0, abs=1e-9)


def test_no_tokens_cost_nothing() -> None:
    assert PRICE.usd(Tokens()) == 0.0


@pytest.mark.parametrize("kind", Tokens.model_fields)
def test_price_is_not_negative(kind: str) -> None:
    with pytest.raises(ValidationError, match=kind):
        Price.model_validate({**PRICE.model_dump(), kind: -0.1})


@pytest.mark.parametrize("kind", Tokens.model_fields)
def test_no_kind_is_free_by_being_left_out(kind: str) -> None:
    with pytest.raises(ValidationError, match=rf"(?s){kind}\n.*Field required"):
        Price.model_validate({name: value for name, value in PRICE.model_dump().items() if name != kind})


def test_one_price_for_both_lifetimes_of_the_cache_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"(?s)cache_write\n.*Extra inputs"):
        Price.model_validate({**PRICE.model_dump(), "cache_write": 3.75})
