"""Proof of a scenario: the solutions that were tried, their verdicts, and their API operations on GitHub."""

from collections.abc import Mapping

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.github_requests import CallCounts
from scylla_gha.model.mode import DEFAULT_MODE

_ORACLE = "solution"


class SolutionTrial(Record):
    """Solution that was tried: `nop`, `solution`, `solution/MODE`, `right/NAME` or `wrong/NAME`."""

    name: str
    passed: bool
    fault: str | None = Field(
        default=None, description="Difference between this verdict and the one that the proof needs; null: none"
    )
    seconds: float = Field(
        default=0.0, ge=0, description="Time in seconds of all tries of the solution, judging included"
    )
    judged: tuple[str, ...] = Field(
        default=(),
        description="Ids of required items that judges must find unmet, since all checks accept the solution",
    )
    calls: CallCounts = Field(default={}, description="Number of API operations in the first try, by category")


class ScenarioProof(Record):
    """Proof of a scenario, with the modes in which its task is possible."""

    scenario: str
    not_possible: dict[str, str] = Field(
        default={}, description="Reasons why the task cannot be done in a mode, by mode"
    )
    has_github: bool = False
    agent_files: tuple[str, ...] = Field(default=(), description="Files for agents in the start state")
    trials: tuple[SolutionTrial, ...]

    @property
    def faults(self) -> list[str]:
        """Messages about verdicts that are wrong."""
        return [f"{self.scenario}: {trial.name}: {trial.fault}" for trial in self.trials if trial.fault]

    @property
    def tried(self) -> tuple[tuple[str, bool, str | None], ...]:
        """Name, verdict and fault of each solution."""
        return tuple((trial.name, trial.passed, trial.fault) for trial in self.trials)

    @property
    def verdicts(self) -> str:
        """The verdicts in a sentence."""
        return ", ".join(f"{trial.name} {_verdict(trial)}" for trial in self.trials)

    @property
    def oracles(self) -> Mapping[str, SolutionTrial]:
        """Trials of the oracles, by mode."""
        return {
            DEFAULT_MODE if trial.name == _ORACLE else trial.name.removeprefix(f"{_ORACLE}/"): trial
            for trial in self.trials
            if trial.name.partition("/")[0] == _ORACLE
        }

    @property
    def wrong(self) -> tuple[SolutionTrial, ...]:
        """Trials of the wrong solutions."""
        return tuple(trial for trial in self.trials if trial.name.startswith("wrong/"))

    @property
    def rejected(self) -> int:
        """Number of wrong solutions that the checks reject, as they must."""
        return sum(not trial.passed and not trial.fault and not trial.judged for trial in self.wrong)

    @property
    def left_to_judges(self) -> int:
        """Number of wrong solutions that the checks accept, and that fail if judges find an item unmet."""
        return sum(bool(trial.judged) and not trial.fault for trial in self.wrong)

    @property
    def seconds(self) -> float:
        """Time of all trials, one after the other."""
        return sum(trial.seconds for trial in self.trials)


def _verdict(trial: SolutionTrial) -> str:
    if trial.judged:
        return f"fails if judges find {', '.join(trial.judged)} unmet"
    return "passes" if trial.passed else "fails"
