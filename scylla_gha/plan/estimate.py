"""Estimate of the cost and duration of cells, for agents and judges, from earlier trials, or from priors without any.

The prior of an agent is a number of turns by the scenario's size; a turn is assumed to read 25,000 tokens from the
cache, to write 1,500 to it, and to produce 400. The prior of a judge is the size of its prompt and of its answer in
tokens, by the scenario's size. Checks take time even without a model. Priors are first guesses with a wide range, not
measurements.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.counting import counted
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.judgment import PROMPT_BYTES
from scylla_gha.model.plan import Arm, Cell, CostRange, Estimate, EstimateShare
from scylla_gha.model.scenario import Rubric, Size
from scylla_gha.model.traffic import ModelInfo, Tokens

Guess = tuple[float, float, float]
_TURNS: Final[dict[Size, Guess]] = {"small": (3, 10, 30), "medium": (8, 25, 80), "large": (20, 60, 200)}
_TURNS_TO_CALL: Final = 2  # a skill is called in the first answer or never, and others work on
_PROMPT_TOKENS: Final[dict[Size, tuple[int, int, int]]] = {
    "small": (3_000, 6_000, 20_000),
    "medium": (5_000, 12_000, 50_000),
    "large": (8_000, 25_000, 80_000),
}
_ANSWER_TOKENS: Final = (1_000, 3_000, 12_000)  # the high guess includes two more requests for unreadable answers
_TURN: Final = Tokens(output=400, cache_read=25_000, cache_write_5m=1_500)
_MINUTES_PER_TURN: Final = 0.2
_MINUTES_PER_JUDGMENT: Final[Guess] = (0.2, 0.7, 3.0)  # the judges of a panel are asked at once
_BUILT_IN_MINUTES: Final = 0.01
_MINUTES_PER_CHECKS: Final[Guess] = (0.01, 0.05, 0.3)  # of a cell of `core/*` on 2 cores, 2026-11
# The largest first request of Claude Code 2.1.197 (2.1.332 sends 89,000 bytes), and the largest output that a version
# asks for: 2.1.332, for models that it knows to write so much (measured on 2026-11-27).
_REQUEST_BYTES: Final = 118_000
_REQUEST_TOKENS: Final = 128_000
JUDGE_ANSWER_TOKENS: Final = 16_000  # the maximum of a judge's answer (`judge/panel.py`)
_NOTHING: Final[Guess] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PastCost:
    """Cost of one earlier trial in USD and seconds, cost of its judge panel, and seconds of its checks."""

    usd: float | None
    seconds: float
    judge_usd: float | None = None
    check_seconds: float | None = None


History = Mapping[tuple[str, str], Sequence[PastCost]]  # costs of earlier trials, by scenario and arm


@dataclass(frozen=True, slots=True)
class DueCells:
    """Cells that still need a trial, and cells that still need a judgment."""

    trials: Sequence[Cell]
    judgments: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class CellGroup:
    """Cells of one scenario and arm: numbers of trials to run and of trials to judge."""

    folder: ScenarioFolder
    arm: Arm
    trials: int
    judgments: int


def estimate_cells(
    experiment: Experiment, library: Library, arms: Sequence[Arm], due: DueCells, history: History
) -> Estimate:
    """Estimate cost and duration of the due cells."""
    groups = cell_groups(due, arms, library)
    return estimate(groups, experiment, library.priced_models(experiment.prices), history)


def cell_groups(due: DueCells, arms: Sequence[Arm], library: Library) -> list[CellGroup]:
    """Group the due cells by scenario and arm."""
    trials = Counter((cell.scenario, cell.arm) for cell in due.trials)
    judgments = Counter((cell.scenario, cell.arm) for cell in due.judgments)
    by_id = {arm.id: arm for arm in arms}
    return [
        CellGroup(library.scenario(name), by_id[arm], trials[name, arm], judgments[name, arm])
        for name, arm in sorted({*trials, *judgments})
    ]


def estimate(
    groups: Sequence[CellGroup], experiment: Experiment, models: Mapping[str, ModelInfo], history: History
) -> Estimate:
    """Sum the estimates of all groups; USD are unknown if a price is unknown.

    Args:
        groups: groups of the due cells.
        experiment: experiment with the limits and the judges.
        models: prices of the models.
        history: costs of earlier trials.
    """
    estimator = _Estimator(experiment, models, history)
    planned = sum(group.trials for group in groups)
    measured = sum(group.trials for group in groups if estimator.past(group))
    to_run = [group for group in groups if group.trials]
    to_judge = [group for group in groups if group.judgments]
    return Estimate(
        agents=EstimateShare(
            usd=_sum((estimator.usd(group), group.trials) for group in to_run),
            minutes=_sum((estimator.minutes(group), group.trials) for group in to_run),
        ),
        judges=EstimateShare(
            usd=_sum((estimator.judge_usd(group), group.judgments) for group in to_judge),
            minutes=_sum((estimator.judge_minutes(group), group.judgments) for group in to_judge),
        ),
        check_minutes=_sum((estimator.check_minutes(group), group.judgments) for group in to_judge),
        basis=f"history for {measured} of {counted(planned, 'cell')}, priors by size for other cells",
        unpriced=_unpriced([*(group.arm.model for group in to_run), *(experiment.judges if to_judge else ())], models),
    )


def _unpriced(names: Iterable[str | None], models: Mapping[str, ModelInfo]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name and (name not in models or models[name].price is None))


def _sum(guesses: Iterable[tuple[Guess | None, int]]) -> CostRange:
    """Return the sum of the guesses, each multiplied by its number of cells."""
    sums = [0.0, 0.0, 0.0]
    for guess, times in guesses:
        if guess is None:
            return CostRange(low=None, likely=None, high=None)
        sums = [total + part * times for total, part in zip(sums, guess, strict=True)]
    low, likely, high = sums
    return CostRange(low=low, likely=likely, high=high)


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """Expected minutes of a cell from the agent's start to its judgment, and USD (None: unknown)."""

    minutes: float
    usd: float | None


