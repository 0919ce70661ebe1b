import gc

import pytest

from scylla_gha.pipeline.report import without_garbage_collection


def test_garbage_is_collected_again_afterwards_also_after_an_error() -> None:
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="broken"), without_garbage_collection():
        raise ValueError("broken")
    assert gc.isenabled()


def test_who_collects_by_hand_is_left_to_it() -> None:
    gc.disable()
    try:
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
