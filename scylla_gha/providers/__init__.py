"""Model providers: one folder per API. To add one, write its class and add a line to `PROVIDERS`."""

from collections.abc import Mapping
from typing import Final

from scylla_gha.providers.anthropic.provider import Anthropic
from scylla_gha.providers.base import Provider

PROVIDERS: Final[Mapping[str, Provider]] = {"anthropic": Anthropic()}
DEFAULT_PROVIDER: Final = "anthropic"
