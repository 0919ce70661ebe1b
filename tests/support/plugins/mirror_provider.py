"""The Messages API at another address, with another key."""

from scylla_gha.providers.anthropic import Anthropic


class Mirror(Anthropic):
    """A provider that serves models by Anthropic's API."""

    base_url = "https://api.mirror.example"
    base_url_variable = "MIRROR_BASE_URL"
    credential_variables = ("MIRROR_API_KEY",)
    federation_variables = ()
    secret_variables = ("MIRROR_API_KEY",)
