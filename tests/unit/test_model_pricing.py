import pytest
from pydantic import ValidationError

from scylla_gha.model.pricing import Price
from scylla_gha.model.trial import NO_USAGE, Usage
from tests.support.records import DAY

PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, date=DAY, source="a price list")
USED = Usage(input_tokens=1_000_000, output_tokens=2_000_000, cache_read_tokens=10_000_000, cache_write_tokens=4_000)


def test_cost_is_each_kind_of_tokens_at_its_own_price() -> None:
    assert PRICE.usd(USED) == pytest.approx(3.0 + 30.0 + 3.0 + 0.015, abs=1e-9)


@pytest.mark.parametrize("kind", ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"])
def test_cost_is_unknown_where_one_kind_is(kind: str) -> None:
    assert PRICE.usd(USED.model_copy(update={kind: None})) is None


def test_no_tokens_cost_nothing() -> None:
    assert PRICE.usd(NO_USAGE) == 0.0


@pytest.mark.parametrize("kind", ["input", "output", "cache_read", "cache_write"])
def test_price_is_not_negative(kind: str) -> None:
    with pytest.raises(ValidationError, match=kind):
        Price.model_validate({**PRICE.model_dump(), kind: -0.1})
