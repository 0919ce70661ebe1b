"""Count rows by arm: numbers are stored in a table's columns, and texts are counted while rows are read."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean

from scylla_gha.analysis import TOKENS, RowTable
from scylla_gha.model.github_requests import GitHubServer
from scylla_gha.model.report import ApiUse, Counts, ResourceUse
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.sandboxes import SANDBOXES


def whole(values: Iterable[float]) -> float | None:
    """Return the sum, or None if a value is unknown (NaN) or there are no values."""
    terms = list(values)
    return sum(terms) if terms and not any(map(math.isnan, terms)) else None


def mean(values: Iterable[float]) -> float | None:
    """Return the mean of the known values, or None if no value is known."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else None


@dataclass(slots=True)
class ApiCounts:
    """Counts of API operations in one arm's trials that measure the agent."""

    scenarios: list[str] = field(default_factory=list)  # scenario of each trial
    calls: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    repeated: int = 0

    def add(self, row: Result) -> None:
        """Add a row."""
        self.scenarios.append(row.scenario)
        self.calls.update(row.github_calls)
        self.failed += row.github_failed or 0
        self.repeated += row.github_repeated or 0

    @property
    def means(self) -> ApiUse | None:
        """Means over the trials; None if there are no trials."""
        n = len(self.scenarios)
        if not n:
            return None
        return ApiUse(
            trials=n,
            scenarios=len(set(self.scenarios)),
            calls={name: count / n for name, count in sorted(self.calls.items())},
            failed=self.failed / n,
            repeated=self.repeated / n,
        )


@dataclass(slots=True)
class UseCounts:
    """Counts of a declared resource in one arm's judged trials."""

    trials: int = 0
    used: int = 0
    uses: int = 0
    by_prompt: int = 0
    read: int = 0
    refused: int = 0

    def add(self, row: Result, resource: str, uses: int) -> None:
        """Add a row with this number of uses of the resource."""
        self.trials += 1
        self.used += uses > 0
        self.uses += uses
        self.by_prompt += resource in row.uses_by_prompt
        self.read += resource in row.skills_read
        self.refused += row.uses_refused.get(resource, 0)


@dataclass(slots=True)
class ArmTexts:
    """Texts in one arm's rows, with their frequency."""

    grades: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # cells, by kind
    # By outcome: for each trial, the number of excused attempts and a reason
    excused: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    versions: set[str] = field(default_factory=set)
    unverified: set[str] = field(default_factory=set)
    safety_nets: Counter[str] = field(default_factory=Counter)  # trials by what judged their calls
    beside_mode: int = 0  # trials with requests by clients outside the mode
    other_clients: Counter[str] = field(default_factory=Counter)  # number of such requests, by client
    unadjusted: Counter[str] = field(default_factory=Counter)
    judge_unadjusted: Counter[str] = field(default_factory=Counter)
    uses: dict[str, UseCounts] = field(default_factory=lambda: defaultdict(UseCounts))  # by resource

    def add(self, row: Result) -> None:
        """Add a row."""
        if row.judged and row.grade:
            self.grades[row.grade] += 1
        if row.judged and not row.passed:
            self.failures[row.failure].append(row.cell)
        for outcome, attempts in _excused(row).items():
            self.excused[outcome].append((attempts, row.excuse or row.reason))
        self.versions.update(filter(None, [row.agent_version]))
        self.unverified.update(filter(None, [row.delivery_unverified]))
        self.safety_nets.update(filter(None, [row.safety_net]))
        self.beside_mode += bool(row.github_other_clients)
        self.other_clients.update(row.github_other_clients)
        if row.unadjusted or row.judge_unadjusted:
            self.unadjusted.update(row.unadjusted.split())
            self.judge_unadjusted.update(row.judge_unadjusted.split())
        for resource, uses in (row.uses or {}).items() if row.judged else ():
            self.uses[resource].add(row, resource, uses)

    @property
    def resources(self) -> tuple[ResourceUse, ...]:
        """Uses of the declared resources, most used first."""
        rows = [ResourceUse(resource=name, **asdict(counts)) for name, counts in self.uses.items()]
        return tuple(sorted(rows, key=lambda row: (-row.used / row.trials, row.resource)))


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The rows of one arm in a table, all or only the judged ones, and their texts."""

    table: RowTable
    rows: Sequence[int]
    texts: ArmTexts

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def judged(self) -> "CountedRows":
        """The rows that count in the rates."""
        return CountedRows(self.table, [row for row in self.rows if self.table.judged[row]], self.texts)

    @property
    def passed(self) -> int:
        """Number of rows that passed."""
        return len(self.above_zero("passed"))

    def values(self, name: str) -> list[float]:
        """Return the values of a column; NaN: unknown."""
        column = self.table.columns[name]
        return [column[row] for row in self.rows]

    def above_zero(self, name: str) -> list[int]:
        """Return the known numbers of a column that are above 0."""
        return [int(value) for value in self.values(name) if value > 0]

    @property
    def side_usd(self) -> list[float]:
        """Cost of requests to other models in USD, one value per row with such requests."""
        pairs = zip(self.values("side_requests"), self.values("side_usd"), strict=True)
        return [usd for requests, usd in pairs if requests > 0]

    @property
    def seconds(self) -> list[float]:
        """Seconds of the rows that measure the agent."""
        column = self.table.columns["seconds"]
        return [column[row] for row in self.rows if self.table.measures[row]]

    @property
    def tokens(self) -> list[float]:
        """Tokens per row, summed over all kinds; the row's total if a kind is unknown."""
        kinds = zip(*(self.values(name) for name in TOKENS), strict=True)
        sums = map(sum, kinds)
        return [
            total if math.isnan(parts) else parts
            for parts, total in zip(sums, self.values("total_tokens"), strict=True)
        ]

    @property
    def outcomes(self) -> dict[str, int]:
        """Numbers of rows by outcome, sorted."""
        return dict(sorted(Counter(self.table.outcomes[row] for row in self.rows).items()))

    def counts(self, planned: int) -> Counts:
        """Return the denominators: planned, ran, judged and scored."""
        scores = self.judged.values("score")
        return Counts(
            planned=planned, ran=len(self), judged=len(scores), scored=sum(not math.isnan(score) for score in scores)
        )


