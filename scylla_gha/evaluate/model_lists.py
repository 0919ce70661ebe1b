"""Comparison of the models in `config/models/` with the lists of their providers, for `scylla-gha models`.

A list is asked for with the credentials in the environment; it costs nothing. Redirects are not followed, so that a key
reaches its provider alone.
"""

import asyncio
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal

from scylla_gha.config import did_you_mean
from scylla_gha.errors import ToolError
from scylla_gha.gateway.evidence import UNREACHABLE
from scylla_gha.gateway.settings import ProviderAccess
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers import PROVIDERS, missing_key, own_style
from scylla_gha.providers.base import ListedModel, parse_object
from scylla_gha.providers.credentials import CredentialError

if TYPE_CHECKING:
    from httpx2 import Client

_SECONDS: Final = 10.0  # without an answer
_MOST_PAGES: Final = 100
_NO_LIST: Final = (404, 405)  # of a request for an answer, these say something about its model
_MOST_BYTES: Final = 32 * 1024 * 1024  # of a page
_PRICE_TOLERANCE: Final = 1e-6  # relative: prices of a token are rounded


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """A value of a model's file, and the other value in the provider's list."""

    what: str
    ours: float | None
    theirs: float


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """Result of the comparison of a model with its provider's list.

    Attributes:
        state: `unlisted`: the provider does not know the model; `unchecked`: the list could not be read.
        why: reason, if it is unlisted or unchecked.
        is_fault: the list was asked for, but there is no list: the address, the key or the network is at fault.
    """

    model: str
    provider: str
    state: Literal["ok", "differs", "unlisted", "unchecked"]
    why: str = ""
    differences: tuple[ModelDifference, ...] = ()
    is_fault: bool = False


def check_models(models: Iterable[ModelInfo], environ: Mapping[str, str]) -> Iterator[ModelCheck]:
    """Yield a check of each model, by provider; a list is asked for only where the environment gives access.

    Raises:
        ConfigError: a model has no provider, or an address would send a key unencrypted.
    """
    by_provider: dict[str, list[ModelInfo]] = {}
    for model in models:
        by_provider.setdefault(model.provider, []).append(model)
    for provider, own in by_provider.items():
        if variable := missing_key(provider, environ):
            yield from (ModelCheck(model.id, provider, "unchecked", f"{variable} is not set") for model in own)
            continue
        try:
            listed = read_model_list(provider, environ)
        except ToolError as error:
            yield from (ModelCheck(model.id, provider, "unchecked", str(error), is_fault=True) for model in own)
        else:
            yield from (_check(model, listed) for model in own)


def _check(model: ModelInfo, listed: Mapping[str, ListedModel]) -> ModelCheck:
    theirs = listed.get(model.id)
    if theirs is None:
        why = f"is not in the provider's list{did_you_mean(model.id, set(listed))}"
        return ModelCheck(model.id, model.provider, "unlisted", why)
    differences = tuple(_differences(model, theirs))
    return ModelCheck(model.id, model.provider, "differs" if differences else "ok", differences=differences)


def _differences(model: ModelInfo, listed: ListedModel) -> Iterator[ModelDifference]:
    """Yield stated values that the model's file has otherwise."""
    for name in ("context_tokens", "max_output_tokens"):
        ours, theirs = getattr(model, name), getattr(listed, name)
        if theirs is not None and ours != theirs:
            yield ModelDifference(name, ours, theirs)
    for kind, usd in listed.prices.items():
        price = getattr(model.price, kind) if model.price else None
        if price is None or not math.isclose(price, usd, rel_tol=_PRICE_TOLERANCE):
            yield ModelDifference(f"price.{kind}", price, usd)


def require_listed(provider: str, models: Iterable[str], environ: Mapping[str, str]) -> None:
    """Check that a provider has the models; a server without a list is not refused, since many proxies have none.

    Raises:
        ToolError: the provider's list lacks a model.
        ConfigError: the address would send a key unencrypted.
    """
    try:
        listed = read_model_list(provider, environ)
    except ToolError:
        return  # the first request shows whether it works
    for model in models:
        if model not in listed:
            raise ToolError(
                f"{provider} has no model {model}{did_you_mean(model, set(listed))}; correct the id, or "
                f"{PROVIDERS[provider].base_url_variable} if it names another server"
            )


def read_model_list(provider: str, environ: Mapping[str, str]) -> dict[str, ListedModel]:
    """Return all models of a provider's list, by id.

    Raises:
        ToolError: there is no list; the message names the variable to correct.
        ConfigError: the address would send a key unencrypted.
    """
    import httpx2

    access = ProviderAccess.of(provider, environ)
    if access is None:
        raise ToolError(f"there is no access to {provider}")
    try:
        with httpx2.Client(timeout=_SECONDS) as client:
            return {model.id: model for model in _pages(client, access)}
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ToolError(f"{access.dead_end(UNREACHABLE)} ({error or type(error).__name__})") from None
    except CredentialError as error:
        raise ToolError(str(error)) from None


def _pages(client: "Client", access: ProviderAccess) -> Iterator[ListedModel]:
    style = own_style(access.provider)
    after: str | None = None
    headers = style.request_headers({"anthropic-version": "2023-06-01"}, access.credentials(_token(access)))
    for _ in range(_MOST_PAGES):
        url = style.url(access.base_url, style.list_target(after), "")
        with client.stream("GET", url, headers=list(headers.items())) as response:
            if response.status_code != HTTPStatus.OK:
                raise ToolError(_refused(access, url, response.status_code))
            body = _body(response.iter_bytes())
        page = style.read_list(parse_object(body) or {})
        if page is None:
            raise ToolError(f"{url} answers, but not with a list of models; check {access.api.base_url_variable}")
        models, after = page
        yield from models
        if after is None:
            return


def _body(chunks: Iterable[bytes]) -> bytes:
    """Join the bytes of a page; a longer one is cut, so that it is not a list."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > _MOST_BYTES:
            break
    return bytes(body)


def _refused(access: ProviderAccess, url: str, status: int) -> str:
    variable = access.api.base_url_variable
    reason = None if status in _NO_LIST else access.dead_end(str(status))
    return reason or f"{url} answers {status}, not a list of models; check {variable}"


def _token(access: ProviderAccess) -> str | None:
    """Exchange the run's identity for a token, if the environment has neither a key nor a token."""
    if access.federation is None:
        return None
    return asyncio.run(access.api.token_source(access.federation, access.base_url).token())
