"""Retries of requests to GitHub: as it asks for them, but not for ever."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

from github import GithubRetry
from github.GithubException import RateLimitExceededExceedsMaxWait
from urllib3 import BaseHTTPResponse

_WORTH_SAYING: Final = 2.0  # seconds


@dataclass(slots=True)
class Patience:
    """The seconds that all waits of a client together may take, and who is told of a wait."""

    tell: Callable[[str], None]
    seconds: float = 600.0

    def spend(self, wait: float, status: int) -> None:
        """Take a wait off, and say it where it is long; the caller does the waiting.

        Args:
            wait: seconds.
            status: that GitHub answered with; 0: it did not.

        Raises:
            RateLimitExceededExceedsMaxWait: that is longer than there is patience.
        """
        if wait > self.seconds:
            raise RateLimitExceededExceedsMaxWait(status, wait=wait)
        self.seconds -= wait
        if wait > _WORTH_SAYING:
            why = f"GitHub says {status}" if status else "no answer from GitHub"
            self.tell(f"{why}; asking again in {wait:.0f} s")


class PatientRetry(GithubRetry):
    """PyGithub's retries, which know both rate limits, with one bound on all that they wait.

    PyGithub's own bound does not hold where GitHub says `Retry-After`.
    """

    def __init__(self, patience: Patience, **kwargs: Any) -> None:  # noqa: ANN401 urllib3's own arguments
        super().__init__(**kwargs)
        self._patience = patience

    @classmethod
    def within(cls, patience: Patience) -> Self:
        """Five retries of a request, two where nobody answers, with growing pauses where GitHub names none."""
        return cls(patience, total=5, connect=2, read=2, backoff_factor=0.5)

    def new(self, **kw: Any) -> Self:  # noqa: ANN401
        """The next retry, of the same patience."""
        return super().new(patience=self._patience, **kw)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """Wait as GitHub asks.

        Raises:
            RateLimitExceededExceedsMaxWait: that is longer than there is patience.
        """
        told = self.get_retry_after(response) if response is not None else None
        wait = told or self.get_backoff_time()
        self._patience.spend(wait, response.status if response is not None else 0)
        super().sleep(response)
