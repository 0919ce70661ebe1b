import pytest

from scylla_gha.interop.importers.sources import outcome_of_exception


@pytest.mark.parametrize(
    ("kind", "message", "outcome"),
    [
        ("AgentTimeoutError", "after 600 s", "timeout"),
        ("VerifierTimeoutError", "", "judge_error"),
        ("RewardFileNotFoundError", "", "judge_error"),
        ("EnvironmentStartTimeoutError", "", "sandbox_error"),
        ("AgentSetupTimeoutError", "", "sandbox_error"),
        ("CancelledError", "", "cancelled"),
        ("RateLimitError", "", "provider_error"),
        ("NonZeroAgentExitCodeError", "API Error: 529 overloaded_error: Overloaded", "provider_error"),
        ("NonZeroAgentExitCodeError", "API Error (status code 503)", "provider_error"),
        ("APIConnectionError", "", "provider_error"),
        ("NonZeroAgentExitCodeError", "exit code 1: wrote 500 lines", "agent_error"),
        ("ValueError", "no", "agent_error"),
    ],
)
def test_an_exception_is_somebodys_doing(kind: str, message: str, outcome: str) -> None:
    assert outcome_of_exception(kind, message) == outcome
