import threading
from pathlib import Path

import pytest

from scylla_gha.prepare.tools import cache_root, locked


@pytest.mark.parametrize(
    ("scylla", "xdg", "expected"),
    [
        ("/mine", "/xdg", "/mine"),
        ("", "/xdg", "/xdg/boxes"),
        ("", "", "/home/dev/.cache/boxes"),
    ],
)
def test_the_cache_is_where_the_user_says(
    monkeypatch: pytest.MonkeyPatch, scylla: str, xdg: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/dev")
    monkeypatch.setenv("SCYLLA_CACHE", scylla)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_root() == Path(expected)


def test_one_at_a_time_makes_a_place(tmp_path: Path) -> None:
    place = tmp_path / "new" / "place"
    inside = threading.Lock()
    overlaps: list[int] = []

    def make() -> None:
        for _ in range(50):
            with locked(place):
                if not inside.acquire(blocking=False):
                    overlaps.append(1)
                    continue
                inside.release()

    makers = [threading.Thread(target=make) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert overlaps == []
    assert not place.exists(), "the place itself is for the caller to make"


def test_a_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "place"):
        _ = 1 / 0
    with locked(tmp_path / "place"):
        assert (tmp_path / "place.lock").exists()
