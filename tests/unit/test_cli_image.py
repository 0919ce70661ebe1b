from pathlib import Path

import pytest

from tests.support.command import scylla


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--agent", "oracle"), "--agent oracle: no agent with a command line; there are: claude-code"),
        (("--agent", "claude-code"), "an image needs a version; name it: claude-code@VERSION"),
        (("--recipe", "bsae"), "image 'bsae': not found in config/images/"),
        (("no-such-scenario",), "scenarios: 'no-such-scenario' matches nothing"),
    ],
)
def test_what_cannot_be_built_is_named_before_an_engine_is_asked(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    env = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    said = scylla("image", "build", *arguments, cwd=tmp_path, env=env)
    assert said.code == 3
    assert message in said.err


def test_without_an_engine_nothing_is_asked_and_it_says_what_to_do(tmp_path: Path) -> None:
    said = scylla("image", "prune", cwd=tmp_path, env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert said.code == 5
    assert "Remove all images" not in said.err
    assert "apt-get install docker.io" in said.err
