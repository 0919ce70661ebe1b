"""The judges' prompt texts: `config/judge/system_prompt.md` and `user_template.md`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.model.record import digest

_FIELDS: Final = ("task", "items", "steps", "checks", "told", "evidence", "again", "tag")


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """System prompt of the judges, template of the user's message, and its version."""

    system: str
    template: str
    version: int

    @property
    def digest(self) -> str:
        """SHA-256 of both texts."""
        return digest([self.system, self.template])


def read_prompt_texts(roots: Iterable[Path]) -> PromptTexts:
    """Read the prompt texts of the first root that has `config/judge/`; a user's repository may bring its own.

    Raises:
        ConfigError: a file is missing, has no version, or lacks a placeholder.
    """
    folders = [root / "config" / "judge" for root in roots]
    folder = next((path for path in folders if path.is_dir()), None)
    if folder is None:
        raise ConfigError(f"{', '.join(map(str, folders))}: no such folder; the judges' prompts belong there")
    return prompt_texts(folder)


def prompt_texts(folder: Path) -> PromptTexts:
    """Read `system_prompt.md` and `user_template.md` of a folder.

    Raises:
        ConfigError: a file is missing, has no version, or lacks a placeholder.
    """
    system, template = (_text(folder / name) for name in ("system_prompt.md", "user_template.md"))
    first, _, rest = template.partition("\n")
    version = re.fullmatch(r"version: (\d{1,6})", first.strip())
    if not version:
        raise ConfigError(f"{folder / 'user_template.md'}:1: must be `version: 1` or a later number, not {first!r}")
    named = Template(rest)
    if not named.is_valid() or set(named.get_identifiers()) != set(_FIELDS):
        names = ", ".join(f"${name}" for name in _FIELDS)
        raise ConfigError(f"{folder / 'user_template.md'}: must use exactly {names} (a dollar sign is written $$)")
    return PromptTexts(system, rest, int(version[1]))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}; it is part of the judges' prompt") from None