def expected_costs(
    groups: Iterable[CellGroup], experiment: Experiment, models: Mapping[str, ModelInfo], history: History
) -> dict[tuple[str, str], ExpectedCost]:
    """Return the expected cost of one cell of each group, by scenario and arm; arguments as in `estimate`.

    An agent without earlier trials is expected to use its whole time limit.
    """
    estimator = _Estimator(experiment, models, history)
    return {(group.folder.scenario.id, group.arm.id): estimator.expected(group) for group in groups}


@dataclass(frozen=True, slots=True)
class _Estimator:
    """Estimates for one cell of a group; None is unknown."""

    experiment: Experiment
    models: Mapping[str, ModelInfo]
    history: History

    def past(self, group: CellGroup) -> Sequence[PastCost]:
        return self.history.get((group.folder.scenario.id, group.arm.id), ())

    def expected(self, group: CellGroup) -> ExpectedCost:
        agent = self.minutes(group)[1] if self.past(group) or group.arm.model is None else self._limit(group)
        agents, judges = self.usd(group), self.judge_usd(group)
        usd = None if agents is None or judges is None else agents[1] + judges[1]
        return ExpectedCost(agent + self.check_minutes(group)[1] + self.judge_minutes(group)[1], usd)

    def usd(self, group: CellGroup) -> Guess | None:
        if group.arm.model is None:
            return _NOTHING
        costs = [past.usd for past in self.past(group) if past.usd is not None]
        turn = self._price(group.arm.model, _TURN)
        if costs or turn is None:
            return _measured(costs)
        low, likely, high = _turns(group)
        return low * turn, likely * turn, high * turn

    def minutes(self, group: CellGroup) -> Guess:
        measured = _measured([past.seconds / 60 for past in self.past(group)])
        if measured is not None:
            return measured
        if group.arm.model is None:
            return _BUILT_IN_MINUTES, _BUILT_IN_MINUTES, _BUILT_IN_MINUTES
        limit = self._limit(group)
        low, likely, high = (min(limit, turns * _MINUTES_PER_TURN) for turns in _turns(group))
        return low, likely, high

    def _limit(self, group: CellGroup) -> float:
        return (self.experiment.limits.timeout_seconds or group.folder.scenario.task.timeout_seconds) / 60

    def judge_usd(self, group: CellGroup) -> Guess | None:
        if not self._is_asked(group):
            return _NOTHING
        measured = _measured([past.judge_usd for past in self.past(group) if past.judge_usd is not None])
        if measured is not None:
            return measured
        ends = zip(_PROMPT_TOKENS[group.folder.scenario.size], _ANSWER_TOKENS, strict=True)
        sizes = [Tokens(input=prompt, output=answer) for prompt, answer in ends]
        costs = [[self._price(judge, tokens) for judge in self.experiment.judges] for tokens in sizes]
        if any(None in panel for panel in costs):
            return None
        low, likely, high = (sum(usd for usd in panel if usd is not None) for panel in costs)
        return low, likely, high

    def check_minutes(self, group: CellGroup) -> Guess:
        """Return the minutes of a cell's checks, which depend on the scenario, so trials of other arms count too."""
        scenario = group.folder.scenario.id
        past = (past for (name, _), costs in self.history.items() if name == scenario for past in costs)
        measured = _measured([trial.check_seconds / 60 for trial in past if trial.check_seconds is not None])
        return measured or _MINUTES_PER_CHECKS

    def judge_minutes(self, group: CellGroup) -> Guess:
        return _MINUTES_PER_JUDGMENT if self._is_asked(group) else _NOTHING

    def _is_asked(self, group: CellGroup) -> bool:
        """Return whether there is a panel and the rubric has items for it."""
        return bool(self.experiment.judges) and is_for_judges(group.folder.rubric)

    def _price(self, name: str, tokens: Tokens) -> float | None:
        model = self.models.get(name)
        return model.price.usd(tokens) if model and model.price else None


