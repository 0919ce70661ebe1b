"""Fixtures and rules of all tests."""

import base64
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

STARTED_AS_BY_A_PERSON = ("test_readme", "test_docs", "test_tutorial", "test_release", "test_wheel")
OF_A_RUNNER = ("GITHUB_", "ACTIONS_", "RUNNER_")
SLOW_FOLDERS = {"e2e", "integration"}


def pytest_configure() -> None:
    """Make the tests independent of where they are started.

    A job in a shell's background is started without SIGINT, and so would be all that the tests start. In a job of
    Actions the runner's variables would tell commands under test of another run.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as commands do; workers would wait for each other's threads
    for name in [name for name in os.environ if name.startswith(OF_A_RUNNER)]:
        del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin each worker's share with slow files, so that workers without work left take short tests from others."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.path.parent.name in SLOW_FOLDERS:
            slow.setdefault(item.path, []).append(item)
    fast = [item for item in items if item.path not in slow]
    left, ordered = len(items), list[pytest.Item]()
    for worker in range(workers):
        share = [item for path in list(slow)[worker::workers] for item in slow[path]]
        size = left // (workers - worker)  # as xdist divides them
        filling = max(0, size - len(share))
        ordered += [*share, *fast[:filling]]
        fast, left = fast[filling:], left - size
    items[:] = [*ordered, *fast]


@pytest.fixture(scope="session")
def running_engine(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[None]:
    from tests.support.engine import an_engine  # of the toolkit, which not all tests load

    base = tmp_path_factory.getbasetemp()
    shared = os.environ.get("SCYLLA_TEST_SESSION") or (base if worker_id == "master" else base.parent)
    with an_engine(Path(shared) / "engine"):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure no coverage of what journeys start, since that takes half as long again and packages have own tests.

    Tests of the documents start each command as a person does; others fork it from a process that is loaded already.
    """
    with pytest.MonkeyPatch.context() as patch:
        if Path(__file__).with_name("e2e") in item.path.parents:
            patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        if item.path.stem in STARTED_AS_BY_A_PERSON:
            patch.setenv("SCYLLA_TEST_REAL_START", "1")
        name_context(patch, item.nodeid)
        return (yield)


def name_context(patch: pytest.MonkeyPatch, test: str) -> None:
    """Let the processes of a test record it as the context of the lines that they reach (see benchmarks/mutants.py)."""
    if config := os.environ.get("COVERAGE_PROCESS_CONFIG"):
        settings = {**json.loads(base64.b64decode(config)), "context": test, "dynamic_context": None}
        patch.setenv("COVERAGE_PROCESS_CONFIG", base64.b64encode(json.dumps(settings).encode()).decode())
        patch.setenv("SCYLLA_TEST_CONTEXT", test)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A skipped test is a failure: nothing may be left out silently."""
    if (shared_host := sys.modules.get("tests.support.shared_host")) is not None:
        shared_host.close_shared_hosts()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
