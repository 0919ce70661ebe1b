"""Versions of Claude Code that are proved: each has an inventory in config/inventories/."""

from scylla_gha.config.library import toolkit_root

PREFIX = "claude-code-"
VERSIONS = sorted(
    (path.stem.removeprefix(PREFIX) for path in (toolkit_root() / "config/inventories").glob(f"{PREFIX}*.yaml")),
    key=lambda version: tuple(map(int, version.split("."))),
)
NEWEST = VERSIONS[-1]
OLDER = VERSIONS[:-1]
