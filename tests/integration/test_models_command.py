"""`scylla-gha models` against local stand-ins for the providers' list endpoints, which answer as documented."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scylla_gha.config.library import Library
from scylla_gha.model.traffic import ModelInfo
from tests.support.command import Said, scylla

ROOT = Path(__file__).parents[2]
KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
}
ADDRESSES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "openrouter": "OPENROUTER_BASE_URL",
}
KEY = "list-canary-0123456789"
Page = Callable[[str, dict[str, list[str]]], tuple[int, Any]]
OURS = Library((ROOT,)).models()


@dataclass
class Lists:
    url: str = ""
    targets: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@contextmanager
def serving(page: Page) -> Iterator[Lists]:
    """Serve `page`: a function from path and query to status and content."""
    lists = Lists()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
            """Say nothing."""

        def do_GET(self) -> None:
            names = ("x-api-key", "authorization", "x-goog-api-key")
            lists.keys.append(next((self.headers[name] for name in names if name in self.headers), ""))
            lists.targets.append(self.path)
            parts = urlsplit(self.path)
            status, content = page(parts.path, parse_qs(parts.query))
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    lists.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield lists
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def anthropic_page(models: list[ModelInfo]) -> Page:
    """Pages of five models, as the Messages API's provider cuts them."""

    def page(path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        assert (path, query["limit"]) == ("/v1/models", ["1000"])
        ids = [model.id for model in models]
        start = ids.index(query["after_id"][0]) + 1 if "after_id" in query else 0
        part = models[start : start + 5]
        data = [
            {
                "type": "model",
                "id": model.id,
                "lifecycle": "active",
                "max_input_tokens": model.context_tokens,
                "max_tokens": model.max_output_tokens,
            }
            for model in part
        ]
        return 200, {"data": data, "has_more": start + 5 < len(ids), "first_id": data[0]["id"], "last_id": part[-1].id}

    return page


def gemini_page(models: list[ModelInfo]) -> Page:
    """Pages of two models."""

    def page(path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        assert path == "/v1beta/models"
        start = int(query.get("pageToken", ["0"])[0])
        part = [
            {
                "name": f"models/{model.id}",
                "inputTokenLimit": model.context_tokens,
                "outputTokenLimit": model.max_output_tokens,
            }
            for model in models[start : start + 2]
        ]
        more = {"nextPageToken": str(start + 2)} if start + 2 < len(models) else {}
        return 200, {"models": part, **more}

    return page


def openai_page(models: list[ModelInfo]) -> Page:
    data = [{"id": model.id, "object": "model", "created": 1, "owned_by": "openai"} for model in models]
    return lambda _, __: (200, {"object": "list", "data": data})


def openrouter_page(models: list[ModelInfo]) -> Page:
    """Pages of two models, with a link to the next one."""

    def page(path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        start = int(query.get("offset", ["0"])[0])
        data = [_routed(model) for model in models[start : start + 2]]
        following = f"/api/v1/models?offset={start + 2}&limit=2" if start + 2 < len(models) else None
        assert path == "/v1/models"
        return 200, {"data": data, "links": {"next": following}, "total_count": len(models)}

    return page


def _routed(model: ModelInfo) -> dict[str, Any]:
    price = model.price
    assert price is not None
    pricing = {"prompt": price.input, "completion": price.output, "input_cache_read": price.cache_read}
    return {
        "id": model.id,
        "context_length": model.context_tokens,
        "top_provider": {"max_completion_tokens": model.max_output_tokens, "is_moderated": False},
        "pricing": {name: str((usd or 0) / 1e6) for name, usd in pricing.items()},
    }


PAGES: dict[str, Callable[[list[ModelInfo]], Page]] = {
    "anthropic": anthropic_page,
    "openai": openai_page,
    "gemini": gemini_page,
    "openrouter": openrouter_page,
}


def of(provider: str) -> list[ModelInfo]:
    return [model for model in OURS.values() if model.provider == provider]


def check(provider: str, page: Page, *args: str) -> tuple[Said, Lists]:
    """Run the command for one provider, with a key of it and its address."""
    with serving(page) as lists:
        env = {KEYS[provider]: KEY, ADDRESSES[provider]: lists.url}
        return scylla("models", "--provider", provider, *args, cwd=ROOT, env=env), lists


@pytest.mark.parametrize("provider", PAGES)
def test_models_that_are_as_listed_on_all_pages(provider: str) -> None:
    said, lists = check(provider, PAGES[provider](of(provider)))
    assert said.out.splitlines() == [f"{model.id} ({provider}): as listed" for model in of(provider)]
    assert (said.code, said.err) == (0, "")
    assert {key.removeprefix("Bearer ") for key in lists.keys} == {KEY}
    assert (len(lists.targets) > 1) == (provider != "openai"), "the other three have pages"


@pytest.mark.parametrize("provider", PAGES)
def test_a_model_that_the_provider_does_not_know(provider: str) -> None:
    first, *others = of(provider)
    other = ModelInfo(id=f"{first.id}-2", provider=provider, context_tokens=1, price=first.price)
    said, _ = check(provider, PAGES[provider]([*others, other]))
    assert said.out.startswith(f"{first.id} ({provider}): is not in the provider's list; did you mean \"")
    assert (said.code, said.err.count(first.id)) == (3, 1)
    assert "1 model to correct in config/models/" in said.err


def test_limits_and_prices_that_differ_are_stated_with_both_values() -> None:
    models = of("openrouter")
    assert models[0].price is not None
    dearer = models[0].price.model_copy(update={"input": 9.5})
    changed = models[0].model_copy(update={"context_tokens": 1000, "max_output_tokens": None, "price": dearer})
    said, _ = check("openrouter", openrouter_page([changed, *models[1:]]), "--json")
    assert said.code == 3
    first, *others = json.loads(said.out)["models"]
    assert (first["model"], first["state"]) == (models[0].id, "differs")
    assert first["differences"] == [
        {"what": "context_tokens", "ours": models[0].context_tokens, "theirs": 1000},
        {"what": "price.input", "ours": models[0].price.input, "theirs": 9.5},
    ]
    assert {model["state"] for model in others} == {"ok"}
    said, _ = check("openrouter", openrouter_page([changed, *models[1:]]))
    assert f"price.input is 9.5 in the provider's list, and {models[0].price.input} in the model's file" in said.out


def test_without_keys_nothing_is_asked_and_the_variables_are_named() -> None:
    said = scylla("models", "--json", cwd=ROOT)
    models = {model["model"]: model for model in json.loads(said.out)["models"]}
    assert (said.code, set(models)) == (0, set(OURS))
    for name, model in models.items():
        provider = OURS[name].provider
        variable = KEYS.get(provider, "SCYLLA_LOCAL_BASE_URL")
        assert (model["state"], model["why"]) == ("unchecked", f"{variable} is not set")


@pytest.mark.parametrize("provider", PAGES)
@pytest.mark.parametrize(
    ("status", "content", "what"),
    [
        (401, {"error": {"message": "no"}}, "rejects the value of {key} (401); correct it"),
        (404, {"error": "no such path"}, "answers 404, not a list of models; check {address}"),
        (302, {}, "answers 302, not a list of models; check {address}"),
        (200, b"<html>Welcome</html>", "answers, but not with a list of models; check {address}"),
        (200, {"version": "1.0"}, "answers, but not with a list of models; check {address}"),
    ],
    ids=["401", "404", "redirect", "html", "another API"],
)
def test_a_server_without_the_list_is_no_verdict_on_models(provider: str, status: int, content: Any, what: str) -> None:
    said, _ = check(provider, lambda _, __: (status, content))
    text = what.format(key=KEYS[provider], address=ADDRESSES[provider])
    assert said.code == 5
    assert text in said.err
    assert said.out.count("not checked") == len(of(provider))
    assert KEY not in said.out + said.err


def test_an_unreachable_server_names_the_variable_of_its_address() -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9"}
    said = scylla("models", "--provider", "openai", cwd=ROOT, env=env)
    assert said.code == 5
    assert "http://127.0.0.1:9 cannot be reached; check OPENAI_BASE_URL" in said.err


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("http://models.example/v1", "would get the value of OPENAI_API_KEY unencrypted; use https"),
        ("localhost:8080", "is not an address; write it with http:// or https://"),
        ("http://[::1", "is not an address"),
        ("ftp://models.example", "is not an address"),
    ],
)
def test_a_key_is_sent_to_no_unsafe_address(address: str, what: str) -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address}
    said = scylla("models", "--provider", "openai", cwd=ROOT, env=env)
    assert said.code == 3
    assert "OPENAI_BASE_URL: " in said.err
    assert what in said.err
    assert KEY not in said.err


def test_an_unknown_provider_is_refused() -> None:
    said = scylla("models", "--provider", "openia", cwd=ROOT)
    assert (said.code, 'did you mean "openai"?' in said.err) == (3, True)
