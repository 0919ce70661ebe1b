"""Installed packages: commands that install an extra, and the model ids that the SDK knows."""

import subprocess
import sys
from pathlib import Path

import pytest

from scylla_gha.config.installed_packages import installation_from, packages_of, require_extra
from scylla_gha.config.model_names import literals, sdk_models
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
    assert packages_of("report") == [
        "altair>=6.0",
        "markdown>=3.8",
        "nh3>=0.3",
        "numpy>=2.0",
        "pandas>=3.0",
        "scipy>=1.15",
        "vl-convert-python>=1.8",
    ]
    said = installation_from("report", Path("/nowhere"), {})
    packages = (
        "'altair>=6.0' 'markdown>=3.8' 'nh3>=0.3' 'numpy>=2.0' 'pandas>=3.0' 'scipy>=1.15' 'vl-convert-python>=1.8'"
    )
    assert said == f"{sys.executable} -m uv pip install --python {sys.executable} {packages}"


@pytest.mark.parametrize("package", ["numpy_x", "pyarrow_x"])
def test_what_is_not_installed_is_named_with_the_command(package: str) -> None:
    with pytest.raises(ToolError, match=rf"^this command needs {package}; install the extra `report`: /.* -m uv "):
        require_extra(package, what="this command")


def test_the_sdks_own_list_is_found_without_importing_the_sdk() -> None:
    script = ("import sys\nfrom scylla_gha.config.model_names import sdk_models\n"
              "print(len(sdk_models()) > 10, 'claude-opus-5' in sdk_models(), 'anthropic' in sys.modules)")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False"]


def test_it_is_what_the_sdk_says_when_it_is_imported() -> None:
    from typing import get_args

    from anthropic.types.model_param import ModelParam

    names, _ = get_args(ModelParam)
    assert sdk_models() == set(get_args(names))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('A = Union[Literal["a", "b"], str]', {"a", "b"}),
        ('A = Literal["a"]\nB = Optional["b"]', {"a"}),
        ("A = str", set()),
        ("A = Literal[1, None]", set()),
    ],
)
def test_strings_in_literals_are_ids(source: str, found: set[str]) -> None:
    assert literals(source) == found
