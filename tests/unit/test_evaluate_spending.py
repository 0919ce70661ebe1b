"""Settings of a journey's gateway: money and models."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.evaluate.context import RunContext
from scylla_gha.evaluate.model_access import RecordingOptions, open_services, spent_usd
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.model.trial import Attempt
from scylla_gha.store.run_folder import RunFolder
from tests.support.agents import ShellAgent
from tests.support.ask import ASK
from tests.support.in_process_run import make_run_context
from tests.support.library import write_model, write_prices
from tests.support.provider import Provider, Say, serve
from tests.support.records import make_model
from tests.support.repository import Repository, cache, make_repository

CLI = ShellAgent(f"{ASK} dear x", package=CliPackage(npm="@example/shell", program="sh", oldest="1"))
EACH = (100 * 1 + 25 * 10) / 1e6  # USD of one scripted answer at the prices of `make_model`
FOR_TWO = 1.9 * EACH
TOKEN = "sk-ant-oat01-canary"  # as subscriptions have them


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    monkeypatch.setenv("SCYLLA_CACHE", str(cache()))
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "repo")
    write_model(made.root, make_model(id="dear", accepts=("max_tokens",)))
    return made


def go(
    repository: Repository, runs: Path, monkeypatch: pytest.MonkeyPatch, **given: Any
) -> tuple[RunContext, Provider]:
    """The journey of the agent that asks once, against a provider that answers."""
    journey = make_run_context(repository, runs, {"shell": CLI}, **given)
    with serve(lambda _: Say("Hi.")) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        with open_services(journey.settings, RecordingOptions()) as journey:
            run_cells(journey, journey.settings.plan.cells, lambda *_: None)
    return journey, provider


def attempt(journey: RunContext) -> Attempt:
    place = journey.settings.folder.cell(journey.settings.plan.cells[0].id).attempt(1)
    return Attempt.model_validate_json(place.file("attempt.json").read_bytes())


def test_settings_reach_the_requests_where_the_model_takes_them_and_the_attempt_says_which(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"agent": {"temperature": 0.0, "max_tokens": 77}, "judge": {"max_tokens": 5}}
    journey, provider = go(repository, tmp_path / "runs", monkeypatch, model_settings=settings)
    (sent,) = provider.requests
    assert (sent["max_tokens"], "temperature" in sent) == (77, False)
    made = attempt(journey)
    assert (made.adjusted, made.unadjusted) == (("max_tokens",), ("temperature",))


def test_without_settings_requests_are_what_the_agent_sent(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey, provider = go(repository, tmp_path / "runs", monkeypatch)
    assert [sent["max_tokens"] for sent in provider.requests] == [10]
    assert (attempt(journey).adjusted, attempt(journey).unadjusted) == ((), ())


def test_the_named_price_list_is_what_is_paid(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_prices(repository.root, "then", "dear")
    journey, _ = go(repository, tmp_path / "runs", monkeypatch, prices="then")
    assert attempt(journey).usage.usd == pytest.approx((100 * 7 + 25 * 8) / 1e6)


@pytest.mark.parametrize(
    ("env", "header", "subscription"),
    [
        pytest.param({}, "x-api-key", False, id="a key"),
        pytest.param({"CLAUDE_CODE_OAUTH_TOKEN": TOKEN}, "x-api-key", False, id="the key goes first"),
        pytest.param({"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": TOKEN}, "authorization", True,
                     id="a subscription"),
        pytest.param({"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "proxy", "CLAUDE_CODE_OAUTH_TOKEN": TOKEN},
                     "authorization", False, id="a proxy's token goes before it"),
    ],
)  # fmt: skip
def test_what_a_subscription_pays_for_is_said_so(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    env: dict[str, str], header: str, subscription: bool,
) -> None:  # fmt: skip
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    journey, provider = go(repository, tmp_path / "runs", monkeypatch)
    (sent,) = provider.headers
    assert header in sent
    assert attempt(journey).subscription is subscription
    assert ("oauth-2025-04-20" in sent.get("anthropic-beta", "")) is subscription
    assert attempt(journey).usage.usd == pytest.approx(EACH), "list prices all the same"
    kept = b"".join(path.read_bytes() for path in journey.settings.folder.root.rglob("*") if path.is_file())
    assert TOKEN.encode() not in kept


def test_what_was_put_aside_is_spent_as_well(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for epoch in ("one", "two"):
        journey, _ = go(repository, tmp_path / "runs", monkeypatch, epoch=epoch)
    assert [path.name for path in (tmp_path / "runs" / "old").iterdir()]
    assert spent_usd(journey.settings.folder) == {"agent": pytest.approx(2 * EACH), "judge": 0.0}
    assert spent_usd(RunFolder(tmp_path / "none")) == {"agent": 0.0, "judge": 0.0}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        pytest.param({"budget_usd": FOR_TWO}, 2, id="the experiment's"),
        pytest.param({"role_budget_usd": {"agent": FOR_TWO}}, 2, id="the agents'"),
        pytest.param({"role_budget_usd": {"judge": EACH / 9}}, 0, id="the judges' is not touched by agents"),
    ],
)
def test_a_cell_that_no_budget_is_left_for_is_not_started(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], left: int
) -> None:
    journey, provider = go(repository, tmp_path / "runs", monkeypatch, repetitions=4, **given)
    assert len(provider.requests) == 4 - left
    assert len(journey.state.unstarted) == left
    assert journey.is_budget_spent is bool(left)
    assert [name for name in journey.state.unstarted if (tmp_path / "runs" / name).exists()] == []
