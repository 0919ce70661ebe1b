"""Tests of Go code bases: recorded output of Go becomes outcomes and executed lines. No toolchain is needed."""

from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.mining.go_project import go_tools
from scylla_gha.model.sandbox import Tools
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.recorded_tests import TestRequest
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.readiness.test_runners.base import RunLimits
from scylla_gha.readiness.test_runners.go import GoRunner
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from tests.support.recorded_go import recorded_go

LIMITS = RunLimits(run=200, test=60)
STABLE = {"TestPrice", "TestTable/net_of_100", "TestTable/net_of_200", "TestRefuses", "TestAfter", "ExamplePrice"}


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, CodeEnvironment]:
    tree, path = recorded_go(tmp_path)
    return tree, CodeEnvironment("go", "go", Tools(), path, SandboxTarget(SANDBOXES["host"]))


def test_recorded_output_becomes_stable_tests_with_their_lines(shop: tuple[Path, CodeEnvironment]) -> None:
    tree, environment = shop
    recorded = record_tests(tree, environment, build_index(tree), limits=LIMITS)
    assert set(recorded.tests) == {f"price_test.go::{name}" for name in STABLE}
    unstable = ("TestTable/net_of_300", "TestOwnFault/inner", "TestSkips", "TestPanics", "TestExits")
    assert recorded.unstable == tuple(sorted(f"price_test.go::{name}" for name in unstable))
    lines = {name: dict(recorded.tests[f"price_test.go::{name}"].lines) for name in STABLE}
    assert lines["TestPrice"] == lines["TestTable/net_of_100"] == {"price.go": {7, 10}}
    assert lines["TestRefuses"] == {"price.go": {7, 8}}
    assert lines["TestAfter"] == {}
    assert recorded.per_test


def test_a_test_that_ends_its_process_ends_no_other(shop: tuple[Path, CodeEnvironment]) -> None:
    tree, environment = shop
    runner = runner_of(environment, limits=LIMITS)
    assert isinstance(runner, GoRunner)
    outcomes = runner.run(tree)
    assert "assignment to entry in nil map" in outcomes["price_test.go::TestPanics"].output
    assert outcomes["price_test.go::TestExits"].output.endswith("the process ended in this test (3)")
    assert outcomes["price_test.go::TestOwnFault/inner"].output == "    price_test.go:28: outer\n"
    assert outcomes["price_test.go::TestSkips"].output == "skipped"
    assert outcomes["price_test.go::ExamplePrice"].passed


def test_several_trees_run_in_one_box_and_what_does_not_compile_did_not_run(
    shop: tuple[Path, CodeEnvironment],
) -> None:
    tree, environment = shop
    tests = (frozenset({"price_test.go::TestTable/net_of_300"}), frozenset({"gone/gone_test.go::TestGone"}))
    first, second = GoRunner(environment, LIMITS).run_many([TestRequest(tree, own) for own in tests])
    assert first["price_test.go::TestTable/net_of_300"].output == "    price_test.go:20: price 330\n"
    assert second["gone/gone_test.go::TestGone"].output.startswith("did not run")


def test_a_code_base_without_go_mod_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"there is no go\.mod"):
        go_tools(tmp_path, tmp_path / "cache")
