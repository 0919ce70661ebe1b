"""Counters over rows, one row at a time, so that a million rows need no memory."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import fmean

from scylla_gha.model.github_requests import GitHubServer
from scylla_gha.model.report import ApiUse, Counts
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.sandboxes import SANDBOXES

_tokens = attrgetter("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_SHOWN = 5  # cells of a kind of failure


@dataclass(slots=True)
class PartialSum:
    """A sum that counts its unknown terms."""

    total: float = 0.0
    known: int = 0
    unknown: int = 0

    def add(self, value: float | None) -> None:
        """Add a value; None is unknown."""
        if value is None:
            self.unknown += 1
        else:
            self.total += value
            self.known += 1

    @property
    def whole(self) -> float | None:
        """The sum; None if a term is unknown or there is none."""
        return self.total if self.known and not self.unknown else None

    @property
    def mean(self) -> float | None:
        """The mean of the known values, or None."""
        return self.total / self.known if self.known else None


@dataclass(slots=True)
class CellList:
    """A number of cells, and the first few of them."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, cell: str) -> None:
        """Add a cell."""
        self.count += 1
        if self.count <= _SHOWN:
            self.first.append(cell)


@dataclass(slots=True)
class ExcusedAttempts:
    """Attempts with one outcome that do not measure the agent."""

    attempts: int = 0
    trials: int = 0
    reason: str = ""


@dataclass(slots=True)
class ApiCounts:
    """API operations in trials that measure the agent."""

    trials: int = 0
    scenarios: set[str] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    repeated: int = 0

    def add(self, row: Result) -> None:
        """Add a row, if it measures the agent and its operations were counted."""
        if row.measures_agent and row.github_failed is not None:
            self.trials += 1
            self.scenarios.add(row.scenario)
            self.calls.update(row.github_calls)
            self.failed += row.github_failed
            self.repeated += row.github_repeated or 0

    @property
    def means(self) -> ApiUse | None:
        """Means over the trials; None if there are none."""
        n = self.trials
        calls = {name: count / n for name, count in sorted(self.calls.items())}
        return ApiUse(trials=n, scenarios=len(self.scenarios), calls=calls, failed=self.failed / n,
                      repeated=self.repeated / n) if n else None  # fmt: skip


@dataclass(slots=True)
class ArmCounts:
    """Counts of one arm's rows."""

    ran: int = 0
    judged: int = 0
    unjudged: int = 0
    scored: int = 0
    passed: int = 0
    gaps: int = 0  # judged trials that met a gap in the hub
    withheld: list[int] = field(default_factory=list)  # judges without a verdict, of each judged trial that has some
    passed_gaps: int = 0  # those of them that passed
    score: PartialSum = field(default_factory=PartialSum)
    progress: PartialSum = field(default_factory=PartialSum)
    usd: PartialSum = field(default_factory=PartialSum)
    judged_usd: PartialSum = field(default_factory=PartialSum)
    side_requests: int = 0
    side_usd: PartialSum = field(default_factory=PartialSum)
    seconds: PartialSum = field(default_factory=PartialSum)
    tokens: PartialSum = field(default_factory=PartialSum)
    grades: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, CellList] = field(default_factory=lambda: defaultdict(CellList))
    excused: dict[str, ExcusedAttempts] = field(default_factory=lambda: defaultdict(ExcusedAttempts))
    blocked: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    unread: int = 0
    unguarded: list[int] = field(default_factory=list)
    short_skills: list[int] = field(default_factory=list)
    deferred_tools: list[int] = field(default_factory=list)  # of trials whose first request listed some by name only
    loading: int = 0  # trials that loaded definitions of such tools
    versions: set[str] = field(default_factory=set)
    unverified: set[str] = field(default_factory=set)
    beside_mode: int = 0  # trials with requests of clients that the mode has not
    other_clients: Counter[str] = field(default_factory=Counter)  # these requests, by client
    unadjusted: Counter[str] = field(default_factory=Counter)
    judge_unadjusted: Counter[str] = field(default_factory=Counter)
    api: ApiCounts = field(default_factory=ApiCounts)

    def add(self, row: Result) -> None:
        """Add a row."""
        self.ran += 1
        self.outcomes[row.outcome.value] += 1
        self.usd.add(row.usd)
        if row.side_requests:
            self.side_requests += row.side_requests
            self.side_usd.add(row.side_usd)
        parts = _tokens(row)
        self.tokens.add(row.total_tokens if None in parts else sum(parts))
        if row.measures_agent:
            self.seconds.add(row.seconds)
        if row.judged:
            self._add_judged(row)
        self.unjudged += _is_unjudged(row)
        for outcome, attempts in _excused(row).items():
            excused = self.excused[outcome]
            excused.attempts += attempts
            excused.trials += 1
            excused.reason = excused.reason or row.excuse or row.reason
        self._add_events(row)

    def _add_judged(self, row: Result) -> None:
        self.judged += 1
        self.scored += row.score is not None
        self.passed += bool(row.passed)
        if row.judges_withheld:
            self.withheld.append(row.judges_withheld)
        if row.github_gaps:
            self.gaps += 1
            self.passed_gaps += bool(row.passed)
        self.judged_usd.add(row.usd)
        self.score.add(row.score)
        self.progress.add(row.progress)
        if row.grade:
            self.grades[row.grade] += 1
        if not row.passed:
            self.failures[row.failure].add(row.cell)

    def _add_events(self, row: Result) -> None:
        self.beside_mode += bool(row.github_other_clients)
        self.other_clients.update(row.github_other_clients)
        if row.blocked_calls:
            self.blocked.append(row.blocked_calls)
        if row.network_refused:
            self.refused.append(row.network_refused)
        self.unread += row.unread_calls or 0
        if row.unguarded_calls:
            self.unguarded.append(row.unguarded_calls)
        self._add_forms(row)
        if row.agent_version:
            self.versions.add(row.agent_version)
        if row.delivery_unverified:
            self.unverified.add(row.delivery_unverified)
        if row.unadjusted or row.judge_unadjusted:
            self.unadjusted.update(row.unadjusted.split())
            self.judge_unadjusted.update(row.judge_unadjusted.split())

    def _add_forms(self, row: Result) -> None:
        if row.short_skills:
            self.short_skills.append(row.short_skills)
        if row.deferred_tools:
            self.deferred_tools.append(row.deferred_tools)
            self.loading += bool(row.loaded_tools)

    def counts(self, planned: int) -> Counts:
        """Return the denominators."""
        return Counts(planned=planned, ran=self.ran, judged=self.judged, scored=self.scored)


