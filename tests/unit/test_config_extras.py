import sys
from pathlib import Path

import pytest

from scylla_gha.config.installed_packages import installation_from, packages_of, require_extra
from scylla_gha.errors import ToolError

ROOT = Path(__file__).parents[2]


def test_a_git_install_is_told_the_same_commit_with_the_extra() -> None:
    url = {"url": "https://token@github.com/o/scylla-gha", "vcs_info": {"vcs": "git", "commit_id": "ab" * 20}}
    assert installation_from("report", Path("/nowhere"), url) == (
        f"uvx --from 'scylla-gha[report] @ git+https://github.com/o/scylla-gha@{'ab' * 20}' scylla-gha"
    )


def test_a_checkout_is_synchronised() -> None:
    said = installation_from("report", ROOT, {})
    assert said == f"{sys.executable} -m uv sync --inexact --project {ROOT} --extra report"


def test_elsewhere_the_packages_themselves_are_installed() -> None:
    """A wheel that lies in no index cannot be named."""
    assert packages_of("report") == ["numpy>=2.0", "scipy>=1.15"]
    said = installation_from("report", Path("/nowhere"), {})
    assert said == f"{sys.executable} -m uv pip install --python {sys.executable} 'numpy>=2.0' 'scipy>=1.15'"


@pytest.mark.parametrize("package", ["numpy_x", "pyarrow_x"])
def test_what_is_not_installed_is_named_with_the_command(package: str) -> None:
    with pytest.raises(ToolError, match=rf"^this command needs {package}, which the extra `report` has: /.* -m uv "):
        require_extra(package, what="this command")
