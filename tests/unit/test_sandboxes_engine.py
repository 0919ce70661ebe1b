import os
import subprocess
import threading
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.sandboxes.docker import engine


def test_this_process_is_not_gone_and_another_start_of_its_id_is() -> None:
    boot, namespace, pid, started = engine.owner().split("/")
    assert pid == str(os.getpid())
    assert not engine.is_gone(engine.owner())
    assert engine.is_gone(f"{boot}/{namespace}/{pid}/{int(started) + 1}")
    assert engine.is_gone(f"another-boot/{namespace}/{pid}/{started}")


def test_a_process_that_has_ended_is_gone() -> None:
    boot, namespace, _, started = engine.owner().split("/")
    with subprocess.Popen(["true"]) as process:
        pass
    assert engine.is_gone(f"{boot}/{namespace}/{process.pid}/{started}")


def test_a_process_of_another_namespace_is_left_alone() -> None:
    boot, _, _, started = engine.owner().split("/")
    assert not engine.is_gone(f"{boot}/pid:[1]/1/{started}")


@pytest.mark.parametrize("label", ["", "x", "a/b", "a/b/c/d"])
def test_a_label_of_no_known_form_is_nobodys(label: str) -> None:
    assert engine.is_gone(label)


def test_an_engine_that_does_not_answer_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert not engine.answers()
    with pytest.raises(ToolError) as caught:
        engine.connect()
    assert str(caught.value).startswith(f"no container engine answers at unix://{tmp_path}/none.sock (No such file")
    assert "apt-get install docker.io" in str(caught.value)


def test_an_engine_on_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    with pytest.raises(
        ToolError, match="the engine has to be on this machine: set DOCKER_HOST to unix:///PATH, or unset it"
    ):
        engine.connect()


def test_a_removal_behind_that_no_engine_does_ends_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    engine.await_removals()
    engine.remove_in_background("scylla-none")
    engine.await_removals()
    assert not [thread for thread in threading.enumerate() if "scylla-none" in thread.name]
