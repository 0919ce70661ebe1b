"""An experiment: a question put as scenarios x variants x agents x models x repetitions."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.record import Record, Slug, Text
from scylla_gha.model.scenario import Seconds


class Limits(Record):
    """What a trial may use."""

    timeout_seconds: Annotated[Seconds | None, Field(description="instead of the scenario's own limit")] = None
    turns: Annotated[int | None, Field(gt=0, description="model turns")] = None
    usd: Annotated[float | None, Field(gt=0, description="model cost of a trial; a request above it is refused")] = None
    file_mb: Annotated[int, Field(gt=0, description="size of any one file that agent or check writes")] = 256
    diff_mb: Annotated[int, Field(gt=0, description="size of all files that the agent changed")] = 64
    rate_limit_seconds: Annotated[float, Field(ge=0, description="how long a request may wait for a rate limit")] = 300
    api_retries: Annotated[int, Field(ge=0, description="how often the agent CLI repeats a failed request")] = 4


class Retry(Record):
    """How often, and after what pause, a trial is repeated that ended by a fault which is not the agent's."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    backoff_seconds: Annotated[float, Field(ge=0, description="the first pause; each later one is doubled")] = 10.0


class Experiment(Record):
    """A question (`config/experiments/<id>.yaml`)."""

    id: Slug
    question: Text
    scenarios: Annotated[tuple[Text, ...], Field(min_length=1, description="globs over scenario ids")]
    agents: Annotated[
        tuple[Text, ...], Field(min_length=1, description="name, or name@version: oracle, nop, claude-code")
    ]
    variants: Annotated[tuple[Text, ...], Field(description="globs over tier/sub-test, e.g. T0/*")] = ()
    models: Annotated[tuple[Text, ...], Field(description="model ids")] = ()
    judges: Annotated[
        tuple[Text, ...], Field(description="models of the judge panel, at least two; none: their items are N/A")
    ] = ()
    repetitions: Annotated[int | None, Field(ge=1, le=9999, description="none: each scenario's runs_per_tier")] = None
    baseline: Annotated[Text, Field(description="the arm that the others are compared with")]
    seed: Annotated[int, Field(description="of the order in which arms are interleaved")] = 0
    limits: Limits = Limits()
    retry: Retry = Retry()
    budget_usd: Annotated[float | None, Field(gt=0, description="refused when the estimate is above it")] = None
