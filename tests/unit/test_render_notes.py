from scylla_gha.render.notes import marks, notes, told
from scylla_gha.render.page import page_of
from tests.support.records import make_report, make_summary


def said(arms: int, *warnings: str) -> tuple[list[str], dict[str, str]]:
    page = page_of(make_report(arms=tuple(make_summary(arm=f"a{n}") for n in range(arms)), warnings=warnings))
    found = notes(page)
    return [f"{note.number} {told(page, note)}" for note in found], marks(found)


def test_what_several_arms_share_is_said_once_after_what_is_of_the_whole() -> None:
    few = "few trials"
    lines, marked = said(6, f"a0: {few}", "the whole", *(f"a{n}: {few}" for n in range(1, 5)), "a5: other", "b: none")
    assert lines == ["1 the whole", "2 b: none", "3 a0, a1, a2 and 2 more: few trials", "4 a5: other"]
    assert marked == {**{f"a{n}": "3" for n in range(5)}, "a5": "4"}


def test_all_arms_are_called_so() -> None:
    assert said(2, "a0: x", "a1: x")[0] == ["1 all arms: x"]
    assert said(1, "a0: x")[0] == ["1 a0: x"]
    assert said(1) == ([], {})
