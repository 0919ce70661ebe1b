"""Cost of a request by its own length, and what a budget is charged if a price is not known."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.model.traffic import LongRates, ModelInfo
from tests.support.gateway import PRICE, Host, access_to, ask, question
from tests.support.provider import Say, serve

LONG = LongRates(prompt_tokens=1000, input=20.0, output=100.0, cache_read=2.0, cache_write_5m=25.0, cache_write_1h=40.0)
CACHED = {"input_tokens": 0, "cache_read_input_tokens": 1000}


def answered(folder: Path, usage: dict[str, int], asks: int = 1, budget: float | None = None, **price: Any) -> Host:
    """A session's traffic with a model of these prices, whose answers used so much."""
    model = ModelInfo(id="m", provider="anthropic", context_tokens=9, price=PRICE.model_copy(update=price))
    with serve(lambda _: Say("Hi.", usage=usage)) as provider:
        settings = GatewaySettings(access=access_to(provider.url), models=(model,))
        with GatewayProcess.start(settings) as gateway:
            host = Host(gateway, folder)
            session = host.open(budget_usd=budget)
            for _ in range(asks):
                ask(session, question(model="m"))
    return host


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param({"input_tokens": 1000}, 1000 * 2 + 25 * 10, id="a short prompt"),
        pytest.param({"input_tokens": 1001}, 1001 * 20 + 25 * 100, id="a long one"),
        pytest.param({"input_tokens": 1, "cache_read_input_tokens": 1000}, 20 + 1000 * 2 + 25 * 100, id="by the cache"),
    ],
)
def test_each_request_is_priced_by_the_length_of_its_prompt(tmp_path: Path, usage: dict[str, int], usd: int) -> None:
    host = answered(tmp_path, usage, asks=2, above=LONG)
    assert [each.usd for each in host.answered()] == [pytest.approx(usd / 1e6)] * 2


def test_an_unknown_price_of_the_cache_is_an_unknown_cost_and_is_charged_to_budgets_all_the_same(
    tmp_path: Path,
) -> None:
    each = (1000 * 2 * 2 + 25 * 10) / 1e6  # a cached token counts as two others
    host = answered(tmp_path, CACHED, asks=3, budget=1.5 * each, cache_read=None)
    assert [one.usd for one in host.answered()] == [None, None, 0.0]
    assert [one.error for one in host.answered()] == [None, None, "budget_exceeded:trial"]


@pytest.mark.parametrize(("listed", "asked"), [
    (("claude-test-4-5-20260101",), "claude-test-4-5"),
    (("claude-test-4-5",), "anthropic/claude-test-4.5"),
    (None, "us.anthropic.claude-test-4-5-20260101-v1:0"),
])  # fmt: skip
def test_an_alias_of_an_allowed_model_is_that_model_with_its_price(
    tmp_path: Path, listed: tuple[str, ...] | None, asked: str
) -> None:
    model = ModelInfo(id="claude-test-4-5-20260101", provider="anthropic", context_tokens=9, price=PRICE)
    with serve(lambda _: Say("Hi.", usage={"input_tokens": 1000})) as provider:
        settings = GatewaySettings(access=access_to(provider.url), models=(model,))
        with GatewayProcess.start(settings) as gateway:
            host = Host(gateway, tmp_path)
            session = host.open(models=listed)
            statuses = [ask(session, question(model=name)).status for name in (asked, "claude-test-4")]
    assert statuses == ([200, 403] if listed else [200, 200])
    assert provider.requests[0]["model"] == model.id
    assert host.answered()[0].usd == pytest.approx((1000 * 2 + 25 * 10) / 1e6)
