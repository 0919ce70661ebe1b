"""Gateways, each with a provider, that tests of this process share if they differ in nothing but the script."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from scylla_gha.model.traffic import ModelInfo
from tests.support.gateway import MODELS, Host, hosted
from tests.support.provider import Body, Fail, Hang, Hangup, Provider, Say, Script, serve

_RUNNING: Final = ExitStack()
_HOSTS: Final[dict[tuple[ModelInfo, ...], tuple[Host, Provider]]] = {}
_SCRIPTS: Final[list[Script]] = []  # the last one is followed


@contextmanager
def shared_host(
    folder: Path, script: Script = lambda _: Say("Hi."), models: tuple[ModelInfo, ...] = MODELS
) -> Iterator[tuple[Host, Provider]]:
    """Let the provider follow the script until the block ends; its lists hold only what the block's requests add.

    Not for tests that end the gateway, let the provider hang, or provoke rate limits.
    """
    if models not in _HOSTS:
        provider = _RUNNING.enter_context(serve(_follow_latest))
        _HOSTS[models] = (_RUNNING.enter_context(hosted(folder, provider.url, models=models)), provider)
    host, provider = _HOSTS[models]
    for received in (provider.requests, provider.keys, provider.paths, provider.headers, provider.raw):
        received.clear()
    _SCRIPTS.append(script)
    try:
        yield Host(host.gateway, folder), provider
    finally:
        _SCRIPTS.pop()


def _follow_latest(body: Body) -> Say | Fail | Hang | Hangup:
    return _SCRIPTS[-1](body)


def close_shared_hosts() -> None:
    """End the gateways and the providers."""
    _RUNNING.close()
    _HOSTS.clear()
