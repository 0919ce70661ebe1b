import subprocess
import sys

import pytest

from scylla_gha.config.installed_packages import literals, sdk_models


def test_the_sdks_own_list_is_found_without_importing_the_sdk() -> None:
    script = ("import sys\nfrom scylla_gha.config.installed_packages import sdk_models\n"
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
