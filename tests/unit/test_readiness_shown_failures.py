"""Failures as they are shown to an agent."""

from scylla_gha.readiness.edit_items import log_of


def test_a_failure_is_shown_without_the_lines_of_node_that_differ_from_run_to_run() -> None:
    output = """\
AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
    at assert.<computed> [as strictEqual] (node:internal/test_runner/test:242:18)
    at Socket.<anonymous> (/home/workspace/test/helper.js:13:7)
    at Socket.emit (node:events:524:28)
    at async node:internal/main/test:5:1
    at node of a list:3:4
"""
    assert log_of("test/a.test.js::adds", output).splitlines() == [
        "```",
        "FAILED test/a.test.js::adds",
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
        "    at Socket.<anonymous> (/home/workspace/test/helper.js:13:7)",
        "    at node of a list:3:4",
        "```",
    ]
