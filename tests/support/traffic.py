"""A lane's journal as the gateway would have left it."""

from pathlib import Path

from scylla_gha.gateway.log import TrafficLog
from scylla_gha.model.traffic import RequestRecord, ResponseRecord, Tokens
from tests.support.records import WHEN


def write_traffic(path: Path, *costs: float | None, unanswered: int = 0) -> Path:
    """Requests of judges with these costs in USD, then some that were in flight when the gateway died."""
    journal = TrafficLog(path)
    for number in range(1, len(costs) + unanswered + 1):
        journal.write(RequestRecord(number=number, at=WHEN, role="judge", model="m", digest=str(number), characters={}))
        if number <= len(costs):
            journal.write(ResponseRecord(number=number, source="live", status=200, complete=True, tokens=Tokens(),
                                   usd=costs[number - 1], seconds=1.0))  # fmt: skip
    journal.close()
    return path
