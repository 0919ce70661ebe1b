"""The comment about the skills of a pull request."""

import pytest

from scylla_gha.model.skill_measurement import SkillMeasurement, SkillRow
from scylla_gha.report.skills_comment import MARKER, skills_comment

EQUAL = SkillRow(name="plot", warnings=2)
BETTER = SkillRow(name="tally", is_changed=True, sentences=("Fires on 27 of 30 asks.",))
WORSE = SkillRow(name="zip", is_changed=True, is_worse=True, errors=1, sentences=("Holds less.",))


def names(text: str) -> list[str]:
    return [line.split(" | ")[0].strip("| ") for line in text.splitlines() if line.startswith("| ")][1:]


def test_changed_rows_are_first_and_worse_ones_before_others() -> None:
    text = skills_comment(SkillMeasurement(rows=(EQUAL, BETTER, WORSE)), "https://example.com/run")
    assert text.startswith(f"{MARKER}\n> [!CAUTION]\n> **Does worse: zip**")
    assert names(text) == ["**zip** (changed)", "tally (changed)", "plot"]
    assert "| not measured | 2 warnings |" in text
    assert "[The run](https://example.com/run)" in text


HEADLINES = [
    (SkillMeasurement(rows=(BETTER,)), "NOTE", "1 skill was measured; none is shown to do worse"),
    (SkillMeasurement(rows=(EQUAL,), failure="no budget"), "WARNING", "The measurement ended early: no budget"),
    (
        SkillMeasurement(rows=(SkillRow(name="new", is_new=True),)),
        "NOTE",
        "Changed, but nothing to measure: new",
    ),
]


@pytest.mark.parametrize(("measurement", "alert", "headline"), HEADLINES)
def test_the_headline_says_how_it_ended(measurement: SkillMeasurement, alert: str, headline: str) -> None:
    text = skills_comment(measurement, "")
    assert text.startswith(f"{MARKER}\n> [!{alert}]\n> **{headline}**")


def test_hostile_names_are_text() -> None:
    row = SkillRow(name="a|b\n@octocat <b>", sentences=("x|y",), is_changed=True)
    line = skills_comment(SkillMeasurement(rows=(row,)), "").splitlines()[-1]
    assert line.count(" | ") == 2
    assert "<b>" not in line


def test_many_rows_are_cut() -> None:
    rows = tuple(SkillRow(name=f"skill-{number:03}") for number in range(60))
    text = skills_comment(SkillMeasurement(rows=rows), "")
    assert len(names(text)) == 50
    assert "The run shows 10 more skills." in text
