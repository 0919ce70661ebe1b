"""Conditions on GitHub's state: what text a page shows, patterns, and operators.

Untrusted text meets these functions, so they run in a process of their own (`python -m scylla_gha.conditions`), whose
time and memory are limited. Nothing here knows scenarios, trials or records.
"""

from typing import Final

TOO_MUCH: Final = 99  # its exit code if it needs more memory
CPU_SECONDS: Final = 60
MEMORY_BYTES: Final = 2 * 1024**3
TEXT_CHARS: Final = 250_000  # of Markdown that conditions read of a trial
