from pathlib import Path

from tests.support.repository import make_repository


def test_the_trials_of_a_scenario_have_one_ground(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    first, second = repository.ground(), repository.ground()
    assert first == second
    assert first.folder == repository.folder()
    assert first.start.commit == first.folder.scenario.source.hash
    assert first.path.endswith(":/usr/local/bin:/usr/bin:/bin")
