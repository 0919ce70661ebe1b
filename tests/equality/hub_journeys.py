"""Run the journeys of gh and git of tests, and write each command with all its requests: `hub_journeys.py FOLDER`.

It imports the tests' hub, so each checkout runs its own copy: change it with what it imports.
"""

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.test_hub_clients import add_failed_run
from tests.support.hub import make_hub
from tests.support.hub_journey import JOURNEYS, Journey, clone_of
from tests.support.hub_server import serving_hub

LOGGED = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
REQUESTS = {"GH_DEBUG": "api"}  # not of releases: gh asks for one in two ways at once, and cancels the slower


@dataclass
class LoggedJourney(Journey):
    """A journey that keeps what each command printed; gh prints its requests and their answers."""

    log: list[str] = field(default_factory=list)

    def _exec(self, words: list[str]) -> bool:
        succeeded = super()._exec(words)
        self.log.append(f"$ {' '.join(words)}\n{self.stdout}{self.stderr}{'' if succeeded else '(failed)'}\n")
        return succeeded


def main(out: Path) -> None:
    for script in sorted(JOURNEYS.glob("*.txtar")):
        with tempfile.TemporaryDirectory(prefix="journey-") as name:
            folder = Path(name)
            hub = make_hub(folder / "hub")
            with serving_hub(hub, folder / "served") as served:
                run, job = add_failed_run(hub) if script.stem == "run" else (0, 0)
                variables = {"RUN": str(run), "JOB": str(job)}
                journey = LoggedJourney(
                    served.environment,
                    "octocat",
                    clone_of(served),
                    variables,
                    {**LOGGED, **({} if script.stem == "release" else REQUESTS)},
                )
                failure = journey.first_failure(script)
        text = "".join([*journey.log, f"failure: {failure}\n"]).replace(name, "<folder>")
        (out / f"{script.stem}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