@dataclass(slots=True)
class RowCounts:
    """Counts of all rows.

    Attributes:
        uncommon: scenarios that not all modes can do; operations on them are not counted, since modes are compared by
            these counts.
        left_out: outcome and reason of the cells that are not in the rates.
    """

    uncommon: frozenset[str] = frozenset()
    arms: dict[str, ArmCounts] = field(default_factory=lambda: defaultdict(ArmCounts))
    passed: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # and judged, by scenario and arm
    unjudged: Counter[tuple[str, str]] = field(default_factory=Counter)  # by scenario and arm
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    judge_usd: PartialSum = field(default_factory=PartialSum)
    delivered: PartialSum = field(default_factory=PartialSum)
    starts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    agent_files: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))  # as `unjudged`
    scenarios: set[str] = field(default_factory=set)
    isolations: set[str] = field(default_factory=set)
    github: GitHubServer | None = None
    with_model: int = 0
    exposed: int = 0
    on_host: bool = False
    redacted: list[int] = field(default_factory=list)
    subscription: bool = False
    unjudged_items: bool = False
    unplanned: int = 0

    def add(self, row: Result) -> None:
        """Add a row of the plan."""
        self.seen.add(row.cell)
        self.scenarios.add(row.scenario)
        self.arms[row.arm].add(row)
        if row.scenario not in self.uncommon:
            self.arms[row.arm].api.add(row)
        self.judge_usd.add(row.judge_usd)
        self.delivered.add(row.delivered)
        if row.judged:
            cell = self.passed.setdefault(row.scenario, {}).setdefault(row.arm, [0, 0])
            cell[0] += bool(row.passed)
            cell[1] += 1
        elif not row.measures_agent:
            self.left_out[row.cell] = (row.outcome.value, row.reason)
        else:
            self.left_out[row.cell] = ("unjudged", row.unjudged or "it ran, and is not judged; run `scylla-gha judge`")
        self.unjudged[row.scenario, row.arm] += _is_unjudged(row)
        self._add_conditions(row)

    def bounds(self, arm: str, *, by_scenario: bool) -> tuple[float, float] | None:
        """Return the arm's pass rate if all its unjudged trials had failed, and if all had passed; None without any.

        Args:
            arm: arm to bound.
            by_scenario: mean over scenarios if true, else over trials.
        """
        arm_counts = self.arms[arm]
        if not arm_counts.unjudged or not arm_counts.judged:
            return None
        if not by_scenario:
            return _between(arm_counts.passed, arm_counts.judged, arm_counts.unjudged)
        tried = sorted(self.scenarios)
        cells = [(*self.passed.get(name, {}).get(arm, (0, 0)), self.unjudged[name, arm]) for name in tried]
        pairs = [_between(*cell) for cell in cells if cell[1] + cell[2]]
        return fmean(low for low, _ in pairs), fmean(high for _, high in pairs)

    def _add_conditions(self, row: Result) -> None:
        self.isolations.add(row.isolation)
        self.github = self.github or row.github
        self.with_model += bool(row.model)
        self.exposed += bool(row.model) and row.keys == "exposed"
        sandbox = SANDBOXES.get(row.sandbox)  # imported rows may name others
        self.on_host |= bool(row.model) and sandbox is not None and sandbox.has_network
        self.subscription |= row.subscription
        self.unjudged_items |= bool(row.items_unjudged)
        self.redacted += [row.redactions] if row.redactions else []
        self.starts[row.scenario].update(filter(None, [row.workspace_digest]))
        self.agent_files[row.arm, row.scenario].update(row.agent_files or ())


def _between(passed: int, judged: int, unjudged: int) -> tuple[float, float]:
    return passed / (judged + unjudged), (passed + unjudged) / (judged + unjudged)


def _is_unjudged(row: Result) -> bool:
    """Return whether the agent did its part, but judging gave no verdict."""
    return not row.judged and (row.measures_agent or row.outcome is Outcome.JUDGE_ERROR)


def _excused(row: Result) -> dict[str, int]:
    """Return the attempts that do not measure the agent; a row without this column counts by its own outcome."""
    if row.excused_attempts or row.measures_agent or row.outcome is Outcome.JUDGE_ERROR:
        return row.excused_attempts
    return {row.outcome.value: 1}
