"""Where an experiment's configuration lies: here, and where it holds a change, in a checkout of that too."""

from dataclasses import dataclass
from pathlib import Path

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Arm


@dataclass(frozen=True, slots=True)
class Sources:
    """All is taken from `here`, but for the variants that `head` changes."""

    here: Library
    head: Library | None = None

    @classmethod
    def of(cls, here: Library, head: Path | None) -> "Sources":
        """With the checkout of a change, where there is one."""
        return cls(here, Library.here(head) if head else None)

    def variant(self, arm: Arm) -> Library:
        """Where the materials of an arm's variant are.

        Raises:
            ConfigError: they are those of a change that is not here.
        """
        if arm.side is None:
            return self.here
        if self.head is None:
            raise ConfigError(f"{arm.id}: is the variant of a change, which is not here; name its checkout with --head")
        return self.head
