import contextlib
import gc

from scylla_gha.cli.options import many_records


def test_the_search_for_cycles_is_off_while_many_records_are_made_and_on_again_after_a_fault() -> None:
    assert gc.isenabled()
    with contextlib.suppress(KeyError), many_records():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with many_records():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
