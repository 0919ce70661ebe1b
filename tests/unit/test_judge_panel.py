"""The judge panel: the real SDK, a real gateway, a scripted provider."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.keys import panel_digest
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.judge.panel import GatewayPanel, PanelResult, open_panel
from scylla_gha.model.experiment import ModelKnobs
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.model.trial import NO_USAGE
from tests.support.gateway import EACH, KEY, PRICE, hosted
from tests.support.library import write
from tests.support.panel import WORDING, asked_for, make_blind, make_item, raw, reply
from tests.support.provider import Body, Fail, Provider, Say, serve
from tests.support.shared_host import shared_host

MODELS = ("opus", "sonnet", "haiku")
ROOTS = [Path(__file__).parents[2]]
BLIND = make_blind(items=[make_item("Q1", "binary"), make_item("Q2")], steps=["It runs"])
Script = Callable[[Body], Say | Fail]


def good(body: Body) -> Say:
    return Say(reply(*(raw(name, score=1 if name == "Q1" else None) for name in asked_for(body)), steps=["step-1"]))


PRICED = tuple(ModelInfo(id=name, provider="anthropic", context_tokens=1000, price=PRICE) for name in MODELS)


@contextmanager
def opened(
    folder: Path, script: Script = good, priced: tuple[str, ...] = MODELS, **settings: Any
) -> Iterator[tuple[GatewayPanel, Provider]]:
    """The three judges behind a gateway that knows the prices of these models."""
    models = tuple(model for model in PRICED if model.id in priced)
    with ExitStack() as stack:
        if settings:
            provider = stack.enter_context(serve(script))
            host = stack.enter_context(hosted(folder, provider.url, models=models, **settings))
        else:
            host, provider = stack.enter_context(shared_host(folder, script, models))
        yield open_panel(host.gateway, MODELS, ROOTS), provider


def near(usd: float) -> Any:
    return pytest.approx(usd)


def ask(folder: Path, script: Script = good, **how: Any) -> PanelResult:
    with opened(folder, script, **how) as (judges, _):
        return judges.ask("cell", folder / "judge-traffic.jsonl", BLIND)


def test_three_judges_answer_agree_and_are_paid_for(tmp_path: Path) -> None:
    with opened(tmp_path) as (judges, provider):
        heard = judges.ask("cell", tmp_path / "judge-traffic.jsonl", BLIND)
    assert [(one.judge, one.error) for one in heard.answers] == [(name, None) for name in MODELS]
    assert {name: one.value for name, one in heard.agreed.items.items()} == {"Q1": 1.0, "Q2": 1.0}
    assert heard.agreed.items["Q1"].reason == "median of opus 1.00, sonnet 1.00, haiku 1.00"
    assert (heard.agreed.steps, heard.agreed.error) == (frozenset({"It runs"}), None)
    assert sorted(body["model"] for body in provider.requests) == sorted(MODELS)
    assert {body["system"] for body in provider.requests} == {WORDING.system}
    assert (heard.account.requests, heard.account.usage.usd) == (3, near(3 * EACH))
    assert heard.account.usage.output_tokens == 75


def test_the_judges_traffic_is_on_record_as_theirs_and_without_the_key(tmp_path: Path) -> None:
    with opened(tmp_path, record=tmp_path / "tapes") as (judges, provider):
        judges.ask("cell", tmp_path / "judge-traffic.jsonl", BLIND)
    assert (tmp_path / "judge-traffic.jsonl").read_text().count('"role":"judge"') == 3
    assert [path.name for path in (tmp_path / "tapes").iterdir()] == ["cell--judge.jsonl"]
    assert set(provider.keys) == {KEY}
    assert not [path for path in tmp_path.rglob("*.jsonl") if KEY in path.read_text()]


def test_what_was_recorded_is_judged_again_without_a_provider(tmp_path: Path) -> None:
    first = ask(tmp_path / "a", record=tmp_path / "tapes")
    with GatewayProcess.start(GatewaySettings(replay=tmp_path / "tapes")) as gateway:
        replayed = open_panel(gateway, MODELS, ROOTS).ask("cell", tmp_path / "b" / "judge-traffic.jsonl", BLIND)
    assert (replayed.answers, replayed.agreed) == (first.answers, first.agreed)


def without(*gone: str) -> Script:
    return lambda body: Fail(400) if body["model"] in gone else good(body)


def test_one_failing_judge_is_missing_and_two_decide(tmp_path: Path) -> None:
    heard = ask(tmp_path, without("sonnet"))
    lost = heard.answers[1]
    assert lost.error is not None
    assert lost.error.startswith("sonnet: the provider answered 400: ")
    assert {score.state for score in lost.items} == {"missing"}
    assert heard.agreed.error is None
    assert heard.agreed.items["Q2"].reason == "median of opus 1.00, haiku 1.00"
    assert (heard.account.usage.usd, heard.account.errors) == (near(2 * EACH), {"scripted_error": 3})


@pytest.mark.parametrize("gone", [MODELS[:2], MODELS], ids=["two of three", "all"])
def test_fewer_than_a_majority_is_an_error_and_no_score(tmp_path: Path, gone: tuple[str, ...]) -> None:
    heard = ask(tmp_path, without(*gone))
    left = 3 - len(gone)
    assert heard.agreed.error is not None
    assert heard.agreed.error.startswith(f"unjudged: Q1: {left} of 3 judges answered, {left} with a value; 2 must")
    assert [one.value for one in heard.agreed.items.values()] == [None, None]
    assert heard.account.usage.usd == near(left * EACH)


def test_an_answer_that_cannot_be_read_is_paid_for_each_time(tmp_path: Path) -> None:
    heard = ask(tmp_path, lambda body: Say("I like it.") if body["model"] == "opus" else good(body))
    assert [one.retries for one in heard.answers] == [5, 0, 0], (
        "three times with all evidence, then with the diff alone"
    )
    assert (heard.account.requests, heard.account.usage.usd) == (8, near(8 * EACH))


def test_a_judge_without_a_price_makes_the_cost_unknown_and_still_judges(tmp_path: Path) -> None:
    heard = ask(tmp_path, priced=("opus", "haiku"))
    assert (heard.account.usage.usd, heard.account.known_usd) == (None, near(2 * EACH))
    assert heard.agreed.error is None


def test_at_the_judges_budget_nobody_is_asked_any_more(tmp_path: Path) -> None:
    with opened(tmp_path, role_usd={"judge": 1.0}, spent_usd={"judge": 1.0}) as (judges, provider):
        heard = judges.ask("cell", tmp_path / "judge-traffic.jsonl", BLIND)
        assert provider.requests == []
    assert "the spend limit of $1.00 of keys of this kind (judge) is reached" in str(heard.answers[0].error)
    assert heard.agreed.error is not None
    assert (heard.account.usage, heard.account.errors) == (NO_USAGE, {"budget_exceeded:role": 3})


def test_each_trial_has_an_account_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path) as (judges, provider):
        for number in (1, 2):
            heard = judges.ask(f"cell-{number}", tmp_path / str(number) / "judge-traffic.jsonl", BLIND)
            assert (heard.account.requests, heard.agreed.error) == (3, None)
        assert len(provider.requests) == 6


def test_a_second_hearing_of_the_same_trial_costs_what_it_cost(tmp_path: Path) -> None:
    journal = tmp_path / "judge-traffic.jsonl"
    with opened(tmp_path) as (judges, _):
        first, second = (judges.ask("cell", journal, BLIND) for _ in range(2))
    assert (first.account.usage.usd, second.account.usage.usd) == (near(3 * EACH), near(3 * EACH))
    assert summarise_traffic(journal).usage.usd == near(6 * EACH)


def test_a_court_in_other_words_asks_in_them(tmp_path: Path) -> None:
    kind = dataclasses.replace(WORDING, system="Judge kindly.")
    with opened(tmp_path) as (judges, provider):
        open_panel(judges.gateway, MODELS, ROOTS, kind).ask("cell", tmp_path / "judge-traffic.jsonl", BLIND)
    assert {body["system"] for body in provider.requests} == {"Judge kindly."}
    assert (
        panel_digest(MODELS, ROOTS, prompts=kind)
        != panel_digest(MODELS, ROOTS)
        == panel_digest(MODELS, ROOTS, prompts=WORDING)
    )


def test_a_court_without_judges_has_no_digest_and_needs_no_wording(tmp_path: Path) -> None:
    assert panel_digest((), [tmp_path]) == ""
    with pytest.raises(ConfigError, match="no such folder; create one with the judges' prompts"):
        panel_digest(MODELS, [tmp_path])


def test_the_digest_covers_the_judges_and_the_wording_of_the_first_root_that_has_one(tmp_path: Path) -> None:
    own = tmp_path / "config" / "judge"
    write(own / "user_template.md", (ROOTS[0] / "config/judge/user_template.md").read_bytes())
    write(own / "system_prompt.md", "Judge fairly.\n")
    digests = [
        panel_digest(MODELS, ROOTS),
        panel_digest(MODELS[:2], ROOTS),
        panel_digest(("opus", "sonnet", "other"), ROOTS),
        panel_digest(MODELS, [tmp_path, *ROOTS]),
    ]
    assert len(set(digests)) == 4
    assert panel_digest(MODELS, [tmp_path / "empty", *ROOTS]) == digests[0]


def test_the_digest_covers_settings_only_where_there_are_some() -> None:
    settings = [ModelKnobs(), ModelKnobs(temperature=0.0), ModelKnobs(temperature=0.5), ModelKnobs(max_tokens=9)]
    digests = [panel_digest(MODELS, ROOTS, each) for each in settings]
    assert len(set(digests)) == 4
    assert digests[0] == panel_digest(MODELS, ROOTS)
    assert panel_digest((), ROOTS, ModelKnobs(max_tokens=9)) == ""


@pytest.mark.parametrize(("key", "subscription"), [("sk-ant-oat01-x", True), ("proxy", False)])
def test_what_a_subscription_pays_for_and_what_a_model_refuses_is_told(
    tmp_path: Path, key: str, subscription: bool
) -> None:
    models = [
        {"id": model, "provider": "anthropic", "context_tokens": 9, "accepts": ["max_tokens"]} for model in MODELS
    ]
    given = {"models": models, "knobs": {"judge": {"temperature": 0.0, "max_tokens": 77}}}
    with serve(lambda _: Say("{}")) as provider:
        access = [{"provider": "anthropic", "upstream": provider.url, "bearer": key}]
        settings = GatewaySettings.model_validate_json(json.dumps({"access": access, **given}))
        with GatewayProcess.start(settings) as gateway:
            heard = open_panel(gateway, MODELS, ROOTS).ask("cell", tmp_path / "judge-traffic.jsonl", BLIND)
        assert {(sent["max_tokens"], "temperature" in sent) for sent in provider.requests} == {(77, False)}
    assert heard.subscription is subscription
    assert (heard.account.adjusted, heard.account.unadjusted) == (("max_tokens",), ("temperature",))
