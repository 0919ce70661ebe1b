"""Chat completions at another address, with another key."""

from collections.abc import Mapping

from scylla_gha.providers.base import ApiStyle, KeyProvider
from scylla_gha.providers.openai import ChatStyle


class Acme(KeyProvider):
    """A provider that serves models by chat completions."""

    styles: Mapping[str, ApiStyle] = {ChatStyle.name: ChatStyle("max_completion_tokens")}
    base_url = "https://api.acme.example"
    base_url_variable = "ACME_BASE_URL"
    credential_variables = ("ACME_API_KEY",)
