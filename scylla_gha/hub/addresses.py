"""Addresses that answers name: GitHub's own, whatever address a client reached the hub by."""

from typing import Final

API: Final = "https://api.github.com"
SITE: Final = "https://github.com"