def _turns(group: CellGroup) -> Guess:
    """Return the guessed answers of an agent; a trial that ends at the calls of skills has few."""
    stop = group.folder.scenario.stop
    return (1, min(_TURNS_TO_CALL, stop.answers), stop.answers) if stop else _TURNS[group.folder.scenario.size]


def prior_tokens(size: Size) -> int:
    """Return the expected number of tokens of a trial by the scenario's size, without earlier trials."""
    return round(_TURNS[size][1]) * (_TURN.output + _TURN.cache_read + _TURN.cache_write_5m)


def request_worst(model: ModelInfo) -> float | None:
    """Return the maximum cost of an agent's first request in USD; None if the model has no price."""
    if model.price is None:
        return None
    answer = min(_REQUEST_TOKENS, model.max_output_tokens or _REQUEST_TOKENS)
    return model.price.worst(-(-_REQUEST_BYTES // 2), answer)


def is_for_judges(rubric: Rubric) -> bool:
    """Return whether a rubric has items that only judges can score."""
    return any(not item.checks for item in rubric.items)


def panel_worst(judges: Iterable[str], models: Mapping[str, ModelInfo]) -> float:
    """Return the maximum cost of one request to each judge in USD, with the longest evidence.

    A judge without a known price counts as 0, since with a budget it is never asked.
    """
    prices = [models[name].price for name in judges if name in models]
    prompt = -(-PROMPT_BYTES // 2)
    return sum(price.worst(prompt, JUDGE_ANSWER_TOKENS, caches=False) for price in prices if price)


def _measured(values: Sequence[float]) -> Guess | None:
    return (min(values), sum(values) / len(values), max(values)) if values else None
