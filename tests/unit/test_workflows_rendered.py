"""The workflows that act runs in the tests are what GitHub runs, but for the lines that act cannot take."""

import difflib
import re
from pathlib import Path

import pytest

from tests.support.act import STAND_INS, rendered
from tests.support.workflows import FILES, ROOT, load, steps

CHANGES = (
    r"- +(queue: max|deployment: false)",
    r"[-+] +(- )?uses: (\$|scylla-org/scylla-gha)/\.github/\S+",
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_else_is_changed(path: Path) -> None:
    text = path.read_text()
    lines = difflib.ndiff(text.splitlines(), rendered(text).splitlines())
    changed = [line for line in lines if line[0] in "-+"]
    assert [line for line in changed if not any(re.fullmatch(each, line) for each in CHANGES)] == []
    assert "uses: $/" not in rendered(text)


def test_every_action_of_others_has_a_stand_in_with_the_inputs_that_are_given() -> None:
    for step in steps():
        name, _, commit = step.node.get("uses", "").partition("@")
        if commit:
            inputs = load(STAND_INS / name / "action.yml").get("inputs", {})
            assert set(step.node.get("with", {})) <= set(inputs), step.at
