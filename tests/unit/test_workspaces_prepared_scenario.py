from pathlib import Path

from tests.support.repository import make_repository


def test_the_trials_of_a_scenario_have_one_ground(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    first, second = repository.ground(), repository.ground()
    assert first == second
    assert first.folder == repository.folder()
    assert first.start.commit == first.folder.scenario.source.hash
    assert first.path.endswith(":/usr/local/bin:/usr/bin:/bin")


def test_what_the_task_itself_holds_is_known(tmp_path: Path) -> None:
    files = {"greet.sh": "echo bye\n", "a/b.bin": "x\0 deep-inside\n", "keys.pem": "--one\ntwo\n--a longer line\n"}
    ground = make_repository(tmp_path, files=files).ground()
    held = (b"deep-inside", b"says hello".removeprefix(b"says "), b"echo bye", b"--one\nno\n--a longer line")
    assert [ground.holds(text) for text in held] == [True] * 4
    assert not ground.holds(b"deep.inside")
    assert not ground.holds(b"nowhere")
