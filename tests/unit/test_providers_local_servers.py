"""Servers of models on the user's machine: what `doctor` finds, and what is refused before anything is spent."""

import socket
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.library import Library
from scylla_gha.errors import ToolError
from scylla_gha.evaluate.model_access import RecordingOptions, require_credentials
from scylla_gha.onboarding.doctor import model_server_findings
from scylla_gha.providers.local_servers import (
    ModelNeed,
    ModelServer,
    ServedModel,
    local_servers,
    require_served,
)
from tests.support.agents import ShellAgent
from tests.support.local_models import LLAMA, LM_STUDIO, OLLAMA, VLLM, Answers, serve
from tests.support.records import make_experiment

ADDRESS = "SCYLLA_LOCAL_BASE_URL"
KINDS: dict[str, tuple[Answers, list[ServedModel]]] = {
    "llama.cpp": (LLAMA, [ServedModel("small", 8192)]),
    "Ollama": (OLLAMA, [ServedModel("small", 4096), ServedModel("unloaded", None)]),
    "LM Studio": (LM_STUDIO, [ServedModel("small", 2048)]),
    "vLLM": (VLLM, [ServedModel("small", 16384)]),
}


def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def server(port: int, end: str = "/v1") -> ModelServer:
    return ModelServer(f"http://127.0.0.1:{port}{end}", seconds=5)


def library(root: Path, *, window: int = 2048) -> Library:
    folder = root / "config" / "models"
    folder.mkdir(parents=True)
    for name in ("small", "unloaded"):
        (folder / f"{name}.yaml").write_text(f"id: {name}\nprovider: local\ncontext_tokens: {window}\n")
    return Library((root,))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_models_and_their_windows_are_read_from_each_program(kind: str, end: str) -> None:
    answers, models = KINDS[kind]
    with serve(answers) as port:
        assert server(port, end).models() == models


def test_a_model_of_llama_cpp_is_served_under_all_its_names() -> None:
    listed: Any = LLAMA["GET /v1/models"]
    (entry,) = listed["data"]
    with serve({"GET /v1/models": {"data": [{**entry, "aliases": ["small", "other"]}]}}) as port:
        assert server(port).models() == [ServedModel("small", 8192), ServedModel("other", 8192)]


@pytest.mark.parametrize(
    ("answers", "style", "speaks"),
    [
        (LLAMA, "openai-chat", True),
        (LLAMA, "anthropic-messages", True),  # it answers 500 to an empty request
        (VLLM, "anthropic-messages", False),
        (LM_STUDIO, "anthropic-messages", False),  # it answers 200 with an error
        (LM_STUDIO, "openai-chat", True),
    ],
)
def test_an_api_is_told_by_its_route(answers: Answers, style: str, speaks: bool) -> None:
    with serve(answers) as port:
        assert server(port).speaks(style) is speaks


def test_servers_are_searched_at_usual_ports_and_others_are_passed_over() -> None:
    with serve(LLAMA) as models, serve({"GET /": {"hello": "world"}}) as other:
        found = list(local_servers({closed_port(): "Ollama", models: "llama.cpp", other: "vLLM"}))
    assert [(program, served) for program, _, served in found] == [("llama.cpp", [ServedModel("small", 8192)])]


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({}, "answers GET /v1/models with status 404 and no list of models"),
        ({"GET /v1/models": ["small"]}, "with status 200 and no list of models"),
        ({"GET /v1/models": 503}, "it may still load its model; try again later"),
        ({"GET /v1/models": 401}, "it needs a key; set SCYLLA_LOCAL_API_KEY"),
        ({"GET /v1/models": {"data": []}}, "has no model small; it has no model"),
        (
            {"GET /v1/models": {"data": [{"id": "other"}]}},
            "has no model small; it has other. Name one of them by",
        ),
        (OLLAMA, "with a context window of 4,096 tokens, but its file in config/models/ has context_tokens: 8192"),
        ({**LLAMA, "POST /v1/messages": 404}, "does not serve /v1/messages, the API anthropic-messages"),
    ],
)
def test_what_a_server_lacks_is_refused_with_what_to_do(answers: Answers, text: str) -> None:
    need = ModelNeed("small", 8192, ("openai-chat", "anthropic-messages"))
    with serve(answers) as port, pytest.raises(ToolError) as error:
        require_served(server(port), [need])
    assert text in str(error.value)


def test_a_server_that_has_all_is_accepted() -> None:
    with serve(LLAMA) as port:
        assert server(port).speaks("openai-chat")
        require_served(server(port), [ModelNeed("small", 8192, ("openai-chat", "anthropic-messages"))])


@pytest.mark.parametrize("address", ["http://127.0.0.1:{port}/v1", "127.0.0.1:{port}", "http://[", "ftp://127.0.0.1"])
def test_an_address_without_a_server_says_what_to_start(address: str) -> None:
    with pytest.raises(ToolError, match=r"no server of models answers at .*; start one, such as `ollama serve`"):
        ModelServer(address.format(port=closed_port())).models()


def asked(root: Path, monkeypatch: pytest.MonkeyPatch, port: int, **given: Any) -> None:
    monkeypatch.setenv(ADDRESS, f"http://127.0.0.1:{port}/v1")
    experiment = make_experiment(agents=("nop",), models=(), judges=("small", "unloaded"))
    agents = {"nop": InstalledAgent(ShellAgent(), "", "1")}
    require_credentials(agents, experiment, library(root, **given), RecordingOptions())


def test_the_judges_model_is_checked_before_anything_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(OLLAMA) as port:
        asked(tmp_path / "fits", monkeypatch, port)
        with pytest.raises(ToolError, match="start the server with a larger window"):
            asked(tmp_path / "large", monkeypatch, port, window=32768)


@pytest.mark.parametrize(
    ("answers", "drops"),
    [
        ({"GET /props": {"chat_template_caps": {"supports_tools": False}}}, True),
        ({"GET /props": {"chat_template_caps": {"supports_tools": True}}}, False),
        ({}, False),
    ],
)
def test_a_chat_template_without_tools_is_noted(
    answers: Answers, drops: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve({**OLLAMA, **answers}) as port:
        asked(tmp_path, monkeypatch, port)
        states = [item.what for item in model_server_findings(Library(()), {ADDRESS: f"http://127.0.0.1:{port}"})]
    assert ("its chat template leaves out the tools" in capsys.readouterr().err) is drops
    assert (f"http://127.0.0.1:{port} drops tools" in states) is drops


def test_doctor_checks_the_server_that_is_named(tmp_path: Path) -> None:
    known = library(tmp_path)
    with serve(LLAMA) as port:
        url = f"http://127.0.0.1:{port}/v1"
        (right,) = model_server_findings(known, {ADDRESS: url})
        (new,) = model_server_findings(Library(()), {ADDRESS: url})
    assert (right.state, right.what) == ("ok", f"{ADDRESS} is {url}: small (8,192 tokens)")
    assert right.mend == "scylla-gha evaluate hello-local --model small"
    assert new.state == "optional"
    assert r"printf 'id: small\nprovider: local\ncontext_tokens: 8192\n' > config/models/small.yaml" in new.mend
    (wrong,) = model_server_findings(known, {ADDRESS: f"http://127.0.0.1:{closed_port()}"})
    assert wrong.state == "problem"
