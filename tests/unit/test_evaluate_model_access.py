from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import ToolError
from scylla_gha.evaluate.context import RunContext
from scylla_gha.evaluate.model_access import RecordingOptions, open_services, require_credentials, spent_usd
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.settings import Session
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.model.experiment import Experiment
from tests.support.agents import ShellAgent
from tests.support.ask import ASK
from tests.support.gateway import Reply, ask, question
from tests.support.in_process_run import make_run_context, run_agents
from tests.support.library import write_model
from tests.support.provider import Fail, Provider, Say, serve
from tests.support.records import make_experiment, make_model
from tests.support.repository import Repository, cache, make_repository

PACKAGE = CliPackage(npm="@example/shell", program="sh", oldest="1")
BUILT_IN, CLI = ShellAgent(), ShellAgent(f"{ASK} dear x", package=PACKAGE)
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
EACH = (100 * 1 + 25 * 10) / 1e6  # USD of one scripted answer at the prices of `make_model`
JUDGES = ("opus", "sonnet", "haiku")


@pytest.fixture(autouse=True)
def no_access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, and an address where nobody answers."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("SCYLLA_CACHE", str(cache()))
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))


@pytest.fixture
def journey_of(tmp_path: Path) -> Any:
    """Makes a journey of one agent in a repository that knows the price of `dear`."""
    repository = repository_in(tmp_path)
    return lambda agent, **given: make_run_context(repository, tmp_path / "runs", {"shell": agent}, **given)


def repository_in(tmp_path: Path) -> Repository:
    repository = make_repository(tmp_path / "repo")
    write_model(repository.root, make_model(id="dear"))
    return repository


def point_to(provider: Provider, monkeypatch: pytest.MonkeyPatch, key: str = "ANTHROPIC_API_KEY") -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    monkeypatch.setenv(key, "sk-canary-0123456789")


def asking(judges: tuple[str, ...] = ()) -> Experiment:
    return make_experiment(agents=("nop",), models=("dear",), judges=judges)


def installed(**agents: ShellAgent) -> dict[str, InstalledAgent]:
    return {name: InstalledAgent(agent, "", "1") for name, agent in agents.items()}


@pytest.mark.parametrize(
    ("agents", "judges", "recording", "missing"),
    [
        pytest.param({"nop": BUILT_IN}, (), RecordingOptions(), None, id="nobody uses a model"),
        pytest.param(
            {"cli": CLI, "nop": BUILT_IN},
            (),
            RecordingOptions(),
            "cli needs a key of anthropic to reach dear",
            id="an agent does",
        ),
        pytest.param(
            {"cli": CLI, "other": CLI},
            JUDGES,
            RecordingOptions(),
            "cli, other and the judge panel need a key of anthropic to reach dear, opus, sonnet and haiku",
            id="several do",
        ),
        pytest.param(
            {"nop": BUILT_IN},
            JUDGES,
            RecordingOptions(),
            "the judge panel needs a key of anthropic to reach opus, sonnet and haiku",
            id="only judges do",
        ),
        pytest.param({"cli": CLI}, JUDGES, RecordingOptions(replay=Path("tapes")), None, id="a recording answers"),
        pytest.param(
            {"cli": CLI},
            (),
            RecordingOptions(record=Path("tapes")),
            "cli needs a key of anthropic to reach dear",
            id="to record, it must be asked",
        ),
    ],
)
def test_a_key_is_asked_for_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
    agents: dict[str, ShellAgent],
    judges: tuple[str, ...],
    recording: RecordingOptions,
    missing: str,
) -> None:
    if missing:
        with pytest.raises(
            ToolError,
            match=rf"^{missing}; set ANTHROPIC_API_KEY, or give --replay$",
        ):
            require_credentials(installed(**agents), asking(judges), Library(()), recording)
    for key in KEYS:
        monkeypatch.setenv(key, "")
    if not missing:
        require_credentials(installed(**agents), asking(judges), Library(()), recording)


