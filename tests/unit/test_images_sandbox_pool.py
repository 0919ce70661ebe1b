from pathlib import Path

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.config.library import Library
from scylla_gha.errors import SandboxError
from scylla_gha.images import SandboxPool, select_sandbox
from scylla_gha.model.sandbox import Tools
from tests.support.command import NO_ENGINE
from tests.support.records import make_cell, make_experiment, make_plan

LIBRARY = Library.here(Path(__file__).parents[2])
BUILT_IN, REAL = AGENTS["oracle"], AGENTS["claude-code"]


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)


def test_built_in_agents_run_on_the_host_without_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert select_sandbox(make_experiment(), [BUILT_IN, BUILT_IN], LIBRARY) == "host"
    assert capsys.readouterr().err == ""


def test_an_agent_with_a_model_is_in_bubblewrap_where_no_engine_answers_and_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert select_sandbox(make_experiment(), [BUILT_IN, REAL], LIBRARY) == "bubblewrap"
    assert "sandbox: bubblewrap, since no container engine answers;" in capsys.readouterr().err


def test_it_is_on_the_host_where_bubblewrap_is_not_either_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert select_sandbox(make_experiment(), [BUILT_IN, REAL], LIBRARY) == "host"
    assert "sandbox: the host itself, which isolates nothing, since no container engine" in capsys.readouterr().err


@pytest.mark.parametrize("sandbox", ["docker", "host"])
def test_the_experiments_own_sandbox_is_used(sandbox: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert select_sandbox(make_experiment(sandbox=sandbox), [BUILT_IN, REAL], LIBRARY) == sandbox
    assert capsys.readouterr().err == ""


def test_the_host_needs_no_image_and_has_no_digest() -> None:
    boxes = SandboxPool("host", LIBRARY)
    place = boxes.target(Tools())
    assert (place.sandbox.name, place.image, place.digest, place.address) == ("host", *[None] * 3)
    assert boxes.image_digests.image(Tools(), None) is None
    boxes.make_ready(make_plan(make_cell(scenario="001-hello-world")))


def test_containers_are_refused_before_a_first_cell_where_no_engine_answers() -> None:
    with pytest.raises(SandboxError, match=r"no container engine answers at .* apt-get install docker\.io"):
        SandboxPool("docker", LIBRARY).make_ready(make_plan())
