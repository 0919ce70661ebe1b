"""Limits of the process that evaluates conditions."""

from typing import Final

TOO_MUCH: Final = 99  # its exit code if it needs more memory
CPU_SECONDS: Final = 60
MEMORY_BYTES: Final = 2 * 1024**3
TEXT_CHARS: Final = 250_000  # of Markdown that conditions read of a trial