@pytest.mark.parametrize("key", KEYS)
def test_any_key_is_access_unless_it_is_empty(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv(key, "")
    with pytest.raises(ToolError, match="needs a key"):
        require_credentials(installed(cli=CLI), asking(), Library(()), RecordingOptions())
    monkeypatch.setenv(key, "sk-1")
    require_credentials(installed(cli=CLI), asking(), Library(()), RecordingOptions())


def ask_through(journey: RunContext, folder: Path, **body: Any) -> Reply:
    """Return what a session of the run's gateway answers."""
    assert journey.services.gateway is not None
    handle = journey.services.gateway.open(Session(cell="cell", role="agent", journal=folder / "probe.jsonl"))
    return ask(handle, question(**body))


def test_nobody_who_needs_it_no_gateway(journey_of: Any) -> None:
    journey = journey_of(BUILT_IN)
    with open_services(journey.settings, RecordingOptions()) as run:
        assert (run.services.gateway, run.panel) == (None, None)


@pytest.mark.parametrize(
    ("agent", "judges"), [(CLI, ()), (BUILT_IN, JUDGES), (CLI, JUDGES)], ids=["an agent", "judges", "both"]
)
def test_the_gateway_runs_as_long_as_it_is_needed(journey_of: Any, agent: ShellAgent, judges: tuple[str, ...]) -> None:
    journey = journey_of(agent, judges=judges)
    library = journey.settings.library
    sources = ConfigSources(library.here(library.roots[0]))  # the judges' wording is the toolkit's
    with open_services(replace(journey.settings, sources=sources), RecordingOptions()) as run:
        assert run.services.gateway is not None
        assert run.services.gateway.alive
        assert bool(run.panel) == bool(judges)
    assert not run.services.gateway.alive


def test_the_gateway_ends_with_a_run_that_fails(journey_of: Any) -> None:
    journey = journey_of(CLI)
    running: list[GatewayProcess] = []

    def fail() -> None:
        with open_services(journey.settings, RecordingOptions()) as run:
            assert run.services.gateway is not None
            running.append(run.services.gateway)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [gateway.alive for gateway in running] == [False]


@pytest.mark.parametrize(
    ("key", "header", "value"),
    [
        ("ANTHROPIC_API_KEY", "x-api-key", "sk-canary-0123456789"),
        ("ANTHROPIC_AUTH_TOKEN", "authorization", "Bearer sk-canary-0123456789"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "authorization", "Bearer sk-canary-0123456789"),
    ],
)
def test_the_environments_address_and_key_are_the_gateways(
    journey_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, header: str, value: str
) -> None:
    journey = journey_of(CLI)
    with serve(lambda _: Say("Hi.")) as provider:
        point_to(provider, monkeypatch, key)
        with open_services(journey.settings, RecordingOptions()) as run:
            assert ask_through(run, tmp_path).status == 200
    assert [headers.get(header) for headers in provider.headers] == [value]


def test_agents_of_a_journey_are_paid_for_at_the_librarys_prices(
    journey_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = journey_of(CLI)
    told: list[float | None] = []
    with serve(lambda _: Say("Hi.")) as provider:
        point_to(provider, monkeypatch)
        with open_services(journey.settings, RecordingOptions()) as run:
            run_cells(run, journey.settings.plan.cells, lambda _, trial, __: told.append(trial.usage.usd))
    assert told == [pytest.approx(EACH)]


def test_what_earlier_attempts_cost_is_spent_of_the_experiments_budget(
    journey_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = journey_of(CLI)
    folder, plan = before.settings.folder, before.settings.plan
    attempt = folder.cell(plan.cells[0].id).attempt(1)
    with serve(lambda _: Say("Hi.")) as provider:
        point_to(provider, monkeypatch)
        with open_services(before.settings, RecordingOptions()) as run:
            for role, name in (("agent", "traffic.jsonl"), ("judge", "judge-traffic.jsonl")):
                session = Session.model_validate({"cell": "cell", "role": role, "journal": attempt.file(name)})
                assert run.services.gateway is not None
                ask(run.services.gateway.open(session), question())
        for budget, status in ((2.5, 403), (3.5, 200)):  # of answers; both roles have spent one each
            journey = journey_of(CLI, budget_usd=budget * EACH)
            with open_services(journey.settings, RecordingOptions()) as run:
                reply = ask_through(run, tmp_path)
            assert reply.status == status
            assert (b"of this account is reached" in reply.body) == (status == 403)
    assert spent_usd(folder) == {"agent": pytest.approx(EACH), "judge": pytest.approx(EACH)}


def test_the_experiments_patience_with_rate_limits_is_the_gateways(
    journey_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = journey_of(CLI, limits={"rate_limit_seconds": 0.5})
    with serve(lambda _: Fail(429, {"retry-after": "3600"})) as provider:
        point_to(provider, monkeypatch)
        with open_services(journey.settings, RecordingOptions()) as run:
            replies = [ask_through(run, tmp_path / name) for name in "ab"]
    assert [reply.status for reply in replies] == [429, 429]
    assert len(provider.requests) == 1, "the second one would have to wait longer than that"


def test_what_is_recorded_is_answered_again_without_key_or_provider(
    journey_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tapes = tmp_path / "tapes"
    with serve(lambda _: Say("Hi.")) as provider, monkeypatch.context() as patch:
        point_to(provider, patch)
        journey = journey_of(CLI)
        with open_services(journey.settings, RecordingOptions(record=tapes)) as run:
            first = ask_through(run, tmp_path / "a")
    journey = journey_of(CLI)
    with open_services(journey.settings, RecordingOptions(replay=tapes)) as run:
        again, other = ask_through(run, tmp_path / "b"), ask_through(run, tmp_path / "c", text="Else?")
    assert (again.status, again.body) == (first.status, first.body)
    assert (other.status, other.error["type"]) == (404, "unmatched_request")


def test_without_a_gateway_an_agent_gets_no_way_to_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    agent = ShellAgent("env | grep -i anthropic; true", package=PACKAGE)
    done = run_agents(repository_in(tmp_path), tmp_path / "runs", {"shell": agent})
    assert done.cell().attempt(1).file("transcript.jsonl").read_text() == ""


def test_the_harnesss_own_secrets_are_looked_for_and_what_cannot_be_is_told(
    journey_of: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret-0123456789")
    monkeypatch.setenv("SOME_TOKEN", "abc")
    journey = journey_of(BUILT_IN)
    with open_services(journey.settings, RecordingOptions()) as run:
        assert run.services.redactor.redact_bytes(b"a s3cret-0123456789") == (b"a [redacted]", 1)
    said = capsys.readouterr().err
    assert "SOME_TOKEN is not redacted in stored files, because it is shorter than 8 characters\n" in said
    assert "abc" not in said
