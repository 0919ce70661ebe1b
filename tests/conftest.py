"""What holds for all tests."""

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A skipped test is a failure: nothing may be left out silently."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
