"""Model providers and their credentials. To add one, write its class in a folder and add a line to `PROVIDERS`.

A model's file names its provider. A model without a file is one of the SDK's list, so its provider is the SDK's.

Credentials are removed from the environment when a command starts, and passed to the gateway only: no process that a
command starts (npm, uv, git, an agent CLI) inherits them.
"""

import ctypes
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from scylla_gha.config import did_you_mean
from scylla_gha.config.model_names import LOCAL_PROVIDER, SDK_PROVIDER
from scylla_gha.errors import ConfigError
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers.anthropic import Anthropic
from scylla_gha.providers.base import ApiStyle, Provider
from scylla_gha.providers.gemini import Gemini
from scylla_gha.providers.openai import LocalServer, OpenAI, OpenRouter

PROVIDERS: Final[Mapping[str, Provider]] = {
    "anthropic": Anthropic(),
    "openai": OpenAI(),
    "gemini": Gemini(),
    "openrouter": OpenRouter(),
    LOCAL_PROVIDER: LocalServer(),
}
HIDDEN_VARIABLES: Final = (
    *(name for provider in PROVIDERS.values() for name in provider.secret_variables),
    "ACTIONS_RUNTIME_TOKEN",  # with it a process could act as the job
)
CREDENTIAL_VARIABLES: Final = tuple(name for provider in PROVIDERS.values() for name in provider.credential_variables)
FIXTURE_VARIABLE_PREFIX: Final = (
    "SCYLLA_FIXTURE_TOKEN"  # variables that begin so have tokens for repositories on github.com
)
_SET_DUMPABLE: Final = 4  # PR_SET_DUMPABLE of <linux/prctl.h>
_HIDDEN: Final[dict[str, str]] = {}


@contextmanager
def hide_credentials() -> Iterator[None]:
    """Hide the credentials from other processes of this user while a command runs; see `provider_environment`.

    It also closes this process's memory and `/proc/PID/environ`, which shows the environment that it was started with.
    Root can read both.
    """
    names = [name for name in os.environ if name in HIDDEN_VARIABLES or name.startswith(FIXTURE_VARIABLE_PREFIX)]
    hidden = {name: os.environ.pop(name) for name in names}
    _HIDDEN.update(hidden)
    if hidden:
        close_memory()
    try:
        yield
    finally:
        for name in hidden:
            del _HIDDEN[name]
        os.environ.update(hidden)


def provider_environment() -> Mapping[str, str]:
    """Return the environment that the command was started with, with credentials; never pass it to a process."""
    return {**os.environ, **_HIDDEN}


def provider_name(model: str, models: Mapping[str, ModelInfo]) -> str:
    """Return the name of a model's provider.

    Args:
        model: id of the model.
        models: models that have a file, by id.

    Raises:
        ConfigError: the model's file names an unknown provider.
    """
    name = models[model].provider if model in models else SDK_PROVIDER
    if name not in PROVIDERS:
        raise ConfigError(
            f"config/models/: the model {model} has the provider {name!r}"
            f"{did_you_mean(name, list(PROVIDERS))}; there are: {', '.join(PROVIDERS)}"
        )
    return name


def missing_key(provider: str, environ: Mapping[str, str]) -> str | None:
    """Return the variable to set for a provider's key or address; None if the environment gives access already.

    Access comes from a key, a token, an identity that can be exchanged for a token, or the address of a keyless server.
    """
    api = PROVIDERS[provider]
    if not api.needs_key:
        return None if environ.get(api.base_url_variable) else api.base_url_variable
    return None if api.credentials(environ) else api.credential_variables[0]


def missing_key_text(users: Collection[str], models: Collection[str], provider: str, variable: str) -> str:
    """Return a message on a missing key: who needs it, for which models, and the variable to set."""
    what = "a key" if PROVIDERS[provider].needs_key else "the address"
    return (
        f"{_listed(users)} need{'s' if len(users) == 1 else ''} {what} of {provider} to reach {_listed(models)}; "
        f"set {variable}"
    )


def shared_style(styles: Iterable[str], provider: str) -> str | None:
    """Return the API style in which an agent requests a provider's models; None if they have none in common.

    Args:
        styles: styles that the agent speaks, the preferred one first (`Agent.api_styles`).
        provider: name of the provider.
    """
    return next((style for style in styles if style in PROVIDERS[provider].styles), None)


def own_style(provider: str) -> ApiStyle:
    """Return the API style in which the toolkit itself asks a provider's models, such as judges: the first one."""
    return next(iter(PROVIDERS[provider].styles.values()))


def _listed(names: Iterable[str]) -> str:
    return " and ".join(", ".join(names).rsplit(", ", 1))


def close_memory() -> None:
    """Prevent other processes of this user, except root's, from tracing this one and reading its memory.

    Processes that it starts are not protected. It also prevents core dumps.
    """
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