@dataclass(slots=True)
class RowCounts:
    """Counts of all rows.

    Attributes:
        uncommon: scenarios that some mode cannot do; their API operations are not counted, since the counts of modes
            are compared.
        table: numeric columns of the rows.
        verdicts: numbers of passed, judged and unjudged trials, by scenario and arm.
        left_out: outcome and reason of each cell that is excluded from the rates.
    """

    uncommon: frozenset[str] = frozenset()
    table: RowTable = field(default_factory=RowTable)
    texts: dict[str, ArmTexts] = field(default_factory=lambda: defaultdict(ArmTexts))
    api: dict[str, ApiCounts] = field(default_factory=lambda: defaultdict(ApiCounts))
    verdicts: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    starts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    agent_files: dict[tuple[str, str], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )  # files for agents, by arm and scenario
    isolations: set[str] = field(default_factory=set)
    github: GitHubServer | None = None
    with_model: int = 0
    exposed: int = 0
    on_host: bool = False
    subscription: bool = False
    unplanned: int = 0

    def add(self, row: Result) -> None:
        """Add a row of the plan."""
        self.seen.add(row.cell)
        self.table.add(row)
        self.texts[row.arm].add(row)
        if row.scenario not in self.uncommon and row.measures_agent and row.github_failed is not None:
            self.api[row.arm].add(row)
        group = self.verdicts.setdefault(row.scenario, {}).setdefault(row.arm, [0, 0, 0])
        group[0] += bool(row.judged and row.passed)
        group[1] += row.judged
        # The agent finished, but judging gave no verdict.
        group[2] += not row.judged and (row.measures_agent or row.outcome is Outcome.JUDGE_ERROR)
        if not row.judged and not row.measures_agent:
            self.left_out[row.cell] = (row.outcome.value, row.reason)
        elif not row.judged:
            self.left_out[row.cell] = ("unjudged", row.unjudged or "it ran but was not judged; run `scylla-gha judge`")
        self._add_conditions(row)

    def arm(self, arm: str) -> CountedRows:
        """Return the rows of an arm, perhaps none."""
        return CountedRows(self.table, self.table.rows.get(arm, []), self.texts.get(arm) or ArmTexts())

    @property
    def all_rows(self) -> CountedRows:
        """The rows of all arms."""
        return CountedRows(self.table, range(len(self.table.cells)), ArmTexts())

    def bounds(self, arm: str, *, by_scenario: bool) -> tuple[float, float] | None:
        """Return the arm's pass rates if all unjudged trials had failed or passed; None without unjudged trials.

        Args:
            arm: arm to bound.
            by_scenario: True for the mean over scenarios, False for the mean over trials.
        """
        groups = [by_arm[arm] for _, by_arm in sorted(self.verdicts.items()) if arm in by_arm]
        passed, judged, unjudged = (sum(counts) for counts in zip(*groups, strict=True)) if groups else (0, 0, 0)
        if not unjudged or not judged:
            return None
        if not by_scenario:
            return _between(passed, judged, unjudged)
        pairs = [_between(*counts) for counts in groups if counts[1] + counts[2]]
        return fmean(low for low, _ in pairs), fmean(high for _, high in pairs)

    def _add_conditions(self, row: Result) -> None:
        self.isolations.add(row.isolation)
        self.github = self.github or row.github
        self.with_model += bool(row.model)
        self.exposed += bool(row.model) and row.keys == "exposed"
        sandbox = SANDBOXES.get(row.sandbox)  # imported rows may name others
        self.on_host |= bool(row.model) and sandbox is not None and sandbox.has_network
        self.subscription |= row.subscription
        self.starts[row.scenario].update(filter(None, [row.workspace_digest]))
        self.agent_files[row.arm, row.scenario].update(row.agent_files or ())


def _between(passed: int, judged: int, unjudged: int) -> tuple[float, float]:
    return passed / (judged + unjudged), (passed + unjudged) / (judged + unjudged)


def _excused(row: Result) -> dict[str, int]:
    """Return the number of attempts that do not measure the agent, by outcome; an old row only has one outcome."""
    if row.excused_attempts or row.measures_agent or row.outcome is Outcome.JUDGE_ERROR:
        return row.excused_attempts
    return {row.outcome.value: 1}
