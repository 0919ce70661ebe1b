import pytest

from scylla_gha.model.traffic import LongRates, ModelPrice, PriceList, Rates, Tokens
from tests.support.records import DAY

PRICE = ModelPrice(input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, date=DAY,
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


TIERED = PRICE.model_copy(
    update={"above": LongRates(prompt_tokens=1000, input=30.0, output=150.0, cache_read=3.0, cache_write_5m=37.5,
                               cache_write_1h=60.0)}
)  # fmt: skip
CACHE = ("cache_read", "cache_write_5m", "cache_write_1h")


@pytest.mark.parametrize(
    ("tokens", "times"),
    [
        pytest.param({"input": 1000}, 1, id="at the limit"),
        pytest.param({"input": 1001}, 10, id="above it, all of it costs more"),
        pytest.param({"input": 1000, "output": 5000}, 1, id="an answer makes no prompt longer"),
        pytest.param(
            {"input": 1, "cache_read": 500, "cache_write_5m": 250, "cache_write_1h": 250}, 10, id="the cache counts"
        ),
        pytest.param({"cache_read": 1001, "output": 7}, 10, id="and the answer costs more too"),
    ],
)
def test_a_long_prompt_makes_the_whole_request_dearer(tokens: dict[str, int], times: int) -> None:
    used = Tokens.model_validate(tokens)
    base = PRICE.usd(used)
    assert base is not None
    assert TIERED.usd(used) == pytest.approx(times * base)


@pytest.mark.parametrize("kind", CACHE)
def test_a_kind_without_a_price_makes_what_uses_it_unknown_and_nothing_else(kind: str) -> None:
    price = ModelPrice.model_validate({**PRICE.model_dump(), kind: None})
    assert price.usd(Tokens(input=1_000_000, output=1)) == pytest.approx(3.000015)
    used = Tokens.model_validate({"input": 1_000_000, kind: 1})
    assert price.usd(used) is None
    assert price.usd_at_most(used) == pytest.approx(3.0 + 2 * 3.0 / 1e6), "budgets count it at twice the input's price"
    assert PRICE.usd_at_most(used) == PRICE.usd(used)


def test_a_guess_for_budgets_is_of_the_band_that_the_prompt_is_in() -> None:
    above = TIERED.above
    assert above is not None
    price = TIERED.model_copy(update={"above": above.model_copy(update={"cache_read": None})})
    assert price.usd_at_most(Tokens(cache_read=2000)) == pytest.approx(2000 * 60 / 1e6)


def test_a_list_prices_what_it_names_on_its_day_and_nothing_else() -> None:
    rates = Rates(input=1.0, output=2.0, cache_read=None, cache_write_5m=None, cache_write_1h=None)
    made = PriceList(name="a-list", date=DAY, source="a table", prices={"m": rates})
    price = made.of("m")
    assert price is not None
    assert (price.input, price.cache_read, price.date, price.source) == (1.0, None, DAY, "a table")
    assert made.of("other") is None
