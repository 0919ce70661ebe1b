"""Which skills of a pull request are measured, and by whose evals."""

import shutil
from pathlib import Path
from typing import Any

from scylla_gha.skills.pull_request import SkillChange, _figures, joined_figures, skill_changes
from scylla_gha.skills.report import check_skills
from tests.support.skills import FRONT, write_evals, write_skill

A, B = ["The reply names both sums"], ["The reply is short"]


def entry(number: int, checks: list[str], **values: Any) -> dict[str, Any]:
    return {"id": number, "prompt": "Sum it", "expectations": checks, **values}


def before(folder: Path) -> Path:
    """Write the version before, with a file of an eval and two queries; return its folder."""
    skill = write_evals(write_skill(folder / "before/tally"), [entry(1, A, files=["evals/a.csv"]), entry(2, A)])
    (skill / "evals/a.csv").write_text("1")
    write_evals(skill, [{"query": "sum", "should_trigger": True}], "trigger-evals.json")
    shutil.copytree(folder / "before", folder / "after")
    return folder / "before"


def change(folder: Path) -> SkillChange:
    check = check_skills(folder / "after", None, lambda *_: None)
    (found,) = skill_changes(check, folder / "before")
    return found


def test_what_is_equal_is_not_changed(tmp_path: Path) -> None:
    before(tmp_path)
    assert (change(tmp_path).is_changed, change(tmp_path).is_new) == (False, False)


def test_a_changed_skill_has_its_evals(tmp_path: Path) -> None:
    before(tmp_path)
    write_skill(tmp_path / "after/tally", FRONT, "# other\n")
    found = change(tmp_path)
    assert (found.is_changed, found.notes) == (True, ())
    assert found.row.is_changed


def test_changed_evals_alone_count_and_are_used(tmp_path: Path) -> None:
    before(tmp_path)
    (tmp_path / "after/tally/evals/a.csv").write_text("2")
    found = change(tmp_path)
    assert (found.is_changed, found.notes) == (True, ())
    (path,) = found.skill.files[0].evals[0].files
    assert Path(path).is_relative_to(tmp_path / "after")


def test_a_skill_with_its_evals_is_measured_by_those_before_and_new_ones(tmp_path: Path) -> None:
    before(tmp_path)
    skill = write_skill(tmp_path / "after/tally", FRONT, "# other\n")
    write_evals(skill, [entry(1, B), entry(3, B)])
    queries = [{"query": "sum", "should_trigger": False}, {"query": "rain", "should_trigger": False}]
    write_evals(skill, queries, "trigger-evals.json")
    found = change(tmp_path)
    evals, triggers = found.skill.files
    assert [(each.id, each.assertions[0].text) for each in evals.evals] == [("1", A[0]), ("2", A[0]), ("3", B[0])]
    assert [(query.query, query.label.expected) for query in triggers.queries] == [("sum", ("tally",)), ("rain", ())]
    (note,) = found.notes
    assert note.startswith("3 evals or queries are as before this pull request")
    assert note.endswith("; 2 are new.")


def test_a_new_skill_has_its_own_evals(tmp_path: Path) -> None:
    before(tmp_path)
    shutil.rmtree(tmp_path / "before/tally")
    assert (change(tmp_path).is_new, len(change(tmp_path).skill.files)) == (True, 2)


def test_the_figures_of_a_badge_are_those_of_the_reports() -> None:
    rate = {"rate": 0.9}
    triggers = {"skills": [{"skill": "tally", "should": rate, "should_not": {"rate": 0.03}, "change": None}]}
    helps = {"skill": "tally", "contrasts": [{"against": "none", "here": {"value": 0.14}}]}
    texts = [*_figures("tally", triggers), *_figures("tally", helps), *_figures("plot", helps)]
    assert texts == ["fires 90 %", "quiet 97 %", "+14 pt"]


def test_a_badge_keeps_the_figures_of_what_is_not_measured_now() -> None:
    whole = "fires 90 %, quiet 97 %, +14 pt"
    assert joined_figures(whole, "", ()) == whole
    assert joined_figures(whole, "fires 80 %", {"triggers"}) == "fires 80 %, +14 pt"
    assert joined_figures(whole, "+9 pt", {"evals"}) == "fires 90 %, quiet 97 %, +9 pt"
    assert joined_figures(whole, "not enough data", {"evals"}) == "fires 90 %, quiet 97 %"
    assert joined_figures("not enough data", "fires 80 %", {"triggers"}) == "fires 80 %"
    assert joined_figures("", "not enough data", {"evals"}) == "not enough data"
