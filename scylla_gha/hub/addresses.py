"""Addresses that answers name: GitHub's own, whatever address a client reached the hub by."""

from typing import Final

API: Final = "https://api.github.com"
SITE: Final = "https://github.com"
CODELOAD: Final = "https://codeload.github.com"
CODELOAD_PATH: Final = "/codeload"  # instead of that host, for clients with a base URL, as of an Enterprise Server
