import pytest

from scylla_gha.adoption.pins import pinned, requirements
from scylla_gha.errors import ToolError

PROJECT = b"""\
[project]
dependencies = ["click>=8", "rich; python_version >= '3.11'"]
[project.optional-dependencies]
test = ["hypothesis"]
dev = ["ruff", "pytest-cov>=6"]
[dependency-groups]
tests = ["anyio", {include-group = "other"}]
"""


def test_what_use_and_tests_need_is_asked_for() -> None:
    assert requirements(PROJECT, b"attrs==1 # why\n-r more.txt\n\n# a comment\ngit+https://x/y\n") == (
        "anyio", "attrs==1", "click>=8", "hypothesis", "pytest-cov>=6", "rich; python_version >= '3.11'",
    )  # fmt: skip


@pytest.mark.parametrize("text", [None, b"[project", b"\xff", b""])
def test_what_cannot_be_read_asks_for_nothing(text: bytes | None) -> None:
    assert requirements(text, None) == ()


def test_versions_fit_one_another() -> None:
    found = pinned(("click<8.2",), ("click>=8.1",))
    assert found["click"].startswith("8.1.")


def test_what_cannot_be_found_is_named() -> None:
    with pytest.raises(ToolError, match="no versions of click<8 can be found"):
        pinned(("click<8",), ("click>=8",))
