from pathlib import Path

import pytest

from tests.support.command import scylla
from tests.support.engine import found_by
from tests.support.repository import environment


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


def write_experiment_of(root: Path, agents: str, sandbox: str) -> None:
    place = root / "config/experiments/one.yaml"
    place.parent.mkdir(parents=True)
    with_model = "variants: [T0/00-empty]\nmodels: [claude-sonnet-5]\n" if "claude" in agents else ""
    baseline = "t0-00-empty.claude-code.claude-sonnet-5" if with_model else "nop"
    place.write_text(
        f"id: one\nquestion: Which?\nscenarios: [001-hello-world]\nagents: {agents}\n{with_model}repetitions: 1\n"
        f"sandbox: {sandbox}\nbaseline: {baseline}\n"
    )


def test_a_plan_without_containers_has_no_layers_to_hand_on(tmp_path: Path) -> None:
    write_experiment_of(tmp_path, "[oracle, nop]", "host")
    env = environment(tmp_path)
    assert scylla("plan", "one", cwd=tmp_path, env=env).code == 0
    (tmp_path / "parcel").mkdir()
    (tmp_path / "parcel" / "old.tar").write_text("of an earlier plan")
    said = scylla("image", "pack", "one", "--to", "parcel", cwd=tmp_path, env=env)
    assert (said.code, said.out) == (0, "\n")
    assert list((tmp_path / "parcel").iterdir()) == []


def test_what_was_not_handed_on_is_no_fault(tmp_path: Path) -> None:
    said = scylla("image", "unpack", "--from", "none", cwd=tmp_path, env=environment(tmp_path))
    assert (said.code, said.err) == (0, "0 layers copied\n")


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize(("agents", "sandbox"), [("[oracle, nop]", "auto"), ("[claude-code@2.1.197]", "bubblewrap")])
def test_nothing_is_lacking_where_no_images_are_made(tmp_path: Path, agents: str, sandbox: str) -> None:
    write_experiment_of(tmp_path, agents, sandbox)
    said = scylla("image", "lacking", "one", cwd=tmp_path, env={**environment(tmp_path), **found_by()})
    assert (said.code, said.out) == (0, "")


@pytest.mark.usefixtures("running_engine")
def test_what_makes_images_is_named_where_it_lacks(tmp_path: Path) -> None:
    write_experiment_of(tmp_path, "[claude-code@2.1.197]", "auto")
    env = {**environment(tmp_path), **found_by(), "SCYLLA_CACHE": str(tmp_path / "cache"), "PATH": "/nowhere"}
    said = scylla("image", "lacking", "one", cwd=tmp_path, env=env)
    assert (said.code, said.out) == (0, "mmdebstrap uidmap debian-archive-keyring\n")
