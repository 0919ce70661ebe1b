"""The facts of a run, by the variables that the runner gives every step."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError

_SERVER: Final = "https://github.com"


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one attempt at a run. `outputs`, `environment` and `summary` are the runner's files for this step."""

    run_id: int
    attempt: int
    repository: str
    sha: str
    server_url: str
    outputs: Path
    environment: Path | None
    summary: Path | None
    event: Path | None

    @property
    def run_url(self) -> str:
        """The page of this attempt."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}/attempts/{self.attempt}"


def facts_of(environ: Mapping[str, str]) -> Facts:
    """Read them.

    Raises:
        ConfigError: a variable is missing, or is not what the runner would give.
    """
    return Facts(
        run_id=_number(environ, "GITHUB_RUN_ID"),
        attempt=_number(environ, "GITHUB_RUN_ATTEMPT"),
        repository=_given(environ, "GITHUB_REPOSITORY"),
        sha=_given(environ, "GITHUB_SHA"),
        server_url=(environ.get("GITHUB_SERVER_URL") or _SERVER).rstrip("/"),
        outputs=Path(_given(environ, "GITHUB_OUTPUT")),
        environment=_path(environ, "GITHUB_ENV"),
        summary=_path(environ, "GITHUB_STEP_SUMMARY"),
        event=_path(environ, "GITHUB_EVENT_PATH"),
    )


def _given(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise ConfigError(f"--github: {name} is not set; it is for a step of a workflow in GitHub Actions, "
                          "so leave --github out elsewhere")  # fmt: skip
    return value


def _number(environ: Mapping[str, str], name: str) -> int:
    value = _given(environ, name)
    if not (value.isascii() and value.isdecimal() and int(value) > 0):
        raise ConfigError(f"--github: {name}: {value!r} is no number from 1 on")
    return int(value)


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(value) if (value := environ.get(name)) else None
